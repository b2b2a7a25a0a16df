"""The tools that manage documents, in the order of a client's list.

alike_documents.py   groups of alike documents, which a list shows as one row
batch_reads.py       several views or searches in one call
create_document.py   create_document: lists types, explains a type, creates a document
edit_document.py     edit_document: edits sections, tasks, text and metadata
edit_operations.py   the operations of edit_document: fields, selection, examples
list_documents.py    list_documents: lists documents with their sections and tasks
remove_document.py   remove_document: removes a document or a section
search_documents.py  search_documents: searches sections for terms
view_document.py     view_document: shows outlines, sections and tasks
"""

from tools.documents.create_document import TOOL as CREATE_DOCUMENT
from tools.documents.edit_document import TOOL as EDIT_DOCUMENT
from tools.documents.list_documents import TOOL as LIST_DOCUMENTS
from tools.documents.remove_document import TOOL as REMOVE_DOCUMENT
from tools.documents.search_documents import TOOL as SEARCH_DOCUMENTS
from tools.documents.view_document import TOOL as VIEW_DOCUMENT

TOOLS = (CREATE_DOCUMENT, EDIT_DOCUMENT, REMOVE_DOCUMENT, LIST_DOCUMENTS, SEARCH_DOCUMENTS, VIEW_DOCUMENT)
