"""References and footnotes whose definition an operation removes are reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests import repositories
from tests.loops import loop_over
from tests.workspace.links.cases import EDIT_CONTEXT
from workspace.edits.operation import Operation
from workspace.edits.sections import RemoveSection
from workspace.edits.text import ReplaceText, UpdateContent
from workspace.git.reader import GitReader
from workspace.snapshot.snapshot import Snapshot
from workspace.writing.plan import BatchMode, build_plan

PAGE_TEXT = """# A

See [one] and [Two][t], ![pic][], once[^n] and [out][].

## Refs

[one]: b.md#x
[t]: https://example.org
[pic]: p.png
[^n]: A note.

## More

[out]: b.md
[t]: other.md
"""


def run_operation(
    folder: Path, operation: Operation, text: str = PAGE_TEXT
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Plan an operation in a new repository, and return its result and its hints."""
    repo = repositories.create_repository(
        folder / "repo", {"a.md": text, "b.md": "# B\n\n## X\n", "other.md": "# O\n"}
    )
    [step] = build_plan(
        Snapshot(GitReader(repo.path), repo.head()), [operation], BatchMode.ALL, EDIT_CONTEXT
    ).steps
    assert step.outcome, step.error
    return dict(step.outcome.result), step.outcome.hints


@loop_over(
    "operation",
    [RemoveSection(file="a.md", slug="refs"), UpdateContent(file="a.md", slug="refs", content="None.")],
)
def test_lost_definitions_are_reported(tmp_path: Path, operation: Operation) -> None:
    result, hints = run_operation(tmp_path, operation)
    locations = [(link["file"], link["slug"], link["line"]) for link in result["broken_links"]]
    assert locations == [("a.md", "_preamble", 3)] * 3
    assert [link["destination"] for link in result["broken_links"]] == ["b.md#x", "p.png", "[^n]"]
    assert result["broken_links_total"] == 3
    # The second definition of the label applies now, and has another target.
    assert [hint for hint in hints if "could not be updated" in hint and "a.md line 3" in hint]


def test_renamed_definition_is_reported(tmp_path: Path) -> None:
    result, _ = run_operation(tmp_path, ReplaceText(file="a.md", old="[one]:", new="[two]:"))
    assert [link["destination"] for link in result["broken_links"]] == ["b.md#x"]


@loop_over(
    "operation",
    [
        RemoveSection(file="a.md", slug="uses"),
        UpdateContent(file="a.md", slug="refs", content="[one]: b.md\n[^n]: Note."),
        ReplaceText(file="a.md", old="b.md#x", new="b.md"),
    ],
)
def test_preserved_or_restored_definitions_are_not_reported(tmp_path: Path, operation: Operation) -> None:
    text = "# A\n\n[one], a[^n]\n\n## Uses\n\n[one] b[^n]\n\n## Refs\n\n[one]: b.md#x\n[^n]: Note.\n"
    result, _ = run_operation(tmp_path, operation, text)
    assert "broken_links" not in result


def test_link_broken_by_removed_letters_is_reported(tmp_path: Path) -> None:
    text = "# A\n\n[a](b.md#x)\n"
    _, hints = run_operation(tmp_path / "valid", ReplaceText(file="a.md", old="b.md#x", new="b.md"), text)
    assert not hints
    _, hints = run_operation(tmp_path / "broken", ReplaceText(file="a.md", old="b.md#x", new=".md#x"), text)
    expected = "link to '.md#x' on line 3 is broken: there is no '.md'; did you mean 'b.md'?"
    assert hints == (expected,)
