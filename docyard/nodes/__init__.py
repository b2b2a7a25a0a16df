"""The nodes that write one repository: the lease of the writer, and calls that other nodes forward to it.

calls.py     a call between two nodes as bytes, with its signature
client.py    the client that sends a call to the node that has the lease
endpoint.py  the endpoint at which the writer answers calls of other nodes
lease.py     the lease of a repository's writer, in PostgreSQL
node.py      one node: its lease, its clone, and its part in calls that write
"""
