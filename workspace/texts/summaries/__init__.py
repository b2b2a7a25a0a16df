"""Extractive summaries of texts: every section named, and the passages kept that tell most.

sentences.py         where sentences end
shown.py             the markup that is left out of them
prose.py             blocks of Markdown and the markups like it, by lines
passages.py          what a summary may keep, and what it is worth
*_passages.py        those of prose, of source code, of logs; signatures.py those of code in prose
naming.py            headings of a summary
choosing.py          which passages are kept
summary.py           the summary itself
wording.py           what an answer says of it
"""
