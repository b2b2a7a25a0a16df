"""The tools that search, in the order in which a client sees them.

get_doc.py      get_doc: a chunk by its id, with its neighbours in the file
search_docs.py  search_docs: the sections that answer a query best, with filters and pages
"""

from tools.search.get_doc import TOOL as GET_DOC
from tools.search.search_docs import TOOL as SEARCH_DOCS

FAMILY = (SEARCH_DOCS, GET_DOC)
