"""An error about an unknown name suggests an offered tool that lists the valid names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.loops import loop_over
from tools.errors import add_suggested_call
from tools.toolsets import all_tools
from workspace.errors import SuggestionKind, SuggestionSource

ROOT = Path(__file__).resolve().parents[2]
ALL_TOOLS = frozenset(tool.name for tool in all_tools())

DOCUMENTS = SuggestionSource(SuggestionKind.DOCUMENTS)
SECTIONS = SuggestionSource(SuggestionKind.SECTIONS, "a.md")
TASKS = SuggestionSource(SuggestionKind.TASKS, "a.md", "todo")


@loop_over(
    ("source", "offered_tools", "expected"),
    [
        (DOCUMENTS, ALL_TOOLS, "Name one. See the documents with list_documents {}."),
        (SECTIONS, ALL_TOOLS, 'Name one. See its sections with list_sections {"file_path": "a.md"}.'),
        (SECTIONS, {"view_document"}, 'Name one. See its sections with view_document {"file": "a.md"}.'),
        (TASKS, ALL_TOOLS, 'Name one. See its tasks with view_document {"file": "a.md", "slug": "todo"}.'),
        (
            SuggestionSource(SuggestionKind.COMMITS, "a.md"),
            {"view_history"},
            'Name one. See its history with view_history {"file": "a.md"}.',
        ),
        (DOCUMENTS, {"complete_task"}, "Name one."),
        (None, ALL_TOOLS, "Name one."),
    ],
)
def test_error_names_offered_list_tool(
    source: SuggestionSource | None, offered_tools: frozenset[str], expected: str
) -> None:
    assert add_suggested_call("Name one.", source, offered_tools) == expected


def test_list_call_in_error_names_read_ref() -> None:
    expected = add_suggested_call("Name one.", DOCUMENTS, ALL_TOOLS, "v1.2")
    assert expected == 'Name one. See the documents with list_documents {"ref": "v1.2"}.'


def test_modules_below_tools_name_no_tool() -> None:
    """Check the texts of errors, which the command line also shows; names of operations are allowed."""
    tools = "|".join(tool.name for tool in all_tools() if not tool.writes or tool.name == "edit_document")
    tool_name = re.compile(rf"\b({tools})\b")
    mentions = [
        (file.relative_to(ROOT).as_posix(), text)
        for folder in ("workspace", "index")
        for file in sorted((ROOT / folder).rglob("*.py"))
        if tool_name.search(source := file.read_text())
        for text in iter_texts(ast.parse(source))
        if tool_name.search(text)
    ]
    # The contract of get_doc, the only tool with chunk ids, requires this text.
    assert mentions == [("index/passages.py", "' not found. Use search_docs to discover valid chunk IDs.")]


def iter_texts(tree: ast.Module) -> Iterator[str]:
    """Yield the strings of a module, except docstrings."""
    docstring_ids = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstring_ids:
            yield node.value
