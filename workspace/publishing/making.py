"""A batch that can be made anew: where another writer was first, it is made again on top of theirs."""

from __future__ import annotations

from collections.abc import Callable

from workspace.git import GitStore
from workspace.publishing.batch import Batch
from workspace.publishing.publish import BranchMoved, Publication

_ATTEMPTS = 4

Make = Callable[[str | None], Batch | None]
"""Makes a batch for a branch's tip (None before its first commit); None if there is nothing to commit."""


def publish_made(
    store: GitStore, branch: str, make: Make, *, durable: bool, confirm: Callable[[], None] | None = None
) -> str | None:
    """Publishes the batch that `make` makes of the branch's tip; None if it made none, else the commit.

    The first is made without a lock. If another writer moves the branch meanwhile, it is made again in this
    writer's turn, and if a person still is first, with Git's locks held. `confirm` is asked in that turn,
    right before each attempt to publish, and may raise what refuses it.

    Raises Busy, what `make` raises, and what `Publication` and its `publish` raise.
    """
    tip = store.tip(branch)
    batch = make(tip)
    if batch is None:
        return None
    with Publication(store, branch, durable=durable) as publication:
        for _ in range(_ATTEMPTS):
            now = store.tip(branch)
            if now != tip:
                tip, batch = now, make(now)
                if batch is None:
                    return None
            if confirm is not None:
                confirm()
            try:
                return publication.publish(batch)
            except BranchMoved:
                publication.hold()
    # Imported here because it imports this package.
    from workspace.writing import Busy

    raise Busy(
        f"other programs moved the branch {_ATTEMPTS} times while this was written; nothing was changed"
    )
