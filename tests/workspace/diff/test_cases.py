"""Changes between two versions are described as in the examples of `tests/cases/section_diff.md`."""

from __future__ import annotations

import pytest

from tests.loops import loop_over
from tests.workspace.cases import Case, read_cases
from workspace.diff.changes import SectionChange
from workspace.diff.formats import format_lines, format_markdown, format_plain_line
from workspace.diff.trees import compare_document
from workspace.document.document import Document

pytestmark = pytest.mark.smoke


@loop_over("case", read_cases("section_diff.md"))
def test_changes_are_described_as_in_the_examples(case: Case) -> None:
    old, new = (Document.parse(case.data(name), "doc.md") for name in ("old", "new"))
    change = compare_document(old, new)
    assert change is not None
    if "changes" in case.fences:
        assert [summarize_change(section_change) for section_change in change.section_changes] == case.fences[
            "changes"
        ].splitlines()
    if "shown" in case.fences:
        assert format_markdown([change]) == case.fences["shown"]
    if "lines" in case.fences:
        assert [format_plain_line(line) for line in format_lines([change])] == case.fences[
            "lines"
        ].splitlines()


def summarize_change(change: SectionChange) -> str:
    """Return kind, old and new address, and the changed field."""
    old_location, new_location = change.before, change.after
    addresses = dict.fromkeys(location.address for location in (old_location, new_location) if location)
    return f"{change.kind} {' -> '.join(addresses)}" + (f" ({change.field})" if change.field else "")
