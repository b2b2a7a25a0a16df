"""Markdown: the only package that imports `markdown_it`.

anchors.py          anchors
attribute_lists.py  attribute lists
blocks.py           the blocks of a text as a tree
html/               Markdown as HTML
inline.py           where a text's inline Markdown, raw HTML and link definitions stand
lines.py            lines of bytes, as CommonMark counts them
outline.py          which lines are headings and list items
parser.py           the library's block parser, with bounds on how many blocks it reads and how deep
scanner.py          the scanner
slugs.py            slugs
"""
