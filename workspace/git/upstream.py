"""The repository that several nodes write, as a publication uses it: its ref decides which commit is next."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol


class Upstream(Protocol):
    """The repository that several nodes share: a bare repository, or one of a forge.

    Each node has a clone of it. A commit exists as soon as the branch of the shared repository is at it.
    """

    def hold(self) -> AbstractContextManager[None]:
        """Allow writes of this thread during a block, whose branches are first updated to the shared ones.

        Blocks may be nested. Raises Busy if another node writes, and the errors of an exchange.
        """
        ...

    def push(self, branch: str, base: str | None, commit: str | None) -> bool:
        """Move the shared branch from `base` to `commit`; None is a missing branch.

        Return True if the shared branch is at `commit`. Return False if it is not, because another node has
        moved it or may write now: the caller then leaves its blocks, and plans again in a new one.

        Raises the error of the exchange if the shared branch was not moved, and ResultUnknown.
        """
        ...

    def follow(self) -> None:
        """Fetch the shared branches, and fast-forward those of this repository.

        Raises the errors of an exchange.
        """
        ...
