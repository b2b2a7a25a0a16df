"""Other search engines, for comparison.

fts5.py     SQLite FTS5: it indexes the sections of a corpus, with its own porter stemmer and bm25
tantivy.py  tantivy, if installed: it indexes five fields of each section, with its English stemmer
"""
