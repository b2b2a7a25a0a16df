"""Git: the only package that imports `pygit2`.

ancestry.py         commits and tree entries parsed from bytes, and walks over commits
housekeeping.py     protection of new objects from a running `git gc`
index_file.py       Git's index (gitformat-index) as a value
line_diff.py        line matching between two versions of a text, as Git compares them (libgit2's xdiff)
loose.py            loose objects (gitrepository-layout, "objects"), checked before they are read
merge_bases.py      best common ancestors of two commits, as `git merge-base --all` finds them
messages.py         commit messages: a subject, a list of changes, and trailers that identify the caller
objects.py          Git's commits and trees as values, and their encoding (git-scm "Git Internals", 10.2)
pack_reader.py      a reader of the packs in a folder that is not a repository
packs.py            pack files (git-scm, "pack-format")
private_folder.py   the private folder of a repository
reader.py           a read-only view of a repository: objects, branches, work trees and configuration
remotes/            exchanges with remote repositories, in a process of their own
repository.py       the opening and creation of a repository, and the reasons why one is not opened
sharing.py          the sharing of a repository with its group: the setting `core.sharedRepository`
store.py            a repository opened for writing objects
tips.py             the tips of branches: local ones, and those of remotes as last fetched
tree_comparison.py  a comparison of trees as bytes
trees.py            comparison and rewriting of trees by the ids of their entries
upstream.py         the repository that several nodes write, as a publication uses it
worktrees.py        the work trees of a repository and their branches
"""
