"""Rendering: untrusted Markdown as HTML that is safe to show.

links.py      what a link or an image becomes on the page
raw.py        A file as it is
renderer.py   Markdown as HTML that is safe to show
sanitizer.py  sanitize the HTML of a page by nh3, once and last, whoever wrote it
"""
