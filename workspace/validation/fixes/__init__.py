"""Fixes for findings that are safe to apply: words, titles and levels never change.

broken_link.py     broken links led back to what they meant
change.py          what a fix is
files.py           documents put right that are in no commit
fix.py             one document put right
missing_anchor.py  missing-anchor
operation.py       fix
"""
