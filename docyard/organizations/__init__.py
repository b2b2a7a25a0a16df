"""The organizations of a server, with their servers and namespaces: reading and administration.

directory.py   the directory of a database, as one value
"""
