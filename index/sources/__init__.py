"""Documentation sources: each has a namespace and an index of its own, and fails without the others.

clone.py       the clone of a source that has a URL
permalinks.py  the URL of a section, for a citation
settings.py    the file that names the sources, checked
source.py      one source: opened when it is first asked for, and opened again after a failure
sources.py     the sources of one server, and searches in one or in all of them
"""
