"""Which of the watched resources a commit has changed, and whether their list says something else."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from tools.resources.contents import InvalidUri, ResourcePlace, locate, read_uri
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tools.tool import Context
    from workspace.snapshot.snapshot import Snapshot

MAX_WATCHED = 1000


class TooManyWatched(WorkspaceError):
    """So many resources are watched that no further one is."""

    code = "TOO_MANY_WATCHED"


class WatchedState(NamedTuple):
    """What stood at a URI: its document's path and blob, and a digest of its own bytes."""

    path: str
    blob: str
    digest: bytes


class ResourceChanges(NamedTuple):
    """The URIs whose bytes differ from what they were, and whether documents were added or removed."""

    updated: tuple[str, ...]
    listed: bool


class Watch:
    """What the clients of a server watch. Safe in several threads; `context` is what there is to read now.

    A resource counts as changed when its bytes at the tip differ, not when it has only moved.
    """

    def __init__(self, context: Callable[[], Context]) -> None:
        self._context = context
        self._counts: Counter[str] = Counter()
        self._marks: dict[str, WatchedState | None] = {}
        self._tree: str | None = None
        self._listed: tuple[str, ...] | None = None
        self._lock = threading.Lock()

    @property
    def is_idle(self) -> bool:
        """Return True if no client would be told of any change."""
        return not self._counts and self._listed is None

    def told(self, snapshot: Snapshot) -> None:
        """Note which documents a client knows of. As long as none does, no change of the list is told."""
        with self._lock:
            self._listed = tuple(snapshot.documents)
            self._look_again(snapshot)

    def add(self, uri: str) -> None:
        """Watch a resource, once more if it is watched.

        Raises what `locate` does, InvalidUri for one at a ref, TooManyWatched.
        """
        context = self._context()
        place = locate(context, uri)
        if read_uri(uri, place.snapshot.documents).ref is not None:
            raise InvalidUri("what stands at a ref is not watched", fix="Leave out ?ref= to watch the tip.")
        with self._lock:
            if uri not in self._counts and len(self._counts) >= MAX_WATCHED:
                raise TooManyWatched(
                    f"{MAX_WATCHED:,} resources are watched already",
                    fix="Unsubscribe from some of them first.",
                )
            self._counts[uri] += 1
            self._marks.setdefault(uri, _mark(place))
            self._look_again(place.snapshot)

    def add_all(self, uris: Iterable[str]) -> list[str]:
        """Watch those of many resources that there are, and tell which. Raises TooManyWatched, for all."""
        added: list[str] = []
        for uri in dict.fromkeys(uris):
            try:
                self.add(uri)
            except TooManyWatched:
                self.discard(added)
                raise
            except WorkspaceError:  # there is no such resource, and the client sees that it is not watched
                continue
            added.append(uri)
        return added

    def discard(self, uris: Iterable[str]) -> None:
        """Watch resources once less."""
        with self._lock:
            for uri in uris:
                self._counts[uri] -= 1
                if self._counts[uri] <= 0:
                    del self._counts[uri]
                    self._marks.pop(uri, None)

    def look(self) -> ResourceChanges:
        """Return what has changed since the last look."""
        context = self._context()
        snapshot = context.snapshot()
        if snapshot.tree == self._tree:
            return ResourceChanges((), False)
        paths = tuple(snapshot.documents)  # which may take long, and what waits for the lock may not
        with self._lock:
            self._tree = snapshot.tree
            marks = dict(self._marks)
            is_other = self._listed is not None and paths != self._listed
            if is_other:
                self._listed = paths
        updated: list[str] = []
        for uri, before in marks.items():
            now = before if before and _is_unchanged(snapshot, before) else _find(context, uri)
            with self._lock:
                if self._marks.get(uri) is not before:
                    continue
                self._marks[uri] = now
            if (before and before.digest) != (now and now.digest):
                updated.append(uri)
        return ResourceChanges(tuple(updated), is_other)

    def _look_again(self, snapshot: Snapshot) -> None:
        """See to it that the next look compares: this was noted of another commit than was seen last."""
        if snapshot.tree != self._tree:
            self._tree = None


def _mark(place: ResourcePlace) -> WatchedState:
    digest = hashlib.sha256(place.data).digest()
    return WatchedState(place.document.path, place.snapshot.blob(place.document.path), digest)


def _find(context: Context, uri: str) -> WatchedState | None:
    """Return what stands at a URI now; None if that cannot be read."""
    try:
        return _mark(locate(context, uri))
    except WorkspaceError:
        return None


def _is_unchanged(snapshot: Snapshot, mark: WatchedState) -> bool:
    """Return True if the document of a mark is as it was."""
    entry = snapshot.entry(mark.path)
    return entry is not None and entry.id == mark.blob and mark.path in snapshot.documents
