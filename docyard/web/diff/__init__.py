"""The view of changes on a page.

diff.py              documents, sections and rows of text
section_renderer.py  both versions of changed sections as rendered text
views.py             the views of changes: side by side, in one column, rendered
"""
