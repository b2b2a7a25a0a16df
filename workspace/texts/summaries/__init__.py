"""Extractive summaries of texts, which name every section and contain its most important passages.

code.py      passages of source code and of logs
passages.py  passages: their kinds and weights, sentences, signatures, removal of markup
prose.py     blocks and passages of prose in Markdown and similar markups
summary.py   summaries within a budget of tokens
wording.py   the description of a summary in a response
"""
