"""The organizations of a server, with their servers and namespaces: reading and administration.

administration.py  changes of organizations by an administrator, each in one transaction
audit.py           the audit log: each change, in a chain of hashes
authority.py       administrators, and the repositories and URLs that they may name
directory.py       the directory of a database, as one value
file.py            the file of organizations: reading with all mistakes, and writing
objects.py         organizations, servers, namespaces and rules as values, and their contradictions
plan.py            the changes from one state to another
sources_file.py    the organization `default` of a server with a file of sources
storage.py         reading and writing of the tables
"""
