"""Texts of any kind for the reading tools: their outlines and their parts.

code.py         classes and functions of source code, found without a parser of each language
finder.py       find a part of a text by address, number or words
headings.py     outlines of texts other than Markdown, from their headings
markup.py       headings of reStructuredText and AsciiDoc
outline.py      outlines of texts of all kinds
summaries/      extractive summaries of texts
text_file.py    files of a commit that can be read as text
token_bound.py  an upper bound of the tokens of a text
tokens.py       token counts, exact or estimated
"""
