"""The storage of indexes in PostgreSQL, which several nodes share. Boundary of `psycopg` in this package.

database.py       connections to a server, and errors that say what the operator can do
heads.py          the tables: the head of each index, and its segments as immutable rows
options.py        the choice of a storage for indexes
segment_files.py  the segments of a node, as files in a private folder
server_state.py   the version of a server, and how far its log is applied
servers.py        the servers that a URL names, some of which may not answer
shared_keys.py    the keys that nodes share, which sign what clients keep
shared_tokens.py  the tokens of people, which nodes share
storage.py        the storage: generations are committed to the database, and evaluated on each node
"""
