"""What is wrong here, and what to type: the checks of `docyard doctor`.

finding.py       one thing that was found
repository.py    the repository: who commits, its locks, its settings
documents.py     the documents of the served commit
worktree.py      the work tree in which the branch is checked out
index.py         the search index
surroundings.py  Python, the libraries, and what this user may write
"""
