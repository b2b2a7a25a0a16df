"""The link graph: which documents link to which, at an indexed commit.

backlinks.py  the resolved links of a document, and the links to it
build.py      a reader of the links of all documents, in other processes
graph.py      the graph of a branch, updated on demand
location.py   the graph's file next to the index
records.py    the record of a document's links
store.py      the SQLite tables of the graph
"""
