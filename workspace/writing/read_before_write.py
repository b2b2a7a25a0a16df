"""Prevention of overwriting text that the caller has not read.

A batch may remove text that was in `base_commit`, that this client has read or written, or that the batch
itself added. Additions, renames, moves and completed tasks remove no text, and need no check.

Texts are stored as digests of a section's own text, without its heading and the blank lines around it. The
digest of a preamble includes the text before the title. So a section that is renamed or moved keeps its
digest.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from workspace.diff.sections import Evidence, SectionMatch
from workspace.document.section_text import SectionText, compute_digest, read_section_text
from workspace.errors import ConcurrentChange, InvalidConfig, LimitExceeded, WorkspaceError
from workspace.git.ancestry import Graph
from workspace.git.repository import DamagedRepository
from workspace.lru_cache import LRUCache
from workspace.snapshot.snapshot import DocumentNotFound

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.edits.operation import Operation
    from workspace.git.reader import GitReader
    from workspace.snapshot.overlay import Overlay
    from workspace.snapshot.snapshot import Snapshot

_MAX_DIGESTS = 50_000
_MAX_SEARCHED_COMMITS = 200
_MAX_SEARCHED_VERSIONS = 20  # each version of the document is parsed


class SeenTexts:
    """The texts that one client has read in full, or written, as digests.

    The least recently used digests are evicted first. Thread-safe. `session_start` is the time of creation:
    a server creates one for each session over stdio.
    """

    def __init__(self, max_digests: int = _MAX_DIGESTS) -> None:
        self.session_start = datetime.now(UTC)
        self._digests: LRUCache[bytes, bool] = LRUCache(max_digests)

    def add(self, digests: Iterable[bytes | None]) -> None:
        """Add the digests of texts; None, the digest of an empty text, is ignored."""
        for digest in digests:
            if digest is not None:
                self._digests.put(digest, True)

    def __contains__(self, digest: bytes) -> bool:
        return self._digests.find(digest) is not None

    def __len__(self) -> int:
        return len(self._digests)


_COMMIT_PATTERN = re.compile("[0-9a-f]{40}")


class UnknownCommit(WorkspaceError):
    """An error: `base_commit` is not a commit of this repository."""

    code = "UNKNOWN_COMMIT"


class ReadFirst(WorkspaceError):
    """An error: the call would remove text that its client has not read.

    `current` is that text, by section, and `slugs` are the addresses of the sections. Neither is set for a
    document that is too large to read. `changed_in` is the commit that replaced the version that the client
    has read, if there is one.
    """

    code = "READ_FIRST"


def resolve_base_commit(git: GitReader, base_commit: str) -> str:
    """Return the `base_commit` of a call in its normal form, if it is the full id of a commit.

    Raises UnknownCommit.
    """
    id = base_commit.strip().lower()
    try:
        if _COMMIT_PATTERN.fullmatch(id):
            git.commit(id)
            return id
    except DamagedRepository:
        pass  # the object is missing, or is not a commit
    raise UnknownCommit(
        "'base_commit' is not a commit of this repository",
        fix="Set base_commit to the 'commit' of an earlier answer (40 characters), or leave base_commit out.",
        field="base_commit",
    )


@dataclass(frozen=True, slots=True)
class Precondition:
    """The condition for the removal of a text: it is in the commit `base`, or in the client's `seen_texts`.

    `first_snapshot` is the tip of the first plan, if another writer has moved the branch meanwhile.
    """

    base: Snapshot | None = None
    seen_texts: SeenTexts | None = None
    first_snapshot: Snapshot | None = None

    def list_earlier_snapshots(self, tip: Snapshot) -> tuple[Snapshot, ...]:
        """Return the snapshots, other than the tip, in which the call's addresses are resolved."""
        commits = {tip.commit}
        earlier_snapshots: list[Snapshot] = []
        for snapshot in (self.base, self.first_snapshot):
            if snapshot is not None and snapshot.commit not in commits:
                commits.add(snapshot.commit)
                earlier_snapshots.append(snapshot)
        return tuple(earlier_snapshots)


class OverwriteCheck:
    """The check of the texts that a batch removes.

    Without a precondition, or with `overwrite = "any"` in the workspace, the batch may remove every text.
    `written_digests` are the digests of texts that the batch writes. They are recorded only with a
    precondition and with `needs_digests`.
    """

    def __init__(
        self, precondition: Precondition | None, tip: Snapshot, *, needs_digests: bool = True
    ) -> None:
        self.written_digests: set[bytes] = set()
        self._needs_digests = needs_digests
        self._precondition = None if tip.config.overwrite == "any" else precondition
        self._tip = tip
        self._unchanged_digests: dict[str, frozenset[bytes] | None] = {}
        self._match: SectionMatch | None = None
        self._digest_counts: dict[str, tuple[Document, Counter[bytes]]] = {}

    def check(self, operation: Operation, before: Overlay, after: Overlay) -> None:
        """Check the texts that an operation removed, and record the texts that it added.

        Raises ReadFirst or ConcurrentChange for removed text that the caller has not read.
        """
        if self._precondition is None:
            return
        paths = after.list_changed_paths(before)
        if not all(self._is_unchanged(path) and not before.has_changed(path) for path in paths):
            self._check_removed_texts(operation, before, after)
        if self._needs_digests:
            self._record_written_texts(paths, before, after)

    def record_revised_texts(self, document_pairs: Sequence[tuple[Document, Document]]) -> None:
        """Record the new digests of read texts that were moved, or whose links were updated.

        Each pair is a document before and after the change, with the same sections; only a new title may add
        a preamble.
        """
        if self._precondition is None or not self._needs_digests:
            return
        for old, new in document_pairs:
            # Sections are paired from the end, because a preamble is the first one.
            for section, new_section in zip(reversed(old.sections), reversed(new.sections), strict=False):
                digest = compute_digest(new, new_section)
                if digest is not None and digest not in self.written_digests and self._is_read(old, section):
                    self.written_digests.add(digest)

    def _is_unchanged(self, path: str) -> bool:
        """Return True if a file is unchanged since `base_commit`."""
        base = self._precondition.base if self._precondition else None
        old, new = (base.entry(path), self._tip.entry(path)) if base else (None, None)
        return old is not None and new is not None and old.id == new.id

    def _check_removed_texts(self, operation: Operation, before: Overlay, after: Overlay) -> None:
        try:
            removed_texts = operation.find_removed_texts(before)
        except LimitExceeded as error:
            raise ReadFirst(
                f"{error.message}: its text cannot be shown, and would be replaced or removed unread",
                fix="To overwrite it anyway, send the same call with base_commit set to 'commit'.",
            ) from error
        for document, sections in removed_texts:
            unread_sections = [item for item in sections if not self._is_read(document, item)]
            if unread_sections:
                raise self._make_error(document, unread_sections, sections[0], after)

    def _is_read(self, document: Document, section: Section) -> bool:
        """Return True if the caller has read the text of a section, or wrote it."""
        digest = compute_digest(document, section)
        if digest is None or digest in self.written_digests or self._precondition is None:
            return True
        seen_texts = self._precondition.seen_texts
        if seen_texts is not None and digest in seen_texts:
            return True
        unchanged_digests = self._read_unchanged_digests(document.path)
        if unchanged_digests is not None:
            return digest in unchanged_digests
        base = self._find_in_base(document, section)
        return base is not None and compute_digest(*base) == digest

    def _read_unchanged_digests(self, path: str) -> frozenset[bytes] | None:
        """Return the digests of the texts of a file that is unchanged since `base_commit`, else None."""
        if path not in self._unchanged_digests:
            document = self._tip.document(path) if self._is_unchanged(path) else None
            self._unchanged_digests[path] = (
                frozenset(self._count_digests(path, document)) if document else None
            )
        return self._unchanged_digests[path]

    def _find_in_base(self, document: Document, section: Section) -> tuple[Document, Section] | None:
        """Return the section in `base_commit` and its document, or None."""
        base = self._precondition.base if self._precondition else None
        if base is None:
            return None
        if self._match is None or self._match.new is not document:
            try:
                self._match = SectionMatch(base.document(document.path), document, Evidence.NAME)
            except (DocumentNotFound, LimitExceeded, InvalidConfig):
                return None
        origin = self._match.find_origin(section)
        return None if origin is None else (self._match.old, origin)

    def _make_error(
        self, document: Document, unread_sections: Sequence[Section], target: Section, after: Overlay
    ) -> WorkspaceError:
        current = tuple(read_section_text(document, item) for item in unread_sections)
        slugs = [item.key for item in unread_sections]
        sections = f"'{slugs[0]}'" if len(slugs) == 1 else f"{len(slugs)} sections"
        if self._precondition is not None and self._precondition.base is not None:
            base_sections = [self._find_in_base(document, item) for item in unread_sections]
            return ConcurrentChange(
                f"{sections} of {document.path} changed since base_commit, "
                "and the call would overwrite the change",
                fix="Combine 'theirs' (the current text) and 'ours', and send the call again with "
                "base_commit set to 'commit'.",
                file=document.path,
                slugs=slugs,
                base=tuple(read_section_text(*base) for base in base_sections if base),
                theirs=current,
                ours=_find_written_text(after, document.path, target, with_subsections=len(slugs) > 1),
            )
        is_remembered = self._precondition is not None and self._precondition.seen_texts is not None
        changed_in = next(filter(None, (self._find_change(document, item) for item in unread_sections)), None)
        reason, details = "this client has not read the text", dict[str, Any]()
        if changed_in is not None:
            reason = f"the text has changed since this client read it (commit {changed_in[:8]})"
            details["changed_in"] = changed_in
        return ReadFirst(
            f"{sections} of {document.path} would be replaced or removed, but {reason}",
            fix="Read 'current', then send the same call again"
            + ("." if is_remembered else " with base_commit set to 'commit'."),
            file=document.path,
            slugs=slugs,
            current=current,
            is_remembered=is_remembered,
            **details,
        )

    def _find_change(self, document: Document, section: Section) -> str | None:
        """Return the commit that replaced the newest version of a section that this client has read, or None.

        Only recent first-parent commits are searched.
        """
        seen_texts = self._precondition.seen_texts if self._precondition is not None else None
        if not seen_texts or self._tip.commit is None:
            return None
        nodes = Graph(self._tip.git).first_parents(self._tip.commit, max_commits=_MAX_SEARCHED_COMMITS)
        version_count = 0
        for newer, older in pairwise(nodes):
            new_entry, old_entry = (self._tip.at(node.id).entry(document.path) for node in (newer, older))
            if old_entry is None or version_count == _MAX_SEARCHED_VERSIONS:
                return None
            if new_entry is not None and new_entry.id == old_entry.id:
                continue
            version_count += 1
            try:
                old_document = self._tip.at(older.id).document(document.path)
            except WorkspaceError:  # this version was no document, or is too large
                return None
            old_section = old_document.section_by_key(section.key)
            digest = None if old_section is None else compute_digest(old_document, old_section)
            if digest is not None and digest in seen_texts:
                return newer.id
        return None

    def _record_written_texts(self, paths: Sequence[str], before: Overlay, after: Overlay) -> None:
        """Record the texts that an operation added, if it removed only text that the caller has read."""
        removed_counts: Counter[bytes] = Counter()
        added_counts: Counter[bytes] = Counter()
        documents: list[Document] = []
        for path in paths:
            try:
                old = before.find(path)
            except LimitExceeded:
                continue  # operations can only remove such a document completely
            old_digests = self._count_digests(path, old)
            new_digests = self._count_digests(path, after.find(path))
            removed_counts += old_digests - new_digests
            added_counts += new_digests - old_digests
            if old is not None:
                documents.append(old)
        removed_counts, added_counts = removed_counts - added_counts, added_counts - removed_counts
        if all(
            self._is_read(document, item)
            for document in (documents if removed_counts else ())
            for item in document.sections
            if compute_digest(document, item) in removed_counts
        ):
            self.written_digests.update(added_counts)

    def _count_digests(self, path: str, document: Document | None) -> Counter[bytes]:
        """Return the digests of a document's texts with their counts, cached for the next operation."""
        if document is None:
            return Counter()
        cached_counts = self._digest_counts.get(path)
        if cached_counts is None or cached_counts[0] is not document:
            digests = (compute_digest(document, item) for item in document.sections)
            cached_counts = (document, Counter(digest for digest in digests if digest is not None))
            self._digest_counts[path] = cached_counts
        return cached_counts[1]


def _find_written_text(
    after: Overlay, path: str, target: Section, *, with_subsections: bool
) -> tuple[SectionText, ...]:
    """Return the text of a section after an operation, or () if the section is removed."""
    document = after.find(path)
    section = document.section_by_key(target.key) if document else None
    if document is None or section is None:
        return ()
    subsections = document.descendants(section) if with_subsections else ()
    return tuple(read_section_text(document, item) for item in (section, *subsections))
