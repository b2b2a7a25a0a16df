"""The one door to pygit2: a repository's commits, trees, blobs, branches, configuration and index.

Ids are 40 hexadecimal digits everywhere outside this package.

    repository.py   a repository is found, opened or refused, and made
    reader.py       what can be read; it has no method that writes
    store.py        objects are added, never a ref moved, and what a checkout needs
    loose.py        objects that a crash may have left broken
    packed.py       objects of a folder that is no repository
    packing.py      objects are written into a pack of their own
    index_file.py   Git's index as a value
    tree_cache.py   which folder has which tree, as the index remembers it
"""

from __future__ import annotations

from workspace.git.index_file import IndexEntry, IndexFile, PathTaken, SplitIndex
from workspace.git.loose import BROKEN_OBJECTS
from workspace.git.reader import GitReader
from workspace.git.repository import DamagedRepository, initialise
from workspace.git.store import GitStore, durable_objects
from workspace.objects import Commit, Entry, Head, Signature
from workspace.opening import NotARepository, UnsupportedRepository
from workspace.worktrees import Worktree

__all__ = [
    "BROKEN_OBJECTS",
    "Commit",
    "DamagedRepository",
    "Entry",
    "GitReader",
    "GitStore",
    "Head",
    "IndexEntry",
    "IndexFile",
    "NotARepository",
    "PathTaken",
    "Signature",
    "SplitIndex",
    "UnsupportedRepository",
    "Worktree",
    "durable_objects",
    "initialise",
]
