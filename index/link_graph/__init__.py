"""The link graph: which documents link to which, at an indexed commit.

backlinks.py  links resolved exactly
build.py      every document's links are read, in other processes
graph.py      linkGraph
location.py   where the link graph is
records.py    what is kept of a document's links
store.py      where the link graph is kept
"""
