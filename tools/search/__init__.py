"""The tools that search, in the order in which a client sees them."""

from tools.search.get_doc import TOOL as GET_DOC
from tools.search.search_docs import TOOL as SEARCH_DOCS

FAMILY = (SEARCH_DOCS, GET_DOC)
