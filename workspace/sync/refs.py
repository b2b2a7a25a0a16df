"""The refs of ours that tell of remotes."""

from __future__ import annotations


def tracking_ref(remote: str, branch: str) -> str:
    """Where a remote's branch was when it was last seen: Git's own remote-tracking ref.

    Without a branch, what the names of all of them begin with; so it is with the others.
    """
    return f"refs/remotes/{remote}/{branch}"


def fetched_ref(remote: str, branch: str) -> str:
    """Where a fetch brings a branch to, before anything is made of it."""
    return f"refs/docyard/fetched/{remote}/{branch}"


def lost_ref(remote: str, branch: str) -> str:
    """What a remote's branch had, and had no longer when it was looked at again."""
    return f"refs/docyard/lost/{remote}/{branch}"
