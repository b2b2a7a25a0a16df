"""The commands that list and show documents, one module each, imported on demand.

list.py  `docyard list`: the documents, with their titles
show.py  `docyard show`: a document, a section, a task, a commit or a proposal
"""
