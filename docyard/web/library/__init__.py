"""The pages of a workspace: folders of documents, search, and the state of the server.

library.py    the library
search.py     search
"""
