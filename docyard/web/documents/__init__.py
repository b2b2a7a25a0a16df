"""The pages of a document: its text, its history, its blame, its commits, and the forms that change it.

comments.py        the comments of a document, and their forms
document.py        the page of a document
document_forms.py  the forms that create, move and remove a document
edit.py            the form that edits a section or a document, and writes a proposal
history.py         the changes of a document, its blame, and the page of a commit
images.py          the upload of an image in the edit form
lookup.py          the document and section that a URL names
page_write.py      the write of a form: to the served branch or to a proposal
routes.py          the routes of these pages, and raw files
sidebar.py         the context of a document: its last change, backlinks and proposals
task_boxes.py      the boxes of tasks as buttons, and their form
"""
