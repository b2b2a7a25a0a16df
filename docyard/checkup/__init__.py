"""What is wrong here, and what to type: the checks of `docyard doctor`.

finding.py       one thing that was found
repository.py    the repository and its documents
index.py         the search index
surroundings.py  Python, the libraries, and what this user may write
"""
