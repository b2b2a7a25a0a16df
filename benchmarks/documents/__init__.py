"""Measurements of edits, links and the quick readers.

editing.py    sections edited, each committed and found by a search for a word that only the edit brought
linking.py    the link graph: made from every document, then following edits of a section, each with a new …
shortcuts.py  the quick readers of headings and links
"""
