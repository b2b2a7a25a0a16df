"""The tools that manage documents, in the order in which a client sees them."""

from tools.documents.create_document import TOOL as CREATE_DOCUMENT
from tools.documents.edit_document import TOOL as EDIT_DOCUMENT
from tools.documents.list_documents import TOOL as LIST_DOCUMENTS
from tools.documents.remove_document import TOOL as REMOVE_DOCUMENT
from tools.documents.search_documents import TOOL as SEARCH_DOCUMENTS
from tools.documents.view_document import TOOL as VIEW_DOCUMENT

FAMILY = (CREATE_DOCUMENT, EDIT_DOCUMENT, REMOVE_DOCUMENT, LIST_DOCUMENTS, SEARCH_DOCUMENTS, VIEW_DOCUMENT)
