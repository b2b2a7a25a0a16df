"""The pages of a workspace: folders of documents, search, and the state of the server.

library.py    the library
search.py     search
summaries.py  what a list tells of a document
"""
