"""Measurements of commits, checkouts and history.

checkout.py  cost of a work tree: an edit among 10,000 files, checked out and bare
commits.py   Git operations of a batch in a bare repository of 100,000 files
history.py   times of a first page of history and of a blame in a repository of 10,000 commits
"""
