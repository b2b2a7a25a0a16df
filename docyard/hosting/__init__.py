"""The content of the servers of organizations, restricted to the namespaces that a caller may read.

organization_sources.py  the sources of all organizations, which follow the database; the tools of a view
service.py               opens the database and the sources of a server, and follows both
views.py                 the views of callers, and the organizations that they administer
"""
