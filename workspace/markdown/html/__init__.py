"""Markdown as HTML: CommonMark with what GitHub adds. `workspace.rendering` sanitizes it.

page.py    a text that was read for a page
reader.py  read a text for a page
writer.py  write a page as HTML by markdown-it-py's renderer, with rules of our own where a page differs
"""
