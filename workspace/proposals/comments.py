"""The current position of the text of a comment: unchanged, moved, changed, or removed.

The section is tracked from the comment's commit, first in one step and then commit by commit. If that commit
is missing, as after a rebase, the section is found by its address and the digest of its text.

Comments are returned in pages of threads.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from workspace.document.addresses import find_sections_by_name, resolve_section
from workspace.document.section_text import read_own_text
from workspace.errors import WorkspaceError
from workspace.git.ancestry import Graph
from workspace.git.repository import DamagedRepository
from workspace.history.moves import MAX_COMMITS, Tracker
from workspace.history.moves import SectionPosition as Followed
from workspace.markdown.lines import BLANK
from workspace.proposals.events import MAX_QUOTE, CommentTarget, InvalidEventText

if TYPE_CHECKING:
    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.proposals.proposal import Comment, Thread
    from workspace.snapshot.snapshot import Snapshot

_READ = 3_000_000  # bytes of documents that are read for one comment


class TextStatus(StrEnum):
    """The status of the text of a comment."""

    HERE = "here"
    MOVED = "moved"  # the same text at another address
    OUTDATED = "outdated"  # its section exists, with other text
    GONE = "gone"  # its section is missing, or unknown


class CommentAnchor(NamedTuple):
    """The status of a text, and its current address; for a removed text, its last address."""

    status: TextStatus
    path: str
    slug: str | None


def build_comment_target(document: Document, slug: str | None, quote: str = "") -> CommentTarget:
    """Return the target of a new comment: a section, the whole document, or words quoted from it.

    Raises SectionNotFound, AmbiguousAddress, InvalidAddress, and InvalidEventText for words that are not in
    the text.
    """
    section = resolve_section(document, slug) if slug is not None else None
    data = _read_text(document, section)
    quote = quote.strip()
    if len(quote) > MAX_QUOTE or not _contains_quote(data, quote):
        reason = "is too long" if len(quote) > MAX_QUOTE else "is not in the text that is commented on"
        raise InvalidEventText(
            f"the quote {reason}",
            fix=f"Quote at most {MAX_QUOTE} characters exactly as in the text, or leave the quote out.",
            field="quote",
        )
    return CommentTarget(document.path, section.key if section else None, _hash_text(data), quote)


def find_comment_anchor(comment: Comment, tip: Snapshot) -> CommentAnchor | None:
    """Return the anchor of a comment at a commit; None for a comment on no text."""
    place = comment.target
    if place is None:
        return None
    found = None
    if tip.config.is_document(place.path):
        try:
            found = _follow_text(place, comment.commit, tip)
        except DamagedRepository:  # the comment's commit is incomplete or invalid
            found = _find_named(place, tip)
    if found is None or found.document is None:
        return CommentAnchor(TextStatus.GONE, place.path, place.slug)
    path, slug = found.address
    if not _has_text(place, found.document, found.section):
        return CommentAnchor(TextStatus.OUTDATED, path, slug)
    is_here = path == place.path and (slug == place.slug or _is_named(found, place.slug))
    return CommentAnchor(TextStatus.HERE if is_here else TextStatus.MOVED, path, slug)


def _has_text(place: CommentTarget, document: Document, section: Section | None) -> bool:
    """Return True if the text of a comment is present and unchanged."""
    data = _read_text(document, section)
    if place.quote:
        return _contains_quote(data, place.quote)
    if _hash_text(data) == place.digest:
        return True
    if section is None or section.heading is None or section.heading.below_start == section.body:
        return False
    # Version 0.1.0 treated attribute lists below a heading as text.
    return _hash_text(document.data[section.heading.below_start : section.end].strip(BLANK)) == place.digest


def _is_named(found: Followed, slug: str | None) -> bool:
    """Return True if a slug is another name of a section, such as one of version 0.1.0."""
    if slug is None or found.document is None or found.section is None:
        return False
    return [item.position for item in find_sections_by_name(found.document, slug)] == [found.section.position]


def _follow_text(place: CommentTarget, commit: str | None, tip: Snapshot) -> Followed | None:
    """Return the position at a tip of a place of the comment's commit; None if it is removed."""
    if commit is None or tip.tree is None or not tip.git.has(commit):
        return _find_named(place, tip)
    following = Tracker(tip.git, tip.config.is_document, _READ)
    old = tip.git.commit(commit).tree
    start = _read_at(following, old, place)
    if start is None:
        return _find_named(place, tip)
    followed = start._replace(document=None) if start.section is None else start
    found = following.step(followed, old, tip.tree) or _follow_stepwise(following, followed, commit, tip)
    if found is None or found.document is not None:
        return found
    blob = following.blob(tip.tree, found.path)
    return Followed(found.path, following.document(found.path, blob) if blob else None)


def _follow_stepwise(following: Tracker, start: Followed, commit: str, tip: Snapshot) -> Followed | None:
    """Track a location commit by commit, which finds it after an edit and a move in separate commits."""
    states = Graph(tip.git).first_parents(tip.commit, most=MAX_COMMITS) if tip.commit else []
    age = next((age for age, state in enumerate(states) if state.id == commit), 0)
    place: Followed | None = start if age else None
    for newer in range(age - 1, -1, -1):
        if place is not None:
            place = following.step(place, states[newer + 1].tree, states[newer].tree)
    return place


def _find_named(place: CommentTarget, tip: Snapshot) -> Followed | None:
    """Return the section that the address of a place names at a tip."""
    following = Tracker(tip.git, tip.config.is_document, _READ)
    return _read_at(following, tip.tree, place) if tip.tree is not None else None


def _read_at(following: Tracker, tree: str, place: CommentTarget) -> Followed | None:
    blob = following.blob(tree, place.path)
    document = following.document(place.path, blob) if blob is not None else None
    if document is None or place.slug is None:
        return Followed(place.path, document) if document else None
    named = find_sections_by_name(document, place.slug)
    section = document.section_by_key(place.slug) or (named[0] if len(named) == 1 else None)
    return Followed(place.path, document, section) if section else None


def _read_text(document: Document, section: Section | None) -> bytes:
    """Return the text of a comment's section, without its heading, so that a rename does not change it."""
    return document.data if section is None else read_own_text(document, section)


def _hash_text(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _contains_quote(data: bytes, quote: str) -> bool:
    """Return True if a text contains these words, with any line breaks."""
    return " ".join(quote.split()) in " ".join(data.decode("utf-8", "replace").split())


MAX_COMMENTS = 100
"""Threads of one page: each may read two versions of a document."""

MAX_FOLLOWED = 50
"""Texts that are tracked for a page of one document or section, shown or not."""

MAX_CHECKED = 1_000
"""Threads that are checked for such a page."""

LocationFilter = tuple[str | None, str | None]
"""A path and a section's key: the whole document without a key, every place without a path."""


class AnchoredThread(NamedTuple):
    """A thread, and the anchor of its text; None if it has no text, or the position is unknown.

    An answer has no location of its own. `position` is its index among all threads.
    """

    thread: Thread
    anchor: CommentAnchor | None
    position: int

    def is_at(self, path: str | None, slug: str | None) -> bool:
        """Return True if it was made at or below a location, or its text is there now; True without one."""
        places = [(at.path, at.slug) for at in (self.thread.comment.target, self.anchor) if at]
        return path is None or any(_is_at(place, (path, slug)) for place in places)


class CommentPage(NamedTuple):
    """A page of threads in the order of their start, of `total`, which counts other places too.

    `next` is the `after` of the next page; None at the end.
    """

    threads: tuple[AnchoredThread, ...]
    total: int
    next: int | None


def find_comment_anchor_safely(comment: Comment, tip: Snapshot) -> CommentAnchor | None:
    """Return the anchor of a comment at a commit; None if its document or the settings are unreadable."""
    try:
        return find_comment_anchor(comment, tip)
    except WorkspaceError:
        return None


class TargetFilter:
    """A filter for comments that may be at a place of a commit, by the blobs of two paths."""

    def __init__(self, tip: Snapshot | None, at: LocationFilter) -> None:
        self._tip, self._at = tip, at
        self._following = Tracker(tip.git, lambda path: True, 0) if tip is not None else None
        self._changed: dict[tuple[str, str], bool] = {}

    def may_hold(self, comment: Comment) -> bool:
        """Return False only for a comment from elsewhere whose text cannot have moved to the place.

        A text moves only if its document has changed, and only to a document that has changed.
        """
        place, (path, slug) = comment.target, self._at
        if path is None:
            return True
        if place is None:
            return False
        if _is_at((place.path, place.slug), (path, slug)):
            return True
        if self._tip is None:
            return False
        if comment.commit is None or not self._tip.git.has(comment.commit):  # only its address is known
            return place.path == path
        return self._has_changed(comment.commit, place.path) and self._has_changed(comment.commit, path)

    def _has_changed(self, commit: str, path: str) -> bool:
        """Return True if the blob at a path differs from an earlier commit, or that is unknown."""
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


def _is_at(place: tuple[str, str | None], at: LocationFilter) -> bool:
    """Return True if a place is another one, or below it."""
    (file, address), (path, slug) = place, at
    address = address or ""
    return file == path and (slug is None or address == slug or address.startswith(f"{slug}/"))
