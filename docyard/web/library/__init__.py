"""The pages of a workspace: folders of documents, and search.

folders.py             the folders of a snapshot
library.py             the library: folders, their documents, and open tasks
navigation.py          the tree of folders and documents next to a page
proposed_documents.py  the documents that a proposal adds, changes and removes
search.py              the search page
snippets.py            snippets with the words of the query highlighted
suggestions.py         the suggestions while a query is typed
"""
