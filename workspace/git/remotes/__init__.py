"""Exchanges with remote repositories, in a process of their own.

credentials.py  what this user may show a remote
exchange.py     one exchange with a remote
local_push.py   pushing to a repository in a folder, with the comparison that libgit2 leaves out there
process.py      calls to libgit2 that speak with a remote, in a process of their own that can be ended …
remote.py       speaking with remotes
url.py          A remote's URL as a value
"""
