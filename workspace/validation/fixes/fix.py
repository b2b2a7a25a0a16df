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

from workspace.config.names import Dialect
from workspace.document.document import Document
from workspace.errors import LimitExceeded
from workspace.links.offset_map import OffsetMap, PreservedSpan
from workspace.markdown.attribute_lists import AnchorForm
from workspace.markdown.outline import may_have_nested_headings
from workspace.markdown.slugs import UniqueNames
from workspace.snapshot.snapshot import LfsTextMissing
from workspace.validation.file_tree import FileSetTree
from workspace.validation.files import UnreadableFile
from workspace.validation.fixes import missing_anchor
from workspace.validation.fixes.broken_link import HistoryNeeded, MoveLookup, PathVariants, find_link_fixes
from workspace.validation.fixes.change import Fix, FixedDocument, FixRemark, FixResult
from workspace.validation.fixes.missing_anchor import RULE as MISSING_ANCHOR
from workspace.validation.fixes.missing_anchor import add_missing_anchors, may_be_named_elsewhere
from workspace.validation.rule import RuleContext
from workspace.validation.rules import RULES
from workspace.validation.run import MAX_RULE_FINDINGS, check_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from workspace.document.document import Document
    from workspace.validation.files import FileSet
    from workspace.validation.fixes.change import FixedDocument
    from workspace.validation.rule import Finding
    from workspace.validation.run import RuleSelection

_MAX_PASSES = 100
"""The maximum number of passes over a document, because fixes may overlap and rules limit their findings."""


def fix_document(document: Document, finder: FixFinder) -> FixedDocument:
    """Return the document with all its fixes.

    Fixes that would change its structure are skipped and reported.
    """
    applied_fixes: list[Fix] = []
    fix_remarks: tuple[FixRemark, ...] = ()
    current_document = document
    for _ in range(_MAX_PASSES):
        candidates = list(finder.find_fixes(current_document))
        pass_result = apply_fixes(current_document, candidates)
        fix_remarks = tuple(dict.fromkeys((*fix_remarks, *pass_result.fix_remarks)))
        applied_fixes += pass_result.fixes
        current_document = pass_result.document
        if not pass_result.fixes or (
            len(pass_result.fixes) == sum(isinstance(item, Fix) for item in candidates)
            and not finder.may_find_more(pass_result.fixes)
        ):
            break
    return FixedDocument(document, current_document, tuple(applied_fixes), fix_remarks)


def apply_fixes(document: Document, candidates: Iterable[Fix | FixRemark]) -> FixedDocument:
    """Return the document with its non-overlapping fixes.

    If all fixes together would change its structure, only the fixes of one rule are applied, or none.
    """
    all_candidates = tuple(candidates)
    fix_remarks = tuple(item for item in all_candidates if isinstance(item, FixRemark))
    fixes = _select_non_overlapping([item for item in all_candidates if isinstance(item, Fix)])
    if not fixes:
        return FixedDocument(document, document, (), fix_remarks)
    reason = ""
    for chosen_fixes in _list_choices(fixes):
        try:
            new_document = Document.parse(_apply_splices(document.data, chosen_fixes), document.path)
        except LimitExceeded as error:
            reason = error.message
            continue
        if _is_equivalent(
            document,
            new_document,
            may_change_shared_addresses=any(fix.rule == missing_anchor.RULE for fix in chosen_fixes),
        ):
            return FixedDocument(document, new_document, chosen_fixes, fix_remarks)
        reason = "a fix would change how the headings or the front matter are parsed"
    return FixedDocument(
        document,
        document,
        (),
        (*fix_remarks, FixRemark(fixes[0].rule, document.path, fixes[0].line, reason)),
    )


def _list_choices(fixes: tuple[Fix, ...]) -> Iterator[tuple[Fix, ...]]:
    """Yield all fixes together, then the fixes of each rule."""
    yield fixes
    rules = dict.fromkeys(fix.rule for fix in fixes)
    if len(rules) > 1:
        yield from (tuple(fix for fix in fixes if fix.rule == rule) for rule in rules)


def _select_non_overlapping(fixes: Sequence[Fix]) -> tuple[Fix, ...]:
    """Return the fixes in order, without fixes that overlap an earlier selected one."""
    selected: list[Fix] = []
    position = 0
    for fix in sorted(fixes, key=lambda candidate: (candidate.splice.start, candidate.splice.end)):
        if fix.splice.start >= position:
            selected.append(fix)
            position = fix.splice.end
    return tuple(selected)


def _apply_splices(data: bytes, fixes: Iterable[Fix]) -> bytes:
    parts: list[bytes] = []
    position = 0
    for fix in fixes:
        parts += (data[position : fix.splice.start], fix.splice.replacement)
        position = fix.splice.end
    parts.append(data[position:])
    return b"".join(parts)


def _is_equivalent(old: Document, new: Document, *, may_change_shared_addresses: bool) -> bool:
    """Return True if two versions have the same lines, sections, addresses and front matter.

    If `may_change_shared_addresses` is True, sections that shared an address may have different addresses
    afterwards.
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
        (before.level, before.parent, before.line, before.title)
        == (after.level, after.parent, after.line, after.title)
        and (
            before.address == after.address
            or (may_change_shared_addresses and before.anchor is None and before.address != before.key)
        )
        for before, after in zip(old.sections, new.sections, strict=True)
    )


LINK_RULES = frozenset({"broken-link", "broken-fragment", "broken-image"})
_SWITCH_COMMENT = re.compile(rb"<!--\s*docyard:")

FIXABLE_RULES = frozenset(
    {MISSING_ANCHOR, "derived-anchor", "malformed-task", "trailing-space", "invisible-character", *LINK_RULES}
)
"""The rules with findings that are safe to fix."""


@dataclass(frozen=True, kw_only=True)
class FixFinder:
    """A finder of fixes for the rules that `selection` enables, among these files."""

    files: FileSet
    selection: RuleSelection
    moves: MoveLookup

    @cached_property
    def file_tree(self) -> FileSetTree:
        """The files as a tree, in which links are resolved."""
        return FileSetTree(self.files)

    @cached_property
    def variants(self) -> PathVariants:
        """The lookup of paths that differ only in case or Unicode form."""
        return PathVariants(self.file_tree)

    def __reduce__(self) -> tuple[object, ...]:
        """Return the arguments for another process, without the cached documents."""
        return _make_fix_finder, (self.files, self.selection, self.moves)

    def find_fixes(self, document: Document) -> Iterator[Fix | FixRemark]:
        """Yield every fix of a document, and the findings without a fix."""
        severities = self.selection.get_severities(document.path)
        enabled_rules = FIXABLE_RULES.intersection(severities)
        if MISSING_ANCHOR in enabled_rules and not _SWITCH_COMMENT.search(document.data):
            # Only a comment exempts a heading, so the rule need not run.
            yield from add_missing_anchors(document, self.files.config.anchors)
            enabled_rules -= {MISSING_ANCHOR}
        rules = [rule for rule in RULES if rule.name in enabled_rules]
        if not rules:
            return
        context = RuleContext(document, self.files.config, self.file_tree.types, self.file_tree)
        findings = check_document(context, rules, severities)
        for finding in findings:
            yield from (Fix(finding.rule, finding.line, splice) for splice in finding.fix_splices)
        if unnamed_lines := _select_lines(findings, {MISSING_ANCHOR}):
            anchor_fixes = add_missing_anchors(document, self.files.config.anchors)
            yield from (fix for fix in anchor_fixes if fix.line in unnamed_lines)
        if broken_lines := _select_lines(findings, LINK_RULES):
            yield from (
                fix for fix in find_link_fixes(context, self.moves, self.variants) if fix.line in broken_lines
            )

    def may_find_more(self, fixes: tuple[Fix, ...]) -> bool:
        """Return True if a rule has as many fixes as the maximum number of its findings."""
        return max(Counter(fix.rule for fix in fixes).values(), default=0) >= MAX_RULE_FINDINGS


def _make_fix_finder(files: FileSet, selection: RuleSelection, moves: MoveLookup) -> FixFinder:
    return FixFinder(files=files, selection=selection, moves=moves)


def _select_lines(findings: list[Finding], rules: frozenset[str] | set[str]) -> set[int]:
    return {finding.line for finding in findings if finding.rule in rules}


def make_offset_map(fixed_document: FixedDocument, dialect: Dialect) -> OffsetMap | None:
    """Return the offset map of a fixed document; return None if no name has another target."""
    old_document, new_document = fixed_document.old_document, fixed_document.document
    if not _may_change_name_targets(old_document, new_document, dialect):
        return None
    new_heading_positions = {
        (old_document.path, old.heading_start): (new_document.path, new.heading_start)
        for old, new in zip(old_document.sections, new_document.sections, strict=True)
        if old.has_heading
    }
    return OffsetMap(
        tuple(_list_preserved_spans(old_document, new_document)),
        new_heading_positions,
        {old_document.path: new_document.path},
    )


def combine_offset_maps(candidates: Iterable[OffsetMap | None]) -> OffsetMap | None:
    """Return the offset map of several documents; return None if no document has one."""
    offset_maps = [offset_map for offset_map in candidates if offset_map is not None]
    if not offset_maps:
        return None
    preserved_spans = tuple(span for offset_map in offset_maps for span in offset_map.preserved_spans)
    new_heading_positions = {
        old_heading: new_heading
        for offset_map in offset_maps
        for old_heading, new_heading in offset_map.new_heading_positions.items()
    }
    return OffsetMap(
        preserved_spans,
        new_heading_positions,
        {old: new for offset_map in offset_maps for old, new in offset_map.path_map.items()},
    )


def _may_change_name_targets(old_document: Document, new_document: Document, dialect: Dialect) -> bool:
    """Return True if a name may have another target now; uncertain cases count as True."""
    if any(
        old.aliases != new.aliases
        for old, new in zip(old_document.sections, new_document.sections, strict=True)
    ):
        return True
    added_anchors = {
        new.anchor: new.position
        for old, new in zip(old_document.sections, new_document.sections, strict=True)
        if old.anchor is None and new.anchor is not None
    }
    if not added_anchors:
        return False
    if (
        dialect is not Dialect.GITHUB
        or old_document.anchor_form not in (None, AnchorForm.HTML)
        or may_have_nested_headings(old_document.data)
        or may_be_named_elsewhere(old_document.data, set(added_anchors))
    ):
        return True
    unique_names = UniqueNames("-", 1)
    slugs = {
        unique_names.make_unique(section.slug): section.position
        for section in old_document.sections
        if section.has_heading
    }
    return any(slugs.get(name, position) != position for name, position in added_anchors.items())


def _list_preserved_spans(old_document: Document, new_document: Document) -> Iterator[PreservedSpan]:
    """Yield the bytes that two versions of the same lines have in common.

    These are equal lines, and the common beginning and end of each changed line.
    """
    old_lines, new_lines = old_document.lines, new_document.lines
    start = (old_lines.offset(0), new_lines.offset(0))
    for line in range(len(old_lines)):
        old_start, new_start = old_lines.offset(line), new_lines.offset(line)
        old_line, new_line = (
            old_document.data[old_start : old_lines.offset(line + 1)],
            new_document.data[new_start : new_lines.offset(line + 1)],
        )
        if old_line == new_line:
            continue
        prefix_size = _count_common_prefix(old_line, new_line)
        suffix_size = _count_common_prefix(old_line[prefix_size:][::-1], new_line[prefix_size:][::-1])
        if start[0] < old_start + prefix_size:
            yield PreservedSpan(
                old_document.path, start[0], old_start + prefix_size, new_document.path, start[1]
            )
        start = old_start + len(old_line) - suffix_size, new_start + len(new_line) - suffix_size
    if start[0] < len(old_document.data):
        yield PreservedSpan(old_document.path, start[0], len(old_document.data), new_document.path, start[1])


def _count_common_prefix(left: bytes, right: bytes) -> int:
    """Return the number of bytes in the common prefix of two texts."""
    size = min(len(left), len(right))
    return next((index for index in range(size) if left[index] != right[index]), size)


FILE_PROBLEM_RULE = "unreadable-document"
"""The rule of remarks on documents that cannot be read or written, or that changed meanwhile."""


def fix_documents(finder: FixFinder, paths: Iterable[str]) -> list[FixResult]:
    """Return the results for the documents with fixes or remarks, or that need the history.

    Raises DamagedRepository.
    """
    results = (_fix_path(finder, path) for path in paths)
    return [result for result in results if result is not None]


def _fix_path(finder: FixFinder, path: str) -> FixResult | None:
    config = finder.files.config
    try:
        fixed_document = fix_document(finder.file_tree.read_document(path), finder)
    except LfsTextMissing:
        return None
    except HistoryNeeded:
        return FixResult(path, needs_history_search=True)
    except (LimitExceeded, UnreadableFile) as error:
        return FixResult(path, fix_remarks=(FixRemark(FILE_PROBLEM_RULE, path, 0, error.message),))
    if not fixed_document.fixes:
        return FixResult(path, fix_remarks=fixed_document.fix_remarks) if fixed_document.fix_remarks else None
    try:
        config.limits.check_written_document(fixed_document.document, fixed_document.old_document)
    except LimitExceeded as error:
        return FixResult(
            path,
            fix_remarks=(
                *fixed_document.fix_remarks,
                FixRemark(fixed_document.fixes[0].rule, path, 0, error.message),
            ),
        )
    return FixResult(
        path,
        fixed_document.change,
        fixed_document.fix_remarks,
        make_offset_map(fixed_document, config.links.dialect),
    )
