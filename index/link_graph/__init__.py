"""The link graph: which document links to which, at the commit that is read.

spelled.py    one key for all the paths by which a link may name a file
record.py     what is kept of a document's links
store.py      where it is kept: one file beside the index
reading.py    every document's links are read, in other processes
graph.py      LinkGraph: follows commits, and answers
backlinks.py  which links lead to a document, and to which of its sections
"""
