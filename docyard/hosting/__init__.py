"""The content of the servers of organizations, restricted to the namespaces that a caller may read.

hosting.py   the sources of all organizations, which follow the database; the view of a caller
service.py   opens the database and the sources of a server, and follows both
"""
