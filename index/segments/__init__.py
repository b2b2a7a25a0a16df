"""Segments: documents, sections and posting lists as arrays in mapped files.

arrays.py         named arrays in one file that is written once and then mapped
file_storage.py   the storage of an index in files
generation.py     the index at one moment, as values
index_storage.py  the interface of the storage of an index
merge.py          the merge of segments
segment.py        one segment of an index, as arrays
store.py          the folder of an index, changed in one step
"""
