"""Exchanges with remote repositories, in a process of their own.

clone.py        a bare clone of a URL: one branch or tag of the remote
credentials.py  credentials for a remote
exchange.py     one exchange with a remote: the callbacks for libgit2, and the errors of an exchange
local_push.py   a push to a repository in a folder
process.py      a child process for libgit2's network calls, which is killed at a deadline
remote.py       the remotes of a repository: listing their branches, fetching and pushing
url.py          a remote's URL as a value
"""
