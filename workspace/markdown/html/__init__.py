"""Markdown as HTML: CommonMark with GitHub's extensions. `workspace.rendering` sanitizes the HTML.

page.py    a parsed text of a page
reader.py  the parser of a text for a page
writer.py  the HTML of a page, from markdown-it-py's renderer with rules of Docyard
"""
