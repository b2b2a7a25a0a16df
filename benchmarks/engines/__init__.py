"""Other search engines, for comparison.

fts5.py     SQLite FTS5: receives sections, uses its own porter stemmer and bm25
tantivy.py  tantivy, if installed: receives sections, indexes five fields with its English stemmer
"""
