"""Markdown: the only package that imports `markdown_it`.

anchors.py          explicit anchors of headings
attribute_lists.py  ids, classes and attributes in braces
blocks.py           the blocks of a text as a tree
html/               render Markdown as HTML
inline.py           the inline Markdown, raw HTML and link definitions of a text, with their positions
library.py          the classes and functions of markdown-it-py that are used at run time
lines.py            lines of bytes, as CommonMark counts them
outline.py          the headings and list items of a text
parser.py           markdown-it-py's block parser, with limits on the number and the depth of blocks
scanner.py          a fast scanner for headings and front matter
slugs.py            slugs of headings and file names
tables.py           the tables of a text
"""
