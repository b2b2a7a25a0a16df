"""Git can apply the unified diffs of fixes."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings

from tests.example_counts import scale_examples
from tests.repositories import create_repository
from tests.workspace.documents import documents
from tests.workspace.validation.fixes.in_memory import build_fix_finder, fix_single_document
from workspace.document.document import Document
from workspace.validation.fixes.change import format_unified_diff
from workspace.validation.fixes.fix import fix_document


def test_git_applies_unified_diff(tmp_path: Path) -> None:
    data = b"# T\n\n## A\n## B\n\nx\n\ny\n\nz\n\n" + b"\n".join(
        b"## H%d\n\ntext\n" % number for number in range(20)
    )
    repo = create_repository(tmp_path / "repo", {"doc.md": data})
    result = fix_single_document(data, "missing-anchor")
    patch = "\n".join(format_unified_diff(result.change)) + "\n"
    (tmp_path / "patch").write_text(patch)
    repo.git("apply", "-C1", str(tmp_path / "patch"))
    assert (repo.path / "doc.md").read_bytes() == result.document.data


@settings(max_examples=scale_examples(50))
@given(documents)
def test_each_changed_line_is_shown_once(document: Document) -> None:
    result = fix_document(document, build_fix_finder({document.path: document.data}, "missing-anchor"))
    diff_lines = list(format_unified_diff(result.change))[2:]
    changed_lines = [
        line
        for line in range(len(document.lines))
        if document.lines.line_bytes(line) != result.document.lines.line_bytes(line)
    ]
    assert sum(line.startswith("-") for line in diff_lines) == len(changed_lines)
    assert sum(line.startswith("+") for line in diff_lines) == len(changed_lines)


def test_long_lines_are_truncated_and_invalid_bytes_replaced() -> None:
    result = fix_single_document(b"## " + b"a" * 900 + b" " + b"b" * 5_000 + b"\xff\n", "trailing-space")
    assert list(format_unified_diff(result.change)) == ["--- a/doc.md", "+++ b/doc.md"]
    result = fix_single_document(b"## \xff" + b"b " * 4_000 + b"\n", "trailing-space")
    assert all(len(line) < 1_010 for line in format_unified_diff(result.change))
    assert "\ufffd" in "".join(format_unified_diff(result.change))
