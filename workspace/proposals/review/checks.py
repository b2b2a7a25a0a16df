"""The checks of a merge: findings in changed and linking documents, before and after.

A check has a name and runs some rules of `validation`, before and after the merge. It reports findings that
the target does not have, and added comments that disable a rule. It checks the documents that the merge
changes, and those that link to removed files or sections.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from workspace.config.tables import ALL_CHECKS
from workspace.errors import LimitExceeded, WorkspaceError
from workspace.links.file_tree import OverlayFileTree
from workspace.links.fragments import find_names
from workspace.merge.file_tree import MergedFileTree
from workspace.snapshot.document_types import TYPE_FILES, read_document_types, read_type
from workspace.snapshot.snapshot import LfsTextMissing
from workspace.snapshot.type_names import MAX_TYPES, TYPES_FOLDER
from workspace.validation.rule import RuleContext, Severity
from workspace.validation.rules import (
    duplicate_anchor,
    malformed_front_matter,
    malformed_task,
    type_structure,
    unknown_type,
    unreadable_document,
)
from workspace.validation.rules.links import broken_fragment, broken_image, broken_link
from workspace.validation.run import RuleSelection, check_document, find_switches, make_file_finding

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from templates import DocumentType
    from workspace.config.config import WorkspaceConfig
    from workspace.document.document import Document
    from workspace.links.inbound_links import InboundLinkFinder
    from workspace.links.resolver import FileTree
    from workspace.merge.trees import Merge
    from workspace.snapshot.document_types import BrokenType
    from workspace.validation.rule import Finding, Rule


MAX_PROBLEMS = 50
"""The maximum number of problems of one check that are reported; further problems are only counted."""


class Problem(NamedTuple):
    """A finding that a merge would add.

    `rule` is a rule of `docyard validate`, `rule-switched-off` or `unchecked`. `address` is the document's
    path, or the address of a section in it; it is empty for `unchecked`. `line` counts from 1, in the
    document after the merge. `message` begins in lower case and describes the problem.
    """

    rule: str
    address: str
    line: int
    message: str


class CheckResult(NamedTuple):
    """The result of a check: the first problems, and in `omitted_count` the number of further problems."""

    name: str
    passed: bool
    problems: tuple[Problem, ...] = ()
    omitted_count: int = 0


def make_check_result(name: str, problems: list[Problem]) -> CheckResult:
    """Return the result of a check with these problems."""
    return CheckResult(
        name, not problems, tuple(problems[:MAX_PROBLEMS]), max(0, len(problems) - MAX_PROBLEMS)
    )


def make_unchecked_results(reason: str) -> tuple[CheckResult, ...]:
    """Return the results of all checks for a merge that could not be checked."""
    return tuple(CheckResult(name, False, (Problem("unchecked", "", 1, reason),)) for name in ALL_CHECKS)


def list_changed_document_paths(merge: Merge) -> list[str]:
    """Return the paths of the documents that a merge changes or adds, in order."""
    is_document = merge.ours.config.is_document
    files = ((path, merge.entry(path)) for path in merge.changes if is_document(path))
    return [path for path, entry in files if isinstance(entry, bytes) or (entry and entry.is_blob)]


def find_linking_documents(
    merge: Merge, earlier_state: CheckedState, later_state: CheckedState, inbound_links: InboundLinkFinder
) -> list[str]:
    """Return other documents that may link to a removed file, folder, or section."""
    removed_targets = list(_list_removed_targets(merge, earlier_state, later_state))
    if not removed_targets:
        return []
    linking_paths = inbound_links.find_linking_documents(merge.ours, removed_targets)
    return [path for path in linking_paths if path not in merge.changes]


def _list_removed_targets(
    merge: Merge, earlier_state: CheckedState, later_state: CheckedState
) -> Iterator[str]:
    folders: set[str] = set()
    for path in merge.changes:
        if not later_state.file_tree.exists(path) or later_state.file_tree.is_folder(path):
            yield path
            folders.update(_list_ancestor_folders(path))
            continue
        old, new = earlier_state.document(path), later_state.document(path)
        if old is not None and (new is None or _removes_names(earlier_state, path, later_state)):
            yield path
    yield from sorted(folder for folder in folders if not later_state.file_tree.exists(folder))


def _removes_names(earlier_state: CheckedState, path: str, later_state: CheckedState) -> bool:
    """Return True if the merge removes a link target within a document."""
    old, new = earlier_state.document(path), later_state.document(path)
    if old is None or new is None:
        return old is not None
    dialect = earlier_state.config.links.dialect
    if find_names(old, dialect).keys() - find_names(new, dialect).keys():
        return True
    # A wiki link may name a heading by its title.
    return earlier_state.config.links.wiki and bool(
        {section.title for section in old.sections} - {section.title for section in new.sections}
    )


def _list_ancestor_folders(path: str) -> Collection[str]:
    names = path.split("/")[:-1]
    return ["/".join(names[:depth]) for depth in range(1, len(names) + 1)]


_MAX_FINDINGS = 1_000  # the maximum number of findings of one rule in one document


class CheckedState(NamedTuple):
    """The files before or after the merge, and the types of documents; the settings are the target's."""

    file_tree: FileTree
    config: WorkspaceConfig
    types: Mapping[str, DocumentType | BrokenType]

    def document(self, path: str) -> Document | None:
        """Return the document at a path; return None if it is missing, too large or unreadable."""
        try:
            document = self.file_tree.document(path)
        except (LimitExceeded, LfsTextMissing):
            return None
        max_bytes = self.config.limits.document_bytes
        return None if document is None or len(document.data) > max_bytes else document

    def findings(self, path: str, rules: Sequence[Rule]) -> list[Finding]:
        """Return the findings for the document at a path, without notes.

        A missing document has no findings. An unreadable document is a finding.
        """
        document = self.document(path)
        if document is None:
            exists = self.config.is_document(path) and self.file_tree.exists(path)
            return [_make_unreadable_finding(path)] if exists and not self.file_tree.is_folder(path) else []
        context = RuleContext(document, self.config, self.types, self.file_tree)
        try:
            findings = check_document(
                context, rules, _choose_severities(self.config, path, rules), _MAX_FINDINGS
            )
        except LimitExceeded:
            return [_make_unreadable_finding(path)]
        return [finding for finding in findings if finding.is_problem]


def make_state_before(merge: Merge) -> CheckedState:
    """Return the state of the target. Raises InvalidConfig, DamagedRepository."""
    ours = merge.ours
    return CheckedState(OverlayFileTree(ours), ours.config, read_document_types(ours))


def make_state_after(merge: Merge, earlier_state: CheckedState) -> CheckedState:
    """Return the state after the merge. Raises DamagedRepository."""
    file_tree = MergedFileTree(merge)
    types = earlier_state.types
    if any(path.startswith(f"{TYPES_FOLDER}/") for path in merge.changes):
        types = {**types}
        for name in sorted(file_tree.list_names(TYPES_FOLDER))[:MAX_TYPES]:
            types[name] = _read_type(merge, name)
    return CheckedState(file_tree, earlier_state.config, types)


def _read_type(merge: Merge, name: str) -> DocumentType | BrokenType:
    contents = {part: merge.read(f"{TYPES_FOLDER}/{name}/{part}") for part in TYPE_FILES}
    present_files = {part: data for part, data in contents.items() if data is not None}
    return read_type(
        name, {part: len(data) for part, data in present_files.items()}, partial(_get_file, present_files)
    )


def _get_file(files: Mapping[str, bytes], name: str) -> bytes:
    return files[name]


def _choose_severities(config: WorkspaceConfig, path: str, rules: Sequence[Rule]) -> Mapping[str, Severity]:
    """Return the severities of rules by the settings of the target.

    An unknown document type is only a note of `docyard validate`. In a check it is a problem unless the
    settings set its severity, because the requirements of an unknown type cannot be checked.
    """
    severities = dict(
        RuleSelection(config.validation, frozenset(rule.name for rule in rules)).get_severities(path)
    )
    if unknown_type.RULE.name in severities and unknown_type.RULE.name not in config.validation.levels(path):
        severities[unknown_type.RULE.name] = Severity.WARNING
    return severities


def _make_unreadable_finding(path: str) -> Finding:
    message = "the document cannot be read, so it was not checked"
    return make_file_finding(path, unreadable_document.RULE.name, Severity.ERROR, message, None)


SWITCHED_OFF_RULE = "rule-switched-off"


def find_disabling_comments(document: Document, rules: Collection[str]) -> Iterator[Finding]:
    """Yield a finding for each comment of a document that disables all rules, or one of `rules`."""
    for offset, is_off, names in find_switches(document.data):
        if is_off and (not names or names & set(rules)):
            yield make_file_finding(
                document.path,
                SWITCHED_OFF_RULE,
                Severity.ERROR,
                "a comment switches rules off here, so they were not checked",
                None,
                document.lines.line_at(offset) + 1,
            )


RULES: dict[str, tuple[Rule, ...]] = {
    "links": (broken_link.RULE, broken_fragment.RULE, broken_image.RULE),
    "anchors": (duplicate_anchor.RULE,),
    "types": (unknown_type.RULE, type_structure.RULE, malformed_front_matter.RULE),
    "tasks": (malformed_task.RULE,),
}
"""The rules of `docyard validate` that each check runs."""

MAX_CHECKED_DOCUMENTS = 2_000
"""The maximum numbers of changed documents, and of other documents that may link to removed files."""

MAX_CHECKED_BYTES = 64_000_000
"""The maximum size of all changed documents together. A larger merge is not checked, and passes no check."""


def check_merge(merge: Merge, inbound_links: InboundLinkFinder) -> tuple[CheckResult, ...]:
    """Return the results of all checks of a merge: problems that its target does not have already.

    A problem is not new if the target has a problem of the same rule and message. It may be in the same
    document, or in another document that the merge changes, so a moved section adds no problem. The function
    never raises for the content of documents: an unreadable document fails the check.
    """
    try:
        return _run_checks(merge, inbound_links)
    except WorkspaceError as error:
        return make_unchecked_results(error.message)


def _run_checks(merge: Merge, inbound_links: InboundLinkFinder) -> tuple[CheckResult, ...]:
    earlier_state = make_state_before(merge)
    later_state = make_state_after(merge, earlier_state)
    changed_paths = list_changed_document_paths(merge)
    size = sum(_count_bytes(merge, path) for path in changed_paths)
    if len(changed_paths) > MAX_CHECKED_DOCUMENTS or size > MAX_CHECKED_BYTES:
        return make_unchecked_results(
            f"{len(changed_paths):,} documents of {size:,} bytes exceed the limit of "
            f"{MAX_CHECKED_DOCUMENTS:,} documents or {MAX_CHECKED_BYTES:,} bytes"
        )
    linking_paths = find_linking_documents(merge, earlier_state, later_state, inbound_links)
    if len(linking_paths) > MAX_CHECKED_DOCUMENTS:
        return make_unchecked_results(
            f"{len(linking_paths):,} documents that may link to removed files exceed the limit of "
            f"{MAX_CHECKED_DOCUMENTS:,}"
        )
    old_paths_by_new = {new: old for old, new in merge.moved_paths.items()}
    old_paths = [old_paths_by_new.get(path, path) for path in changed_paths]
    removed_paths = [
        path for path in merge.changes if merge.entry(path) is None and path not in merge.moved_paths
    ]
    results = []
    for name, rules in RULES.items():
        other_paths = linking_paths if name == "links" else []
        current_findings = _collect_findings(later_state, [*changed_paths, *other_paths], rules)
        new_findings = (
            []
            if not current_findings
            else _subtract_findings(
                current_findings,
                _collect_findings(earlier_state, [*old_paths, *removed_paths, *other_paths], rules),
            )
        )
        results.append(
            make_check_result(name, [_make_problem(later_state, finding) for finding in new_findings])
        )
    return tuple(results)


def _collect_findings(state: CheckedState, paths: Sequence[str], rules: Sequence[Rule]) -> list[Finding]:
    names = [rule.name for rule in rules]
    findings: list[Finding] = []
    for path in dict.fromkeys(paths):
        findings += state.findings(path, rules)
        document = state.document(path)
        if document is not None:
            findings += find_disabling_comments(document, names)
    return findings


def _subtract_findings(
    current_findings: Sequence[Finding], earlier_findings: Sequence[Finding]
) -> list[Finding]:
    """Return the current findings without the earlier ones; of equal findings, return those on new lines."""
    line_counts = Counter((*_make_comparison_key(finding), finding.text) for finding in earlier_findings)
    remaining_counts = Counter(map(_make_comparison_key, earlier_findings))
    on_new_lines: list[Finding] = []
    for finding in current_findings:
        key = (*_make_comparison_key(finding), finding.text)
        if line_counts[key] > 0:
            line_counts[key] -= 1
            remaining_counts[_make_comparison_key(finding)] -= 1
        else:
            on_new_lines.append(finding)
    new_findings: list[Finding] = []
    for finding in on_new_lines:
        if remaining_counts[_make_comparison_key(finding)] > 0:
            remaining_counts[_make_comparison_key(finding)] -= 1
        else:
            new_findings.append(finding)
    return new_findings


def _make_comparison_key(finding: Finding) -> tuple[str, str]:
    return finding.rule, finding.comparison_key or finding.message


def _make_problem(state: CheckedState, finding: Finding) -> Problem:
    document = state.document(finding.path)
    line = finding.line - 1
    address = finding.path
    if document is not None and line < len(document.lines):
        section = document.section_at(document.lines.offset(line))
        address = f"{finding.path}#{section.key}" if section is not None else address
    return Problem(finding.rule, address, finding.line, finding.message)


def _count_bytes(merge: Merge, path: str) -> int:
    entry = merge.entry(path)
    if entry is None:
        return 0
    return len(entry) if isinstance(entry, bytes) else merge.ours.git.blob_size(entry.id)
