"""The sessions of browsers: in the memory of one process, or in the database of several.

database.py   sessions in the database, which all workers share
memory.py     sessions in the memory of one process
sessions.py   the protocol of both kinds
"""
