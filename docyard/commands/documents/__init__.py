"""The commands that list, show and create documents, one module each, imported on demand.

list.py  `docyard list`: the documents, with their titles
new.py   `docyard new`: a new document from the template of a type
show.py  `docyard show`: a document, a section, a task, a commit or a proposal
"""
