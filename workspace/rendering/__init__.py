"""Rendering: untrusted Markdown as HTML that is safe to show.

code_colours.py  colours of code: a class for each token
formulas.py      formulas as MathML
images.py        formats and sizes of images
links.py         links, images and headings of a page
raw.py           files as a browser may display or save them
renderer.py      documents, sections and short texts as safe HTML
sanitizer.py     sanitization of HTML by nh3
tokens.py        tokens of code by Pygments, in a child process
"""
