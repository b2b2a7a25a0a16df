"""The scanner over real documents: this project's own."""

from __future__ import annotations

from pathlib import Path

from tests.workspace.markdown.test_scanner import content, parsed
from workspace.document.document import Document
from workspace.markdown.scanner import scan

ROOT = Path(__file__).parents[3]


def test_the_projects_own_documents_need_no_parser() -> None:
    paths = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    assert len(paths) > 3
    for path in paths:
        data = path.read_bytes()
        assert scan(data) == parsed(data), path
        assert content(Document.parse(data)) == content(Document.parse_fully(data)), path
