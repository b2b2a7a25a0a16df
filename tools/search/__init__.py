"""The tools that search, in the order of a client's list.

fitting_hits.py    the hits that fit into an answer
found_tasks.py     the tasks in the hits of search_docs and search_documents
get_doc.py         get_doc: returns a chunk by its id, with its neighbours in the file
minimum_commit.py  `min_commit`: a read waits for the commit of a write, or reports that it is behind
search_docs.py     search_docs: returns the sections that match a query best
"""

from tools.search.get_doc import TOOL as GET_DOC
from tools.search.search_docs import TOOL as SEARCH_DOCS

TOOLS = (SEARCH_DOCS, GET_DOC)
