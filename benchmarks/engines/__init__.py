"""Other search engines, measured beside ours.

fts5.py     SQLite FTS5 beside us: from sections that are ready, with its porter stemmer and its own bm25
tantivy.py  tantivy beside us, where it is installed
"""
