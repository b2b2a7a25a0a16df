"""The files of an index other than segments: their location, locks, keys, manifest, metadata, status.

database.py       SQLite databases
files.py          atomic writes, and the error for a system that refuses to write
keys.py           the user's own key
location.py       the location of an index
locking.py        a lock between processes, held on an open file
manifest.py       the manifest of an index, with checksums
metadata.py       `metadata.json`
metadata_file.py  the publisher of `metadata.json` for an index that follows its branch
status.py         the status of an index, read without changes to it
write_lock.py     the write lock of an index: one writer at a time
"""
