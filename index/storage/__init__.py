"""The files of an index other than segments: their location, locks, keys, manifest and metadata.

files.py          files of the index, replaced in one step, and the one error for a system that …
keys.py           the user's own key
location.py       where an index lives
locking.py        A lock between processes, held on an open file
manifest.py       which files an index consists of, and their checksums
metadata.py       `metadata.json`
metadata_file.py  what `metadata.json` tells of an index that follows its branch
write_lock.py     one writer at a time
"""
