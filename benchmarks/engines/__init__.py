"""Other search engines, for comparison.

fts5.py     SQLite FTS5, which receives sections, and uses its own porter stemmer and bm25
tantivy.py  tantivy, if installed: it receives sections, and indexes five fields with its English stemmer
"""
