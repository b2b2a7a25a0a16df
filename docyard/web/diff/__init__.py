"""The view of changes on a page.

diff.py              documents, sections and rows of text
html_comparison.py   the blocks and words that differ in two versions of rendered text
section_renderer.py  both versions of changed sections as rendered text
views.py             the views of changes: side by side, in one column, rendered
"""
