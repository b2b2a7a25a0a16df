"""Texts of any kind for the reading tools: their outline and their parts by name.

code.py       classes and functions of source code, found without a parser of each language
finder.py     which part of a text is meant
headings.py   how headings of a text that is no Markdown become its outline
markup.py     headings of reStructuredText (docutils, "reStructuredText Markup Specification", Sections)
outline.py    outlines
summaries/    extractive summaries of texts
text_file.py  text files
tokens.py     tokens
"""
