"""Prevention of overwriting text that the caller has not read.

A batch may remove text that was in the commit that the caller names (`base_commit`), that this client read or
wrote, or that the batch itself added. Additions, renames, moves and ticks keep the text, and need no check.

Texts are kept as digests: of a section's own text without its heading and the blank lines around it, and of a
preamble with the text before the title. So a text stays known when its section is renamed or moved.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workspace.diff.sections import Evidence, SectionMatch
from workspace.document.section_text import SectionText, compute_digest, read_section_text
from workspace.errors import ConcurrentChange, InvalidConfig, LimitExceeded, WorkspaceError
from workspace.git.repository import DamagedRepository
from workspace.lru_cache import LRUCache
from workspace.snapshot.snapshot import DocumentNotFound

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.edits import Operation
    from workspace.git.reader import GitReader
    from workspace.snapshot.overlay import Overlay
    from workspace.snapshot.snapshot import Snapshot

_REMEMBERED = 50_000


class SeenTexts:
    """The texts that one client has read in full, or wrote. The least recently used digests go first.

    Safe in several threads.
    """

    def __init__(self, size: int = _REMEMBERED) -> None:
        self._seen: LRUCache[bytes, bool] = LRUCache(size)

    def add(self, digests: Iterable[bytes | None]) -> None:
        """Remember texts; None stands for an empty one."""
        for seen in digests:
            if seen is not None:
                self._seen.put(seen, True)

    def __contains__(self, seen: bytes) -> bool:
        return self._seen.find(seen) is not None

    def __len__(self) -> int:
        return len(self._seen)


_IS_COMMIT = re.compile("[0-9a-f]{40}")


class UnknownCommit(WorkspaceError):
    """`base_commit` names no commit of this repository."""

    code = "UNKNOWN_COMMIT"


class ReadFirst(WorkspaceError):
    """The call would remove text that its client has not read: `current`, in the sections `slugs`."""

    code = "READ_FIRST"


def resolve_base_commit(git: GitReader, name: str) -> str:
    """Return the id of a commit named in full by a caller. Raises UnknownCommit."""
    id = name.strip().lower()
    try:
        if _IS_COMMIT.fullmatch(id):
            git.commit(id)
            return id
    except DamagedRepository:
        pass  # not there, or no commit
    raise UnknownCommit(
        "'base_commit' names no commit of this repository",
        fix="Give the 'commit' of an answer, all 40 characters, or leave base_commit out.",
        field="base_commit",
    )


@dataclass(frozen=True, slots=True)
class Precondition:
    """The knowledge of a caller: a commit that it read, the memory of its client, or neither.

    `first` is the tip at which the call came in, where another writer has moved it since.
    """

    base: Snapshot | None = None
    sight: SeenTexts | None = None
    first: Snapshot | None = None

    def past(self, tip: Snapshot) -> tuple[Snapshot, ...]:
        """Return the states that the call's addresses were meant for, apart from the tip itself."""
        known = {tip.commit}
        past: list[Snapshot] = []
        for snapshot in (self.base, self.first):
            if snapshot is not None and snapshot.commit not in known:
                known.add(snapshot.commit)
                past.append(snapshot)
        return tuple(past)


class OverwriteCheck:
    """The texts that one batch may remove; `owned` are the digests of those that it wrote itself.

    Without a proof, and where the workspace has `overwrite = "any"`, everything may go. Where it will not be
    asked what was written (`is_asked`), that is not looked at.
    """

    def __init__(self, proof: Precondition | None, tip: Snapshot, *, is_asked: bool = True) -> None:
        self.owned: set[bytes] = set()
        self._is_asked = is_asked
        self._proof = None if tip.config.overwrite == "any" else proof
        self._tip = tip
        self._unchanged: dict[str, frozenset[bytes] | None] = {}
        self._twins: SectionMatch | None = None
        self._digests: dict[str, tuple[Document, Counter[bytes]]] = {}

    def check(self, operation: Operation, before: Overlay, after: Overlay) -> None:
        """Record the changes of an operation. Raises ReadFirst or Conflict if it removes unread text."""
        if self._proof is None:
            return
        paths = after.revised(before)
        if not all(self._is_same(path) and not before.is_laid(path) for path in paths):
            self._check_taken(operation, before, after)
        if self._is_asked:
            self._enter(paths, before, after)

    def carry(self, revised: Sequence[tuple[Document, Document]]) -> None:
        """Record texts that were moved, or whose links were rewritten: they stay known.

        `revised` are documents before and after, with the same sections.
        """
        if self._proof is None or not self._is_asked:
            return
        for old, new in revised:
            for section, twin in zip(old.sections, new.sections, strict=True):
                words = compute_digest(new, twin)
                if words is not None and words not in self.owned and self._is_proven(old, section):
                    self.owned.add(words)

    def _is_same(self, path: str) -> bool:
        """Return True if a file is unchanged since the commit that the caller names."""
        base = self._proof.base if self._proof else None
        known, entry = (base.entry(path), self._tip.entry(path)) if base else (None, None)
        return known is not None and entry is not None and known.id == entry.id

    def _check_taken(self, operation: Operation, before: Overlay, after: Overlay) -> None:
        try:
            taken = operation.taken(before)
        except LimitExceeded as error:
            raise ReadFirst(
                f"{error.message}: it cannot be shown, and would be overwritten unread",
                fix="To do that nevertheless, send the same call with base_commit set to 'commit'.",
            ) from error
        for document, sections in taken:
            unseen = [item for item in sections if not self._is_proven(document, item)]
            if unseen:
                raise self._refusal(document, unseen, sections[0], after)

    def _is_proven(self, document: Document, section: Section) -> bool:
        words = compute_digest(document, section)
        if words is None or words in self.owned or self._proof is None:
            return True
        sight = self._proof.sight
        if sight is not None and words in sight:
            return True
        unchanged = self._unchanged_words(document.path)
        if unchanged is not None:
            return words in unchanged
        known = self._at_base(document, section)
        return known is not None and compute_digest(*known) == words

    def _unchanged_words(self, path: str) -> frozenset[bytes] | None:
        """Return the texts of a file that is unchanged for the caller; None for another file."""
        if path not in self._unchanged:
            known = self._tip.document(path) if self._is_same(path) else None
            self._unchanged[path] = frozenset(self._words(path, known)) if known else None
        return self._unchanged[path]

    def _at_base(self, document: Document, section: Section) -> tuple[Document, Section] | None:
        """Return the section in the commit that the caller names, and its document."""
        base = self._proof.base if self._proof else None
        if base is None:
            return None
        if self._twins is None or self._twins.new is not document:
            try:
                self._twins = SectionMatch(base.document(document.path), document, Evidence.NAME)
            except (DocumentNotFound, LimitExceeded, InvalidConfig):
                return None
        origin = self._twins.origin(section)
        return None if origin is None else (self._twins.old, origin)

    def _refusal(
        self, document: Document, unseen: Sequence[Section], target: Section, after: Overlay
    ) -> WorkspaceError:
        current = tuple(read_section_text(document, item) for item in unseen)
        slugs = [item.key for item in unseen]
        what = f"'{slugs[0]}'" if len(slugs) == 1 else f"{len(slugs)} sections"
        if self._proof is not None and self._proof.base is not None:
            bases = [self._at_base(document, item) for item in unseen]
            return ConcurrentChange(
                f"{what} of {document.path} changed since base_commit, and this call would overwrite that",
                fix="Put 'theirs' (as it is now) and 'ours' together, and send the call again with "
                "base_commit set to 'commit'.",
                file=document.path,
                slugs=slugs,
                base=tuple(read_section_text(*known) for known in bases if known),
                theirs=current,
                ours=_find_written_text(after, document.path, target, whole=len(slugs) > 1),
            )
        remembered = self._proof is not None and self._proof.sight is not None
        return ReadFirst(
            f"{what} of {document.path} would be overwritten, and this client has not read that text",
            fix="Read 'current', then send the same call again"
            + ("." if remembered else " with base_commit set to 'commit'."),
            file=document.path,
            slugs=slugs,
            current=current,
            is_remembered=remembered,
        )

    def _enter(self, paths: Sequence[str], before: Overlay, after: Overlay) -> None:
        """Record an operation's text as the caller's own if it removed only known text."""
        lost: Counter[bytes] = Counter()
        gained: Counter[bytes] = Counter()
        found: list[Document] = []
        for path in paths:
            try:
                old = before.find(path)
            except LimitExceeded:
                continue  # such a document is only removed as a whole
            had, has = self._words(path, old), self._words(path, after.find(path))
            lost += had - has
            gained += has - had
            if old is not None:
                found.append(old)
        lost, gained = lost - gained, gained - lost
        known = not lost or all(
            self._is_proven(document, item)
            for document in found
            for item in document.sections
            if compute_digest(document, item) in lost
        )
        if known:
            self.owned.update(gained)

    def _words(self, path: str, document: Document | None) -> Counter[bytes]:
        """Return the digests of a document's texts; the result of an operation is cached for the next one."""
        if document is None:
            return Counter()
        held = self._digests.get(path)
        if held is None or held[0] is not document:
            found = (compute_digest(document, item) for item in document.sections)
            held = (document, Counter(words for words in found if words is not None))
            self._digests[path] = held
        return held[1]


def _find_written_text(after: Overlay, path: str, target: Section, *, whole: bool) -> tuple[SectionText, ...]:
    """Return the section that an operation names, as it would have left it; empty if it is removed."""
    document = after.find(path)
    section = document.section_by_key(target.key) if document else None
    if document is None or section is None:
        return ()
    below = document.descendants(section) if whole else ()
    return tuple(read_section_text(document, item) for item in (section, *below))
