"""The pages of a document: rendered, its history, its blame, a commit, and the form that edits a section.

diagrams.py    diagrams
document.py    A document on its page
edit.py        the form in which a section or a whole document is edited, and what becomes of it
history.py     the changes of a document or section, newest first
lookup.py      which document and section an address of these pages means
routes.py      the routes of these pages
sidebar.py     what stands around a document
"""
