"""The current position of the text of a comment: unchanged, moved, changed, or removed.

The section is tracked from the comment's commit, first in one step and then commit by commit. If that commit
is missing, as after a rebase, the section is found by its address and the digest of its text.

Comments are returned in pages of threads.
"""

from __future__ import annotations

import hashlib
import re
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from workspace.document.addresses import find_sections_by_name, resolve_section
from workspace.document.section_text import read_own_text
from workspace.errors import WorkspaceError
from workspace.git.ancestry import Graph
from workspace.git.repository import DamagedRepository
from workspace.history.moved_addresses import MAX_COMMITS
from workspace.history.section_tracker import SectionPosition, SectionTracker
from workspace.markdown.lines import BLANK, normalize_line_endings
from workspace.proposals.events import MAX_QUOTE_CHARACTERS, CommentTarget, InvalidEventText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.proposals.proposal import Comment, Thread
    from workspace.snapshot.snapshot import Snapshot

_MAX_READ_BYTES = 3_000_000  # the maximum number of bytes of documents that are read for one comment


class TextStatus(StrEnum):
    """The status of a comment's text."""

    HERE = "here"
    MOVED = "moved"  # the same text is at another address
    OUTDATED = "outdated"  # its section exists, with other text
    GONE = "gone"  # its section is missing, or unknown


class CommentLocation(NamedTuple):
    """The status of a text, and its current address; for a removed text, its last address."""

    status: TextStatus
    path: str
    slug: str | None


def build_comment_target(document: Document, slug: str | None, quote: str = "") -> CommentTarget:
    """Return the target of a new comment: a section, the whole document, or words quoted from it.

    Words that are quoted from the rendered text become their source. Raises SectionNotFound,
    AmbiguousAddress, InvalidAddress, and InvalidEventText for words that are not in the text.
    """
    section = resolve_section(document, slug) if slug is not None else None
    data = _read_text(document, section)
    source_quote = find_quote(data, quote) if len(quote.strip()) <= MAX_QUOTE_CHARACTERS else quote
    if source_quote is None or len(source_quote) > MAX_QUOTE_CHARACTERS:
        reason = "is not in the text that is commented on" if source_quote is None else "is too long"
        raise InvalidEventText(
            f"the quote {reason}",
            fix=f"Quote at most {MAX_QUOTE_CHARACTERS} characters exactly as in the text, or omit the quote.",
            field="quote",
        )
    return CommentTarget(document.path, section.key if section else None, _hash_text(data), source_quote)


def find_comment_location(comment: Comment, tip: Snapshot) -> CommentLocation | None:
    """Return the location of a comment at a commit; return None for a comment without a target."""
    target = comment.target
    if target is None:
        return None
    position = None
    if tip.config.is_document(target.path):
        try:
            position = _track_text(target, comment.commit, tip)
        except DamagedRepository:  # the comment's commit is incomplete or invalid
            position = _find_by_address(target, tip)
    if position is None or position.document is None:
        return CommentLocation(TextStatus.GONE, target.path, target.slug)
    path, slug = position.address
    if not _has_text(target, position.document, position.section):
        return CommentLocation(TextStatus.OUTDATED, path, slug)
    is_same_address = path == target.path and (slug == target.slug or _has_slug(position, target.slug))
    return CommentLocation(TextStatus.HERE if is_same_address else TextStatus.MOVED, path, slug)


def _has_text(target: CommentTarget, document: Document, section: Section | None) -> bool:
    """Return True if the text of a comment is present and unchanged."""
    data = _read_text(document, section)
    if target.quote:
        return _contains_quote(data, target.quote)
    if _hash_text(data) == target.digest:
        return True
    if section is None or section.heading is None or section.heading.below_start == section.body_start:
        return False
    # Version 0.1.0 treated attribute lists below a heading as text.
    return _hash_text(document.data[section.heading.below_start : section.end].strip(BLANK)) == target.digest


def _has_slug(position: SectionPosition, slug: str | None) -> bool:
    """Return True if a slug is another name of a section, such as one of version 0.1.0."""
    if slug is None or position.document is None or position.section is None:
        return False
    return [section.position for section in find_sections_by_name(position.document, slug)] == [
        position.section.position
    ]


def _track_text(target: CommentTarget, commit: str | None, tip: Snapshot) -> SectionPosition | None:
    """Return the position of a comment's target at a tip; return None if the text was removed."""
    if commit is None or tip.tree is None or not tip.git.has_object(commit):
        return _find_by_address(target, tip)
    tracker = SectionTracker(tip.git, tip.config.is_document, _MAX_READ_BYTES)
    old_tree = tip.git.commit(commit).tree
    original_position = _read_at(tracker, old_tree, target)
    if original_position is None:
        return _find_by_address(target, tip)
    tracked_position = (
        original_position._replace(document=None) if original_position.section is None else original_position
    )
    position = tracker.step(tracked_position, old_tree, tip.tree) or _track_stepwise(
        tracker, tracked_position, commit, tip
    )
    if position is None or position.document is not None:
        return position
    blob = tracker.blob(tip.tree, position.path)
    return SectionPosition(position.path, tracker.document(position.path, blob) if blob else None)


def _track_stepwise(
    tracker: SectionTracker, start: SectionPosition, commit: str, tip: Snapshot
) -> SectionPosition | None:
    """Track a position commit by commit, because an edit and a move may be in separate commits."""
    commits = Graph(tip.git).first_parents(tip.commit, max_commits=MAX_COMMITS) if tip.commit else []
    start_index = next((index for index, info in enumerate(commits) if info.id == commit), 0)
    position: SectionPosition | None = start if start_index else None
    for index in range(start_index - 1, -1, -1):
        if position is not None:
            position = tracker.step(position, commits[index + 1].tree, commits[index].tree)
    return position


def _find_by_address(target: CommentTarget, tip: Snapshot) -> SectionPosition | None:
    """Return the position that the address of a target names at a tip."""
    tracker = SectionTracker(tip.git, tip.config.is_document, _MAX_READ_BYTES)
    return _read_at(tracker, tip.tree, target) if tip.tree is not None else None


def _read_at(tracker: SectionTracker, tree: str, target: CommentTarget) -> SectionPosition | None:
    blob = tracker.blob(tree, target.path)
    document = tracker.document(target.path, blob) if blob is not None else None
    if document is None or target.slug is None:
        return SectionPosition(target.path, document) if document else None
    named_sections = find_sections_by_name(document, target.slug)
    section = document.section_by_key(target.slug) or (
        named_sections[0] if len(named_sections) == 1 else None
    )
    return SectionPosition(target.path, document, section) if section else None


def _read_text(document: Document, section: Section | None) -> bytes:
    """Return the text of a comment's section, without its heading, so that a rename does not change it."""
    return document.data if section is None else read_own_text(document, section)


def read_target_text(document: Document, slug: str | None) -> str:
    """Return the text of a comment's target with LF line ends; the slug is the key of a section.

    Raises SectionNotFound, AmbiguousAddress.
    """
    section = (document.section_by_key(slug) or resolve_section(document, slug)) if slug else None
    return normalize_line_endings(_read_text(document, section).decode("utf-8", "replace"))


def _hash_text(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# A word, or a part of the source that a rendered text lacks: the number or box of an item, the target of a
# link, an anchor, a tag, an entity.
_WORD = re.compile(
    r"^[ \t>]*\d{1,9}[.)](?=\s)|\[[xX]\]|\]\([^()\s]{0,1000}(?:\s\"[^\"\n]{0,200}\")?\)|\{#[^{}\s]{1,200}\}"
    r"|</?[a-zA-Z][^<>\n]{0,200}>|&#?[a-zA-Z0-9]{1,31};|([^\W_]+)",
    re.MULTILINE,
)


def find_quote(data: bytes, quote: str) -> str | None:
    """Return the source of the words that a quote repeats; None if a text has no such words in this order.

    The quote is source, or rendered text, which has no marks of emphasis, code, links and tables.
    """
    quote = quote.strip()
    if _contains_quote(data, quote):
        return quote
    text = data.decode("utf-8", "replace")
    first_span = next(find_word_spans(text, quote), None)
    return None if first_span is None else text[first_span[0] : first_span[1]]


def find_word_spans(text: str, quote: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of the words that a quote repeats, wherever a text has them in order."""
    words = [match for match in _WORD.finditer(text) if match[1]]
    quoted_words = [match[1] for match in _WORD.finditer(quote) if match[1]]
    if not quoted_words:
        return
    joined_words = " ".join(["", *(match[1] for match in words), ""])
    joined_quote = " ".join(["", *quoted_words, ""])
    position = joined_words.find(joined_quote)
    while position >= 0:
        first = joined_words.count(" ", 0, position)
        yield words[first].start(), words[first + len(quoted_words) - 1].end()
        position = joined_words.find(joined_quote, position + 1)


def _contains_quote(data: bytes, quote: str) -> bool:
    """Return True if a text contains a quote, regardless of line breaks."""
    return " ".join(quote.split()) in " ".join(data.decode("utf-8", "replace").split())


MAX_THREADS_PER_PAGE = 100
"""The maximum number of threads of one page, because two versions of a document may be read for each."""

MAX_TRACKED_TEXTS = 50
"""The maximum number of texts that are tracked for a page of one document or section.

Texts that are at another location now, and so are not on the page, are counted too.
"""

MAX_CHECKED_THREADS = 1_000
"""The maximum number of threads that are checked for a page of one document or section."""

LocationFilter = tuple[str | None, str | None]
"""A path and a section's key. A missing key means the whole document; a missing path means all documents."""


class LocatedThread(NamedTuple):
    """A thread, and the current location of its text.

    `location` is None if the thread has no text, or if its location is unknown. Replies have no locations of
    their own. `position` is the index of the thread among all threads.
    """

    thread: Thread
    location: CommentLocation | None
    position: int

    def is_at(self, path: str | None, slug: str | None) -> bool:
        """Return True if the thread began at or below a location, or if its text is now at or below it.

        Without a path, every thread matches.
        """
        locations = [
            (target.path, target.slug) for target in (self.thread.comment.target, self.location) if target
        ]
        return path is None or any(_is_at(location, (path, slug)) for location in locations)


class CommentPage(NamedTuple):
    """A page of threads, in the order in which they began.

    `total` counts the threads at all locations. `next` is the `after` of the next page, or None at the end.
    """

    threads: tuple[LocatedThread, ...]
    total: int
    next: int | None


def find_comment_location_safely(comment: Comment, tip: Snapshot) -> CommentLocation | None:
    """Return the location of a comment; return None if its document or the settings are unreadable."""
    try:
        return find_comment_location(comment, tip)
    except WorkspaceError:
        return None


class TargetFilter:
    """A filter for comments whose text may be at a location of a commit. It compares only blob ids."""

    def __init__(self, tip: Snapshot | None, location: LocationFilter) -> None:
        self._tip, self._location = tip, location
        self._tracker = SectionTracker(tip.git, lambda path: True, 0) if tip is not None else None
        self._has_changed_by_path: dict[tuple[str, str], bool] = {}

    def may_match(self, comment: Comment) -> bool:
        """Return False only for a comment on another location whose text cannot have moved to this location.

        A text moves only if its document has changed, and only to a document that has changed.
        """
        target, (path, slug) = comment.target, self._location
        if path is None:
            return True
        if target is None:
            return False
        if _is_at((target.path, target.slug), (path, slug)):
            return True
        if self._tip is None:
            return False
        if comment.commit is None or not self._tip.git.has_object(
            comment.commit
        ):  # the text can only be found by its address
            return target.path == path
        return self._has_changed(comment.commit, target.path) and self._has_changed(comment.commit, path)

    def _has_changed(self, commit: str, path: str) -> bool:
        """Return True if the blob at a path differs from an earlier commit, or may differ."""
        key = commit, path
        if key not in self._has_changed_by_path:
            self._has_changed_by_path[key] = self._compare_blobs(commit, path)
        return self._has_changed_by_path[key]

    def _compare_blobs(self, commit: str, path: str) -> bool:
        assert self._tip is not None
        assert self._tracker is not None
        if self._tip.tree is None:
            return True
        try:
            old = self._tracker.blob(self._tip.git.commit(commit).tree, path)
            return old != self._tracker.blob(self._tip.tree, path)
        except DamagedRepository:
            return True


def _is_at(address: tuple[str, str | None], location: LocationFilter) -> bool:
    """Return True if an address is at a location, or below it."""
    (file, section_key), (path, slug) = address, location
    section_key = section_key or ""
    return file == path and (slug is None or section_key == slug or section_key.startswith(f"{slug}/"))
