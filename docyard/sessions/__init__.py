"""The sessions of browsers: in the memory of one process, or in the database of several.

database.py   sessions in the database of a server of organizations, which all workers share
engine.py     sessions in the database of an engine, which all nodes of a repository share
memory.py     sessions in the memory of one process
sessions.py   the protocol of all kinds
storage.py    what the kinds in a database have in common: the cache and the limits
"""
