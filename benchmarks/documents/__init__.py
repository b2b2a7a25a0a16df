"""Measurements of edits, links and the quick readers.

edits.py       edits of sections, each committed and then found by a search for a word of the edit
link_graph.py  the link graph: built from every document, then updated after edits with new links
shortcuts.py   the quick readers of headings and links
"""
