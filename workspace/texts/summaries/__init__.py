"""Extractive summaries of texts: every section named, with its most important passages.

code.py      the passages of a part of source code
passages.py  passages
prose.py     blocks of a section's own text, in Markdown and the markups like it
summary.py   summaries
wording.py   what an answer says of a summary
"""
