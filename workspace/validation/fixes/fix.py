"""The fixes of one document, applied together and checked against the old document.

Words, levels, titles and line numbers do not change. A result with another structure is discarded, and the
fix is reported as skipped. Only the enabled rules are applied. Documents can be fixed in another process, and
each is checked against the limits.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from workspace.config.tables import Dialect
from workspace.document.document import Document
from workspace.errors import LimitExceeded
from workspace.links.offset_map import OffsetMap, PreservedSpan
from workspace.markdown.attribute_lists import AnchorForm
from workspace.markdown.outline import may_have_nested_headings
from workspace.markdown.slugs import UniqueNames
from workspace.snapshot.snapshot import NotADocument
from workspace.validation.corpus import Corpus
from workspace.validation.files import UnreadableFile
from workspace.validation.fixes import missing_anchor
from workspace.validation.fixes.broken_link import HistoryNeeded, MoveLookup, PathVariants, find_link_fixes
from workspace.validation.fixes.change import Fix, FixedDocument, FixResult, SkippedFix
from workspace.validation.fixes.missing_anchor import RULE as MISSING_ANCHOR
from workspace.validation.fixes.missing_anchor import add_missing_anchors, may_be_named_elsewhere
from workspace.validation.rule import Subject
from workspace.validation.rules import RULES
from workspace.validation.run import MAX_SPOTS, check_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from workspace.document.document import Document
    from workspace.validation.files import FileSet
    from workspace.validation.fixes.change import FixedDocument
    from workspace.validation.rule import Finding
    from workspace.validation.run import Selection

_ROUNDS = 100
"""The most passes over a document: fixes may overlap, and a rule reports a limited number of findings."""


def fix_document(document: Document, fixers: FixFinder) -> FixedDocument:
    """Return the document with all its fixes.

    Fixes that would change its structure are skipped and reported.
    """
    done: list[Fix] = []
    left: tuple[SkippedFix, ...] = ()
    now = document
    for _ in range(_ROUNDS):
        found = list(fixers.find(now))
        one = apply_fixes(now, found)
        left = tuple(dict.fromkeys((*left, *one.left)))
        done += one.fixes
        now = one.document
        if not one.fixes or (
            len(one.fixes) == sum(isinstance(item, Fix) for item in found)
            and not fixers.may_find_more(one.fixes)
        ):
            break
    return FixedDocument(document, now, tuple(done), left)


def apply_fixes(document: Document, found: Iterable[Fix | SkippedFix]) -> FixedDocument:
    """Return the document with the non-overlapping fixes; if they are harmful together, those of one rule."""
    items = tuple(found)
    left = tuple(one for one in items if isinstance(one, SkippedFix))
    fixes = _select_separate([one for one in items if isinstance(one, Fix)])
    if not fixes:
        return FixedDocument(document, document, (), left)
    reason = ""
    for chosen in _list_choices(fixes):
        try:
            changed = Document.parse(_apply(document.data, chosen), document.path)
        except LimitExceeded as error:
            reason = error.message
            continue
        if _is_equivalent(document, changed, named=any(fix.rule == missing_anchor.RULE for fix in chosen)):
            return FixedDocument(document, changed, chosen, left)
        reason = "a fix would change how the headings or the front matter are parsed"
    return FixedDocument(
        document, document, (), (*left, SkippedFix(fixes[0].rule, document.path, fixes[0].line, reason))
    )


def _list_choices(fixes: tuple[Fix, ...]) -> Iterator[tuple[Fix, ...]]:
    """Yield all fixes together, then those of each rule."""
    yield fixes
    rules = dict.fromkeys(fix.rule for fix in fixes)
    if len(rules) > 1:
        yield from (tuple(fix for fix in fixes if fix.rule == rule) for rule in rules)


def _select_separate(fixes: Sequence[Fix]) -> tuple[Fix, ...]:
    """Return the fixes in order, without those that overlap the one before them."""
    selected: list[Fix] = []
    position = 0
    for fix in sorted(fixes, key=lambda one: (one.splice.start, one.splice.end)):
        if fix.splice.start >= position:
            selected.append(fix)
            position = fix.splice.end
    return tuple(selected)


def _apply(data: bytes, fixes: Iterable[Fix]) -> bytes:
    parts: list[bytes] = []
    position = 0
    for fix in fixes:
        parts += (data[position : fix.splice.start], fix.splice.replacement)
        position = fix.splice.end
    parts.append(data[position:])
    return b"".join(parts)


def _is_equivalent(old: Document, new: Document, *, named: bool) -> bool:
    """Return True if two versions have the same lines, sections, addresses and front matter.

    Where sections are `named`, those that shared an address have one each afterwards.
    """
    if (
        len(old.lines) != len(new.lines)
        or len(old.sections) != len(new.sections)
        or old.title != new.title
        or old.front_matter_lines != new.front_matter_lines
        or old.front_matter != new.front_matter
    ):
        return False
    return all(
        (was.level, was.parent, was.line, was.title) == (now.level, now.parent, now.line, now.title)
        and (was.address == now.address or (named and was.anchor is None and was.address != was.key))
        for was, now in zip(old.sections, new.sections, strict=True)
    )


LINKS = frozenset({"broken-link", "broken-fragment", "broken-image"})
_SWITCH = re.compile(rb"<!--\s*docyard:")

FIXABLE_RULES = frozenset(
    {MISSING_ANCHOR, "derived-anchor", "malformed-task", "trailing-space", "invisible-character", *LINKS}
)
"""The rules with findings that are safe to fix."""


@dataclass(frozen=True, kw_only=True)
class FixFinder:
    """A finder of fixes for the rules that `selection` enables, among these files."""

    files: FileSet
    selection: Selection
    moves: MoveLookup

    @cached_property
    def corpus(self) -> Corpus:
        """The corpus of the files."""
        return Corpus(self.files)

    @cached_property
    def variants(self) -> PathVariants:
        """The paths of the corpus, by their case-folded form."""
        return PathVariants(self.corpus)

    def __reduce__(self) -> tuple[object, ...]:
        """Return the arguments for another process, without the cached documents."""
        return _list_fixers, (self.files, self.selection, self.moves)

    def find(self, document: Document) -> Iterator[Fix | SkippedFix]:
        """Yield every fix of a document, and the findings to skip."""
        severities = self.selection.severities(document.path)
        held = FIXABLE_RULES.intersection(severities)
        if MISSING_ANCHOR in held and not _SWITCH.search(document.data):
            # Only a comment exempts a heading, so the rule need not run.
            yield from add_missing_anchors(document, self.files.config.anchors)
            held -= {MISSING_ANCHOR}
        rules = [rule for rule in RULES if rule.name in held]
        if not rules:
            return
        subject = Subject(document, self.files.config, self.corpus.types, self.corpus)
        findings = check_document(subject, rules, severities)
        for finding in findings:
            yield from (Fix(finding.rule, finding.line, splice) for splice in finding.fix_splices)
        if unnamed := _lines(findings, {MISSING_ANCHOR}):
            found = add_missing_anchors(document, self.files.config.anchors)
            yield from (one for one in found if one.line in unnamed)
        if broken := _lines(findings, LINKS):
            yield from (
                one for one in find_link_fixes(subject, self.moves, self.variants) if one.line in broken
            )

    def may_find_more(self, fixes: tuple[Fix, ...]) -> bool:
        """Return True if a rule reported its maximum number of findings."""
        return max(Counter(fix.rule for fix in fixes).values(), default=0) >= MAX_SPOTS


def _list_fixers(files: FileSet, selection: Selection, moves: MoveLookup) -> FixFinder:
    return FixFinder(files=files, selection=selection, moves=moves)


def _lines(findings: list[Finding], rules: frozenset[str] | set[str]) -> set[int]:
    return {finding.line for finding in findings if finding.rule in rules}


def map_offsets(one: FixedDocument, dialect: Dialect) -> OffsetMap | None:
    """Return the offset map of a fixed document; None if every name has the same target as before."""
    before, after = one.before, one.document
    if not _may_rename(before, after, dialect):
        return None
    renamed = {
        (before.path, was.heading_start): (after.path, now.heading_start)
        for was, now in zip(before.sections, after.sections, strict=True)
        if was.has_heading
    }
    return OffsetMap(tuple(_pieces(before, after)), renamed, {before.path: after.path})


def combine_offset_maps(several: Iterable[OffsetMap | None]) -> OffsetMap | None:
    """Return the offset map of several documents; None if all are unchanged."""
    found = [one for one in several if one is not None]
    if not found:
        return None
    pieces = tuple(piece for one in found for piece in one.pieces)
    renamed = {place: now for one in found for place, now in one.renamed.items()}
    return OffsetMap(pieces, renamed, {path: now for one in found for path, now in one.documents.items()})


def _may_rename(before: Document, after: Document, dialect: Dialect) -> bool:
    """Return True if a name may have another target now; uncertain cases count as True."""
    if any(was.aliases != now.aliases for was, now in zip(before.sections, after.sections, strict=True)):
        return True
    given = {
        now.anchor: now.position
        for was, now in zip(before.sections, after.sections, strict=True)
        if was.anchor is None and now.anchor is not None
    }
    if not given:
        return False
    if (
        dialect is not Dialect.GITHUB
        or before.form not in (None, AnchorForm.HTML)
        or may_have_nested_headings(before.data)
        or may_be_named_elsewhere(before.data, set(given))
    ):
        return True
    numbered = UniqueNames("-", 1)
    slugs = {numbered.make_unique(item.slug): item.position for item in before.sections if item.has_heading}
    return any(slugs.get(name, position) != position for name, position in given.items())


def _pieces(before: Document, after: Document) -> Iterator[PreservedSpan]:
    """Yield the bytes that two versions of the same lines have in common, at the ends of each line."""
    old, new = before.lines, after.lines
    start = (old.offset(0), new.offset(0))
    for line in range(len(old)):
        first, second = old.offset(line), new.offset(line)
        one, other = before.data[first : old.offset(line + 1)], after.data[second : new.offset(line + 1)]
        if one == other:
            continue
        head = _common(one, other)
        tail = _common(one[head:][::-1], other[head:][::-1])
        if start[0] < first + head:
            yield PreservedSpan(before.path, start[0], first + head, after.path, start[1])
        start = first + len(one) - tail, second + len(other) - tail
    if start[0] < len(before.data):
        yield PreservedSpan(before.path, start[0], len(before.data), after.path, start[1])


def _common(one: bytes, other: bytes) -> int:
    """Return the length of the common prefix of two texts."""
    size = min(len(one), len(other))
    return next((place for place in range(size) if one[place] != other[place]), size)


UNREADABLE = "unreadable-document"
"""The rule that reports documents that cannot be read, and so cannot be fixed."""


def fix_documents(fixers: FixFinder, paths: Iterable[str]) -> list[FixResult]:
    """Return the results for the documents that were changed, or in which a fix was skipped.

    Raises DamagedRepository.
    """
    done = (_fix_one(fixers, path) for path in paths)
    return [one for one in done if one is not None]


def _fix_one(fixers: FixFinder, path: str) -> FixResult | None:
    config = fixers.files.config
    try:
        one = fix_document(fixers.corpus.read(path), fixers)
    except NotADocument:
        return None
    except HistoryNeeded:
        return FixResult(path, is_open=True)
    except (LimitExceeded, UnreadableFile) as error:
        return FixResult(path, left=(SkippedFix(UNREADABLE, path, 0, error.message),))
    if not one.fixes:
        return FixResult(path, left=one.left) if one.left else None
    try:
        config.limits.check_written(one.document, one.before)
    except LimitExceeded as error:
        return FixResult(path, left=(*one.left, SkippedFix(one.fixes[0].rule, path, 0, error.message)))
    return FixResult(path, one.change, one.left, map_offsets(one, config.links.dialect))
