"""Documentation sources: each has a namespace and an index of its own, and its failure affects no other.

clone.py       the clone of a source that has a URL
permalinks.py  the URL of a section, for a citation
settings.py    the file that names the sources, checked
source.py      one source: opened at its first use, and again after a failure
sources.py     the sources of one server, and searches in one or in all of them
"""
