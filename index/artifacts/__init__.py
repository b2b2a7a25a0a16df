"""Artifacts: an index with its documents in a folder, served without a repository.

artifact.py  an artifact is opened, or refused with the reason
build.py     an artifact is built beside the one that stands in its folder, and takes its place in one …
contents.py  what an artifact is made of
frozen.py    the index of an artifact
manifest.py  which files are an artifact
objects.py   the documents of an artifact as Git objects
swap.py      the artifact that stands in a folder now
"""
