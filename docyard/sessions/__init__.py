"""The sessions of browsers: in the memory of one process, or in the database of several.

memory.py     sessions in the memory of one process
sessions.py   what both kinds promise
stored.py     sessions in the database, which all workers share
"""
