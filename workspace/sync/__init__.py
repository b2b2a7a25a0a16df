"""Synchronization with a remote: fetch, merge and push of branches and proposals.

branches.py   the branches that travel beside the served one
conflicts.py  what both sides changed differently is not written to until someone has decided
exchange.py   the exchanges of one synchronisation, and the refs of ours that tell what was seen of …
push.py       one proposal is sent
status.py     how the served branch stands to its remote as it was last seen, told before and after …
sync.py       fetch, follow or join, and push
"""
