"""Artifacts: an index and the documents it was made of, in a folder that is served without a repository.

A folder of an artifact holds:

    metadata.json         what a server says of it; replacing it swaps one artifact for the next
    <digest>.manifest     the files that belong to this `metadata.json`, and their sums
    objects/pack/         the documents, as Git objects: each proves itself by its id
    index/                segments, mapped and never unpickled
    moves-<digest>.json   where documents are that have moved

Its modules are listed in the order in which they are needed. `manifest.py` says which files are the artifact,
and whose seal it carries; `key_file.py` reads the key; `opening.py` opens one or refuses it, with the reason;
`frozen.py` is the index of one, which never changes; `swapping.py` follows the folder to the next one.

`building.py` makes one: `contents.py` chooses its documents, from a commit or a folder, `settings.py` says by
which settings they are read, `objects.py` stores them, and `claiming.py` keeps other builders out and leaves
alone what is no artifact.
"""
