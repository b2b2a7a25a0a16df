"""The scanner finds the same headings as the parser in the documentation of this project."""

from __future__ import annotations

from pathlib import Path

from tests.workspace.markdown.test_scanner import parse_headings, read_contents
from workspace.document.document import Document
from workspace.markdown.scanner import scan_headings

ROOT = Path(__file__).parents[3]


def test_documentation_of_the_project_is_read_without_the_parser() -> None:
    paths = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    assert len(paths) > 3
    for path in paths:
        data = path.read_bytes()
        assert scan_headings(data) == parse_headings(data), path
        assert read_contents(Document.parse(data)) == read_contents(Document.parse_fully(data)), path
