"""Segments: documents, sections and posting lists as arrays in mapped files.

arrays.py      named arrays in one file that is written once and then mapped
generation.py  the index at one moment, as values
merge.py       the merge of segments
segment.py     one segment of an index, as arrays
store.py       the folder of an index, or the memory that replaces it
"""
