"""Markdown as HTML: CommonMark with GitHub's extensions. `workspace.rendering` sanitizes the HTML.

containers.py  admonitions and tabs of MkDocs and Docusaurus
mentions.py    mentions of people in a text
page.py        the parsed text of a page
reader.py      parse the text of a page
writer.py      write the HTML of a page with markdown-it-py's renderer and Docyard's rules
"""
