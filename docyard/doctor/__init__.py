"""What is wrong here, what to type, and what can be mended: the checks of `docyard doctor`.

finding.py       one thing that was found, and how it is mended where that is safe
damage.py        what a loss of power broke: objects and branches
repository.py    the repository: who commits, its locks, its settings
settings.py      programs, files and hooks that the repository itself names
storage.py       a history that is cut off, borrowed or replaced; when `git gc` is due
documents.py     the documents of the served commit
worktree.py      the work tree in which the branch is checked out
proposals.py     tokens, the words of proposals, and their branches
remote.py        how the branch stands to its remote
taxonomy.py      manifests, and the values to filter by
index.py         the search index
disks.py         room on the disks, and whether they are mounted for writing
surroundings.py  Python, the libraries, and what this user may write
"""
