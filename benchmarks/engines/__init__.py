"""Other search engines, for comparison.

fts5.py     SQLite FTS5: given sections, its porter stemmer and its own bm25
tantivy.py  tantivy, if installed: given sections, five fields, its English stemmer
"""
