"""The one door to pygit2: a repository's commits, trees, blobs, branches, configuration and index.

Ids are 40 hexadecimal digits everywhere outside this package.

    repository.py     a repository is found, opened or refused, and made
    reader.py         what can be read; it has no method that writes
    object_reader.py  its objects; comparing.py tells how two trees differ
    ancestry.py       commits and their parents, read as bytes, and walks along them
    patches.py        which lines two versions of a text share
    merge_bases.py    where two lines of history part
    remotes.py        fetching and pushing, imported by who does; remote_calls.py is one exchange,
                      remote_process.py where it runs, local_push.py a push into a folder
    revisions.py      what names and the beginnings of ids stand for
    files.py          which files Git ignores or has staged
    store.py          objects are added, never a ref moved, and what a checkout needs
    private_folder.py the folder `docyard/` in the Git directory, which other users cannot enter;
                      sharing.py says whether Git shares the repository with a group
    loose.py          objects that are files of their own: read, looked at, written
    housekeeping.py   objects that a running `git gc` must not remove
    packed.py         objects of a folder that is no repository
    packing.py        objects are written into a pack of their own
    index_file.py     Git's index as a value; index_entries.py is how an entry is written
    tree_cache.py     which folder has which tree, as the index remembers it
"""

from __future__ import annotations

from workspace.git.index_file import IndexEntry, IndexFile, PathTaken, SplitIndex
from workspace.git.loose import BROKEN_OBJECTS
from workspace.git.merge_bases import ShallowHistory
from workspace.git.objects import Commit, Entry, Head, Signature
from workspace.git.reader import GitReader
from workspace.git.repository import DamagedRepository, NotARepository, UnsupportedRepository, initialise
from workspace.git.store import GitStore, ReadOnly, durable_objects, writable
from workspace.git.worktrees import Worktree

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
    "ReadOnly",
    "ShallowHistory",
    "Signature",
    "SplitIndex",
    "UnsupportedRepository",
    "Worktree",
    "durable_objects",
    "initialise",
    "writable",
]
