"""The tools that manage documents, in the order in which a client sees them.

create_document.py   create_document: from a list of types, through a type's instructions, to a document
edit_document.py     edit_document: sections and tasks added, rewritten, renamed; one operation or a …
edit_operations.py   the operations of edit_document: their fields, and which of them a call means
list_documents.py    list_documents: the documents under a folder, with their sections and tasks, page by …
remove_document.py   remove_document: a document, or a section with its subsections, taken out; Git keeps …
search_documents.py  search_documents: sections that hold some words, in brief
view_document.py     view_document: a document's outline, a section's source, or a task; several in one call
"""

from tools.documents.create_document import TOOL as CREATE_DOCUMENT
from tools.documents.edit_document import TOOL as EDIT_DOCUMENT
from tools.documents.list_documents import TOOL as LIST_DOCUMENTS
from tools.documents.remove_document import TOOL as REMOVE_DOCUMENT
from tools.documents.search_documents import TOOL as SEARCH_DOCUMENTS
from tools.documents.view_document import TOOL as VIEW_DOCUMENT

FAMILY = (CREATE_DOCUMENT, EDIT_DOCUMENT, REMOVE_DOCUMENT, LIST_DOCUMENTS, SEARCH_DOCUMENTS, VIEW_DOCUMENT)
