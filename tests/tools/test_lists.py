"""After a wrong name, an error says with which tool of the caller's the right one is found."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.loops import loop_over
from tools.errors import add_list_call
from tools.toolsets import all_tools
from workspace.errors import HintKind, SuggestionSource

ROOT = Path(__file__).resolve().parents[2]
ALL = frozenset(tool.name for tool in all_tools())

DOCUMENTS = SuggestionSource(HintKind.DOCUMENTS)
SECTIONS = SuggestionSource(HintKind.SECTIONS, "a.md")
TASKS = SuggestionSource(HintKind.TASKS, "a.md", "todo")


@loop_over(
    ("among", "offered", "said"),
    [
        (DOCUMENTS, ALL, "Name one. See the documents with list_documents {}."),
        (SECTIONS, ALL, 'Name one. See its sections with list_sections {"file_path": "a.md"}.'),
        (SECTIONS, {"view_document"}, 'Name one. See its sections with view_document {"file": "a.md"}.'),
        (TASKS, ALL, 'Name one. See its tasks with view_document {"file": "a.md", "slug": "todo"}.'),
        (
            SuggestionSource(HintKind.COMMITS, "a.md"),
            {"view_history"},
            'Name one. See its history with view_history {"file": "a.md"}.',
        ),
        (DOCUMENTS, {"complete_task"}, "Name one."),
        (None, ALL, "Name one."),
    ],
)
def test_the_tool_is_one_that_the_caller_has(
    among: SuggestionSource | None, offered: frozenset[str], said: str
) -> None:
    assert add_list_call("Name one.", among, offered) == said


def test_the_list_is_of_the_commit_that_is_read() -> None:
    said = add_list_call("Name one.", DOCUMENTS, ALL, "v1.2")
    assert said == 'Name one. See the documents with list_documents {"ref": "v1.2"}.'


def test_below_the_tools_no_text_names_one() -> None:
    """A person at a shell meets the same errors. What is named like an operation of the workspace is that."""
    tools = "|".join(tool.name for tool in all_tools() if not tool.writes or tool.name == "edit_document")
    named = re.compile(rf"\b({tools})\b")
    found = [
        (file.relative_to(ROOT).as_posix(), text)
        for folder in ("workspace", "index")
        for file in sorted((ROOT / folder).rglob("*.py"))
        if named.search(source := file.read_text())
        for text in texts(ast.parse(source))
        if named.search(text)
    ]
    # The contract of get_doc, the only tool that takes chunk ids, has these words.
    assert found == [("index/passages.py", "' not found. Use search_docs to discover valid chunk IDs.")]


def texts(tree: ast.Module) -> Iterator[str]:
    """Return the texts of a module but for docstrings."""
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            yield node.value
