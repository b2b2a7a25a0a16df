"""Synchronization with a remote: fetch, merge and push of branches and proposals.

branches.py   the branches to synchronize, their states, and the selection of the remote
conflicts.py  the paths in conflict with the remote, which cannot be written until a person resolves them
exchange.py   the exchanges of one synchronization, and the local refs that record the state of the remote
push.py       the push of one proposal: its branch, and the discussion
status.py     the tracking status of the served branch
sync.py       one synchronization of all branches, under a lock
upstream.py   the remote as the repository that several nodes write
"""
