"""Git: the only package that imports `pygit2`.

ancestry.py         commits and the paths in their trees, read as bytes, and the walks along commits
housekeeping.py     objects that no ref names yet, kept from a `git gc` that runs
index_file.py       Git's index (gitformat-index) as a value
loose.py            loose objects (gitrepository-layout, "objects"), read with a look at whether they …
merge_bases.py      where two lines of history part
messages.py         commit messages
objects.py          Git's commits and trees as values, and their bytes as Git writes them (git-scm …
pack_reader.py      reading the objects of a folder that is no repository
packs.py            objects written into a pack beside others (git-scm, "pack-format"), and which …
patches.py          patches
private_folder.py   the private folder of a repository
reader.py           reading a repository
remotes/            exchanges with remote repositories, in a process of their own
repository.py       A repository is found and opened, refused with the reason, or made
sharing.py          with whom Git shares a repository
store.py            writing objects into a repository, and bytes as its work trees hold them
tips.py             where branches are
tree_comparison.py  trees compared as bytes
trees.py            trees compared and rewritten by the ids of their entries, so that work follows …
worktrees.py        which work trees stand on a branch, read from the files that Git keeps for each …
"""
