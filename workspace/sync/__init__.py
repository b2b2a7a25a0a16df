"""Other repositories of the same documents: what is fetched from them, and what is pushed to them.

    addresses.py    how a URL is reached, and how it is shown: never with its password
    credentials.py  what this user may show a remote: an SSH agent, keys, tokens
    wording.py      what a remote or a library said, fit to be shown
    settings.py     the `[remote]` table of `docyard.toml`
    choosing.py     which remote is meant
    refs.py         the refs of ours that tell of remotes
    states.py       how a branch stands to the remote's
    following.py    a branch is brought to a commit that was fetched
    joining.py      a branch that diverged is merged with the remote's
    conflicting.py  what both sides changed differently is not written to
    unpushed.py     what the remote does not have yet, told without asking it
    standing.py     all of that, as every answer tells it
    beside.py       which branches travel beside the served one
    turn.py         one synchronisation at a time
    exchanging.py   the exchanges of one synchronisation
    syncing.py      fetch, follow or join, and push, and what became of it

`workspace.git.remotes` is the door: it alone speaks with remotes.
"""
