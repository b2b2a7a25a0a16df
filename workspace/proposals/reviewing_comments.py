"""Where the texts are now that comments are about, a page of threads at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.errors import WorkspaceError
from workspace.git import DamagedRepository
from workspace.history.following import Following
from workspace.proposals.comments import Standing, standing

if TYPE_CHECKING:
    from workspace.proposals.told import Comment, Thread
    from workspace.snapshot.snapshot import Snapshot

MOST = 100
"""Threads of one page: each may ask for two versions of a document."""

MOST_FOLLOWED = 50
"""Texts that are followed for a page of one document or section, whether they are shown or not."""

MOST_LOOKED_AT = 1_000
"""Threads that are looked at for such a page."""

At = tuple[str | None, str | None]
"""A path and a section's key: the whole document without a key, every place without a path."""


class PlacedThread(NamedTuple):
    """A thread, and where the text is now that it is about; None if it is about no text, or nobody can tell.

    An answer has no place of its own. `number` is where it stands among all threads.
    """

    thread: Thread
    standing: Standing | None
    number: int

    def is_at(self, path: str | None, slug: str | None) -> bool:
        """Whether it was made on a place or below it, or its text is there now; on any, if None is named."""
        places = [(at.path, at.slug) for at in (self.thread.comment.place, self.standing) if at]
        return path is None or any(_is_at(place, (path, slug)) for place in places)


class Comments(NamedTuple):
    """A page of threads in the order in which they were begun, of `total`, those of other places among them.

    `next` is what to give as `after` for the page that follows; None at the end.
    """

    threads: tuple[PlacedThread, ...]
    total: int
    next: int | None


def placed(comment: Comment, tip: Snapshot) -> Standing | None:
    """Where the text of a comment is at a commit; None where its document or the settings cannot be read."""
    try:
        return standing(comment, tip)
    except WorkspaceError:
        return None


class Sieve:
    """Which comments may be at a place of a commit, told by the blobs of two paths: none is followed."""

    def __init__(self, tip: Snapshot | None, at: At) -> None:
        self._tip, self._at = tip, at
        self._following = Following(tip.git, lambda path: True, 0) if tip is not None else None
        self._changed: dict[tuple[str, str], bool] = {}

    def may_hold(self, comment: Comment) -> bool:
        """False only for one that was not made there and whose text cannot have come there.

        A text stays where its document is as it was, and comes only to a document that is not.
        """
        place, (path, slug) = comment.place, self._at
        if path is None:
            return True
        if place is None:
            return False
        if _is_at((place.path, place.slug), (path, slug)):
            return True
        if self._tip is None:
            return False
        if comment.commit is None or not self._tip.git.has(comment.commit):  # its address alone tells
            return place.path == path
        return self._has_changed(comment.commit, place.path) and self._has_changed(comment.commit, path)

    def _has_changed(self, commit: str, path: str) -> bool:
        """Whether another blob stands at a path than in an earlier commit; also where nobody can tell."""
        key = commit, path
        if key not in self._changed:
            self._changed[key] = self._find_changed(commit, path)
        return self._changed[key]

    def _find_changed(self, commit: str, path: str) -> bool:
        assert self._tip is not None
        assert self._following is not None
        if self._tip.tree is None:
            return True
        try:
            old = self._following.blob(self._tip.git.commit(commit).tree, path)
            return old != self._following.blob(self._tip.tree, path)
        except DamagedRepository:
            return True


def _is_at(place: tuple[str, str | None], at: At) -> bool:
    """Whether a place is another one, or below it."""
    (file, address), (path, slug) = place, at
    address = address or ""
    return file == path and (slug is None or address == slug or address.startswith(f"{slug}/"))
