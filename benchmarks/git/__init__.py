"""Measurements of commits, checkouts and history.

checkout.py  cost of a work tree: an edit of 10,000 files in two levels, checked out and bare
commits.py   Git's part of a batch: objects, locks, the ref and its log, in a bare repository of 100,000 files
history.py   times of a first page of history and of a blame in a repository of ten thousand commits
"""
