"""The checks are run: each document that a merge may have made worse, as it is and as it would be."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from workspace.errors import WorkspaceError
from workspace.proposals.review.check import CheckResult, Problem, result, unchecked
from workspace.proposals.review.sources import changed_documents, linking_documents
from workspace.proposals.review.state import after, before
from workspace.proposals.review.switching import switched_off
from workspace.validation.rules import (
    broken_fragment,
    broken_image,
    broken_link,
    duplicate_anchor,
    malformed_front_matter,
    malformed_task,
    type_structure,
    unknown_type,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.links.inbound import Inbound
    from workspace.merge.trees_package import Merge
    from workspace.proposals.review.state import State
    from workspace.validation.finding import Finding
    from workspace.validation.rule import Rule

RULES: dict[str, tuple[Rule, ...]] = {
    "links": (broken_link.RULE, broken_fragment.RULE, broken_image.RULE),
    "anchors": (duplicate_anchor.RULE,),
    "types": (unknown_type.RULE, type_structure.RULE, malformed_front_matter.RULE),
    "tasks": (malformed_task.RULE,),
}
"""The rules of `docyard validate` that each check stands for."""

MOST_DOCUMENTS = 2_000
MOST_BYTES = 64_000_000
"""What one run looks at; a merge that changes more is not checked, and so passes nothing."""


def check_merge(merge: Merge, inbound: Inbound) -> tuple[CheckResult, ...]:
    """What each check says of a merge: problems that its target does not have already.

    A problem was there before if the target has one of the same rule and words, in the same document or
    another that the merge changes, so that a section which moves takes its own along. It never raises for
    what is in the documents: what cannot be looked at has not passed.
    """
    try:
        return _checked(merge, inbound)
    except WorkspaceError as error:
        return unchecked(error.message)


def _checked(merge: Merge, inbound: Inbound) -> tuple[CheckResult, ...]:
    earlier = before(merge)
    later = after(merge, earlier)
    changed = changed_documents(merge)
    size = sum(_size(merge, path) for path in changed)
    if len(changed) > MOST_DOCUMENTS or size > MOST_BYTES:
        return unchecked(f"{len(changed):,} documents of {size:,} bytes are more than are checked at once")
    linking = linking_documents(merge, earlier, later, inbound)
    if len(linking) > MOST_DOCUMENTS:
        return unchecked(f"{len(linking):,} documents that may link to what goes are more than are checked")
    came_from = {new: old for old, new in merge.moved.items()}
    were = [came_from.get(path, path) for path in changed]
    gone = [path for path in merge.changes if merge.entry(path) is None and path not in merge.moved]
    results = []
    for name, rules in RULES.items():
        others = linking if name == "links" else []
        now = _findings(later, [*changed, *others], rules)
        worse = [] if not now else _without(now, _findings(earlier, [*were, *gone, *others], rules))
        results.append(result(name, [_problem(later, finding) for finding in worse]))
    return tuple(results)


def _findings(state: State, paths: Sequence[str], rules: Sequence[Rule]) -> list[Finding]:
    names = [rule.name for rule in rules]
    found: list[Finding] = []
    for path in dict.fromkeys(paths):
        found += state.findings(path, rules)
        document = state.document(path)
        if document is not None:
            found += switched_off(document, names)
    return found


def _without(now: Sequence[Finding], earlier: Sequence[Finding]) -> list[Finding]:
    """The findings that are more than there were; of equal ones those on lines that are new."""
    lines = Counter((*_said(one), one.text) for one in earlier)
    left = Counter(map(_said, earlier))
    fresh: list[Finding] = []
    for one in now:
        key = (*_said(one), one.text)
        if lines[key] > 0:
            lines[key] -= 1
            left[_said(one)] -= 1
        else:
            fresh.append(one)
    worse: list[Finding] = []
    for one in fresh:
        if left[_said(one)] > 0:
            left[_said(one)] -= 1
        else:
            worse.append(one)
    return worse


def _said(finding: Finding) -> tuple[str, str]:
    return finding.rule, finding.same_as or finding.message


def _problem(state: State, finding: Finding) -> Problem:
    document = state.document(finding.path)
    line = finding.line - 1
    address = finding.path
    if document is not None and line < len(document.lines):
        section = document.section_at(document.lines.offset(line))
        address = f"{finding.path}#{section.key}" if section is not None else address
    return Problem(finding.rule, address, finding.line, finding.message)


def _size(merge: Merge, path: str) -> int:
    found = merge.entry(path)
    if found is None:
        return 0
    return len(found) if isinstance(found, bytes) else merge.ours.git.blob_size(found.id)
