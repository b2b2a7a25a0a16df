"""The tools for comments on documents and proposals, in the order of a client's list.

address_comments.py  address_comments: edits documents, and answers and resolves comments, in one call
comment_document.py  comment_document: comments on a document, a section or quoted text
discussions.py       the comments of the documents and of the proposals, each with the text as it is now
list_comments.py     list_comments: lists the open comments, or shows one in full
"""

from tools.comments.address_comments import TOOL as ADDRESS_COMMENTS
from tools.comments.comment_document import TOOL as COMMENT_DOCUMENT
from tools.comments.list_comments import TOOL as LIST_COMMENTS

TOOLS = (LIST_COMMENTS, COMMENT_DOCUMENT, ADDRESS_COMMENTS)
