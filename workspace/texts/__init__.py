"""Texts of any kind as reading tools see them: what stands at a path, its outline, its parts by name.

text_file.py         a file at a commit that is text, and why another is not
unreadable.py        why nothing can be read at a path, and what is near it
outline.py           its parts with their addresses, in bytes and in lines
headings.py          how parts become entries: addresses, numbers, levels
restructuredtext.py  its headings
asciidoc.py          its headings
definitions.py       classes and functions of source code
finding.py           which part is meant
files.py             which paths there are, for addresses that hold a `#`
tokens.py            what a text costs a reader
"""
