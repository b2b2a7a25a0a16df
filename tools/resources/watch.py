"""Changes of watched resources and of their list."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from tools.resources.contents import InvalidUri, ResourceLocation, locate_resource, parse_uri
from tools.resources.list import read_listed_documents
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tools.resources.list import ListedDocuments
    from tools.tool import Context
    from workspace.snapshot.snapshot import Snapshot

MAX_WATCHED_RESOURCES = 1000


class TooManyWatchedResources(WorkspaceError):
    """The limit of watched resources is reached."""

    code = "TOO_MANY_WATCHED"


class WatchedState(NamedTuple):
    """The state of a resource: its document's path and blob, and a digest of the resource's bytes."""

    path: str
    blob: str
    digest: bytes


class ResourceChanges(NamedTuple):
    """The URIs whose bytes changed; `is_list_changed` is True if other documents or skills are listed."""

    uris: tuple[str, ...]
    is_list_changed: bool


class ResourceWatch:
    """The resources that the clients of a server watch. Thread-safe.

    `get_context` returns the current context. A resource counts as changed if its bytes at the tip differ,
    not if it was only moved.
    """

    def __init__(self, get_context: Callable[[], Context]) -> None:
        self._get_context = get_context
        self._counts: Counter[str] = Counter()
        self._states: dict[str, WatchedState | None] = {}
        self._tree: str | None = None
        self._listed_key: tuple[object, ...] | None = None
        self._lock = threading.Lock()

    @property
    def is_idle(self) -> bool:
        """Return True if no client would be notified of a change."""
        return not self._counts and self._listed_key is None

    def record_list(self, documents: ListedDocuments) -> None:
        """Record the list of documents that a client received. List changes are reported from then on."""
        with self._lock:
            self._listed_key = documents.key
            self._force_comparison(documents.snapshot)

    def add(self, uri: str) -> None:
        """Add a subscription to a resource.

        Raises TooManyWatchedResources, InvalidUri for a URI with a ref, and the errors of `locate_resource`.
        """
        context = self._get_context()
        location = locate_resource(context, uri)
        if parse_uri(uri, location.snapshot.documents).ref is not None:
            raise InvalidUri("a URI with a ref cannot be watched", fix="Omit ?ref= to watch the tip.")
        with self._lock:
            if uri not in self._counts and len(self._counts) >= MAX_WATCHED_RESOURCES:
                raise TooManyWatchedResources(
                    f"the limit of {MAX_WATCHED_RESOURCES:,} watched resources is reached",
                    fix="Unsubscribe from some resources first.",
                )
            self._counts[uri] += 1
            self._states.setdefault(uri, _read_state(location))
            self._force_comparison(location.snapshot)

    def add_existing(self, uris: Iterable[str]) -> list[str]:
        """Add subscriptions to the existing resources among `uris`, and return their URIs.

        If it raises TooManyWatchedResources, no subscription is added.
        """
        added_uris: list[str] = []
        for uri in dict.fromkeys(uris):
            try:
                self.add(uri)
            except TooManyWatchedResources:
                self.discard(added_uris)
                raise
            except WorkspaceError:  # the result shows the client that the resource is not watched
                continue
            added_uris.append(uri)
        return added_uris

    def discard(self, uris: Iterable[str]) -> None:
        """Remove one subscription to each resource."""
        with self._lock:
            for uri in uris:
                self._counts[uri] -= 1
                if self._counts[uri] <= 0:
                    del self._counts[uri]
                    self._states.pop(uri, None)

    def find_changes(self) -> ResourceChanges:
        """Return the changes since the last call."""
        context = self._get_context()
        snapshot = context.snapshot()
        if snapshot.tree == self._tree:
            return ResourceChanges((), False)
        listed_key = read_listed_documents(context).key  # outside the lock, because it may take long
        with self._lock:
            self._tree = snapshot.tree
            states = dict(self._states)
            is_list_changed = self._listed_key not in (None, listed_key)
            if is_list_changed:
                self._listed_key = listed_key
        changed_uris: list[str] = []
        for uri, old_state in states.items():
            is_unchanged = old_state is not None and _is_unchanged(snapshot, old_state)
            new_state = old_state if is_unchanged else _find_state(context, uri)
            with self._lock:
                if self._states.get(uri) is not old_state:
                    continue
                self._states[uri] = new_state
            if (old_state and old_state.digest) != (new_state and new_state.digest):
                changed_uris.append(uri)
        return ResourceChanges(tuple(changed_uris), is_list_changed)

    def _force_comparison(self, snapshot: Snapshot) -> None:
        """Make the next `find_changes` compare, if the recorded state is of another tree."""
        if snapshot.tree != self._tree:
            self._tree = None


def _read_state(location: ResourceLocation) -> WatchedState:
    digest = hashlib.sha256(location.data).digest()
    return WatchedState(location.document.path, location.snapshot.blob(location.document.path), digest)


def _find_state(context: Context, uri: str) -> WatchedState | None:
    """Return the current state of a resource; None if it cannot be read."""
    try:
        return _read_state(locate_resource(context, uri))
    except WorkspaceError:
        return None


def _is_unchanged(snapshot: Snapshot, state: WatchedState) -> bool:
    """Return True if the document of a state is unchanged."""
    entry = snapshot.entry(state.path)
    return entry is not None and entry.id == state.blob and state.path in snapshot.documents
