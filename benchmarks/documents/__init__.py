"""Measurements of edits, links, the fast readers, and the tools for planning.

edits.py         edits of sections, each committed and then found by a search for a new word
fast_readers.py  times with the fast readers of headings and links, and without each of them
link_graph.py    the link graph: built from every document, then updated after edits that add links
planning.py      the list of tasks, drift, and the matrix of traces
"""
