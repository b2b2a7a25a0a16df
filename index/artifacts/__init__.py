"""Artifacts: an index with its documents in a folder, served without a repository.

artifact.py      an artifact, checked and opened
build.py         the build of an artifact next to the current one, and the replacement in one step
contents.py      the contents of an artifact
manifest.py      the manifest: the files of an artifact
objects.py       the documents of an artifact as Git objects
search_index.py  the index of an artifact
swap.py          the current artifact of a folder
"""
