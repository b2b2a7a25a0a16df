"""The checks of a merge: findings in changed and linking documents, before and after.

A check has a name and runs some rules of `validation`, before and after the merge. It reports findings that
the target does not have, and comments that disable a rule. It checks the documents that the merge changes,
and those that link to removed files or sections.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from workspace.errors import LimitExceeded, WorkspaceError
from workspace.links.file_tree import OverlayFileTree
from workspace.links.fragments import find_names
from workspace.merge.world import MergedWorld
from workspace.snapshot.document_types import FOLDER, MAX_TYPES, PARTS, read_type, read_types
from workspace.snapshot.snapshot import NotADocument
from workspace.validation.rule import Severity, Subject
from workspace.validation.rules import (
    duplicate_anchor,
    malformed_front_matter,
    malformed_task,
    type_structure,
    unknown_type,
    unreadable_document,
)
from workspace.validation.rules.links import broken_fragment, broken_image, broken_link
from workspace.validation.run import Selection, check_document, find_switches, make_file_finding

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from templates import DocumentType
    from workspace.config.config import WorkspaceConfig
    from workspace.document.document import Document
    from workspace.links.inbound import Inbound
    from workspace.links.resolver import FileTree
    from workspace.merge.trees import Merge
    from workspace.snapshot.document_types import BrokenType
    from workspace.validation.rule import Finding, Rule


CHECKS = ("links", "anchors", "types", "tasks")
"""The names of all checks."""

MAX_PROBLEMS = 50
"""The most problems of one check that are reported; further ones are counted."""


class Problem(NamedTuple):
    """A finding that a merge would add.

    `rule` is a rule of `docyard validate`, `rule-switched-off` or `unchecked`. `address` is the document's
    path, or the address of a section in it. `line` counts from 1, in the document after the merge. `message`
    begins in lower case and describes the problem.
    """

    rule: str
    address: str
    line: int
    message: str


class CheckResult(NamedTuple):
    """The result of a check: the first problems; `more` is the number of further ones."""

    name: str
    passed: bool
    problems: tuple[Problem, ...] = ()
    more: int = 0


def make_check_result(name: str, problems: list[Problem]) -> CheckResult:
    """Return the result of a check with these problems."""
    return CheckResult(
        name, not problems, tuple(problems[:MAX_PROBLEMS]), max(0, len(problems) - MAX_PROBLEMS)
    )


def make_unchecked_results(reason: str) -> tuple[CheckResult, ...]:
    """Return the results of all checks for a merge that could not be checked."""
    return tuple(CheckResult(name, False, (Problem("unchecked", "", 1, reason),)) for name in CHECKS)


def list_changed_documents(merge: Merge) -> list[str]:
    """Return the paths of the documents that a merge changes or adds, in order."""
    is_document = merge.ours.config.is_document
    files = ((path, merge.entry(path)) for path in merge.changes if is_document(path))
    return [path for path, found in files if isinstance(found, bytes) or (found and found.is_blob)]


def find_linking_documents(
    merge: Merge, before: CheckedState, after: CheckedState, inbound: Inbound
) -> list[str]:
    """Return other documents that may link to a removed file, folder, or section."""
    vanished = list(_find_vanished(merge, before, after))
    if not vanished:
        return []
    linking = inbound.find_linking_documents(merge.ours, vanished)
    return [path for path in linking if path not in merge.changes]


def _find_vanished(merge: Merge, before: CheckedState, after: CheckedState) -> Iterator[str]:
    folders: set[str] = set()
    for path in merge.changes:
        if not after.world.exists(path) or after.world.is_folder(path):
            yield path
            folders.update(_list_parents(path))
            continue
        old, new = before.document(path), after.document(path)
        if old is not None and (new is None or _lacks_names(before, path, after)):
            yield path
    yield from sorted(folder for folder in folders if not after.world.exists(folder))


def _lacks_names(before: CheckedState, path: str, after: CheckedState) -> bool:
    """Return True if a link target within a document is removed."""
    old, new = before.document(path), after.document(path)
    if old is None or new is None:
        return old is not None
    dialect = before.config.links.dialect
    if find_names(old, dialect).keys() - find_names(new, dialect).keys():
        return True
    # A wiki link may name a heading by its title.
    return before.config.links.wiki and bool(
        {section.title for section in old.sections} - {section.title for section in new.sections}
    )


def _list_parents(path: str) -> Collection[str]:
    names = path.split("/")[:-1]
    return ["/".join(names[:depth]) for depth in range(1, len(names) + 1)]


_MOST = 1_000  # the most findings of one rule in one document


class CheckedState(NamedTuple):
    """The files before or after the merge, and the types of documents; the settings are the target's."""

    world: FileTree
    config: WorkspaceConfig
    types: Mapping[str, DocumentType | BrokenType]

    def document(self, path: str) -> Document | None:
        """Return the document at a path; return None if it is missing, too large or unreadable."""
        try:
            found = self.world.document(path)
        except (LimitExceeded, NotADocument):
            return None
        most = self.config.limits.document_bytes
        return None if found is None or len(found.data) > most else found

    def findings(self, path: str, rules: Sequence[Rule]) -> list[Finding]:
        """Return the findings for the document at a path, without notes.

        A missing document has no findings. An unreadable document is a finding.
        """
        document = self.document(path)
        if document is None:
            exists = self.config.is_document(path) and self.world.exists(path)
            return [_make_unreadable_finding(path)] if exists and not self.world.is_folder(path) else []
        subject = Subject(document, self.config, self.types, self.world)
        try:
            found = check_document(subject, rules, _choose_severities(self.config, path, rules), _MOST)
        except LimitExceeded:
            return [_make_unreadable_finding(path)]
        return [finding for finding in found if finding.is_problem]


def make_state_before(merge: Merge) -> CheckedState:
    """Return the state of the target. Raises InvalidConfig, DamagedRepository."""
    ours = merge.ours
    return CheckedState(OverlayFileTree(ours), ours.config, read_types(ours))


def make_state_after(merge: Merge, earlier: CheckedState) -> CheckedState:
    """Return the state after the merge. Raises DamagedRepository."""
    world = MergedWorld(merge)
    types = earlier.types
    if any(path.startswith(f"{FOLDER}/") for path in merge.changes):
        types = {**types}
        for name in sorted(world.entries(FOLDER))[:MAX_TYPES]:
            types[name] = _read_type(merge, name)
    return CheckedState(world, earlier.config, types)


def _read_type(merge: Merge, name: str) -> DocumentType | BrokenType:
    read = {part: merge.read(f"{FOLDER}/{name}/{part}") for part in PARTS}
    present = {part: data for part, data in read.items() if data is not None}
    return read_type(name, {part: len(data) for part, data in present.items()}, partial(_get_part, present))


def _get_part(parts: Mapping[str, bytes], name: str) -> bytes:
    return parts[name]


def _choose_severities(config: WorkspaceConfig, path: str, rules: Sequence[Rule]) -> Mapping[str, Severity]:
    """Return the severities of rules by the settings of the target.

    An unknown document type is only a note of `docyard validate`. Here it is a problem unless the settings
    set its severity, because the requirements of an unknown type cannot be checked.
    """
    severities = dict(Selection(config.validation, frozenset(rule.name for rule in rules)).severities(path))
    if unknown_type.RULE.name in severities and unknown_type.RULE.name not in config.validation.levels(path):
        severities[unknown_type.RULE.name] = Severity.WARNING
    return severities


def _make_unreadable_finding(path: str) -> Finding:
    message = "the document cannot be read, so it was not checked"
    return make_file_finding(path, unreadable_document.RULE.name, Severity.ERROR, message, None)


SWITCHED_OFF = "rule-switched-off"


def find_switched_off(document: Document, rules: Collection[str]) -> Iterator[Finding]:
    """Return the comments of a document that disable a rule: a merge that adds one is reported."""
    for offset, is_off, names in find_switches(document.data):
        if is_off and (not names or names & set(rules)):
            yield make_file_finding(
                document.path,
                SWITCHED_OFF,
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

MOST_DOCUMENTS = 2_000
MOST_BYTES = 64_000_000
"""The most bytes that one run reads. A larger merge is not checked, and passes no check."""


def check_merge(merge: Merge, inbound: Inbound) -> tuple[CheckResult, ...]:
    """Return the results of all checks of a merge: problems that its target does not have already.

    A problem is not new if the target has a problem of the same rule and message. That problem may be in the
    same document, or in another one that the merge changes. So a moved section adds no problem. The function
    never raises for the content of documents: an unreadable document fails the check.
    """
    try:
        return _run_checks(merge, inbound)
    except WorkspaceError as error:
        return make_unchecked_results(error.message)


def _run_checks(merge: Merge, inbound: Inbound) -> tuple[CheckResult, ...]:
    earlier = make_state_before(merge)
    later = make_state_after(merge, earlier)
    changed = list_changed_documents(merge)
    size = sum(_count_bytes(merge, path) for path in changed)
    if len(changed) > MOST_DOCUMENTS or size > MOST_BYTES:
        return make_unchecked_results(
            f"{len(changed):,} documents of {size:,} bytes are more than are checked at once"
        )
    linking = find_linking_documents(merge, earlier, later, inbound)
    if len(linking) > MOST_DOCUMENTS:
        return make_unchecked_results(
            f"{len(linking):,} documents that may link to removed files are more than are checked"
        )
    came_from = {new: old for old, new in merge.moved.items()}
    old_paths = [came_from.get(path, path) for path in changed]
    removed = [path for path in merge.changes if merge.entry(path) is None and path not in merge.moved]
    results = []
    for name, rules in RULES.items():
        others = linking if name == "links" else []
        current = _collect_findings(later, [*changed, *others], rules)
        added = (
            []
            if not current
            else _subtract_findings(
                current, _collect_findings(earlier, [*old_paths, *removed, *others], rules)
            )
        )
        results.append(make_check_result(name, [_make_problem(later, finding) for finding in added]))
    return tuple(results)


def _collect_findings(state: CheckedState, paths: Sequence[str], rules: Sequence[Rule]) -> list[Finding]:
    names = [rule.name for rule in rules]
    found: list[Finding] = []
    for path in dict.fromkeys(paths):
        found += state.findings(path, rules)
        document = state.document(path)
        if document is not None:
            found += find_switched_off(document, names)
    return found


def _subtract_findings(now: Sequence[Finding], earlier: Sequence[Finding]) -> list[Finding]:
    """Return the findings of `now` that `earlier` lacks; of equal findings, return those on new lines."""
    line_counts = Counter((*_describe_finding(finding), finding.text) for finding in earlier)
    remaining = Counter(map(_describe_finding, earlier))
    on_new_lines: list[Finding] = []
    for finding in now:
        key = (*_describe_finding(finding), finding.text)
        if line_counts[key] > 0:
            line_counts[key] -= 1
            remaining[_describe_finding(finding)] -= 1
        else:
            on_new_lines.append(finding)
    added: list[Finding] = []
    for finding in on_new_lines:
        if remaining[_describe_finding(finding)] > 0:
            remaining[_describe_finding(finding)] -= 1
        else:
            added.append(finding)
    return added


def _describe_finding(finding: Finding) -> tuple[str, str]:
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
    found = merge.entry(path)
    if found is None:
        return 0
    return len(found) if isinstance(found, bytes) else merge.ours.git.blob_size(found.id)
