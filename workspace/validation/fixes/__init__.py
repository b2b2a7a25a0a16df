"""Fixes for findings that are safe to apply: words, titles and levels never change.

broken_link.py     fixes of broken links
change.py          fixes as values
files.py           fixes of documents outside commits
fix.py             the fixes of one document, and of several
missing_anchor.py  fixes of headings without an anchor
operation.py       the operation `fix`
"""
