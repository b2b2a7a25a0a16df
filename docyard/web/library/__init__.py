"""The pages of a workspace: folders of documents, and search.

library.py    the library: folders, their documents, and open tasks
search.py     the search page
snippets.py   snippets with the words of the query highlighted
"""
