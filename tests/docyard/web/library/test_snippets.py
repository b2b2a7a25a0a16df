"""Parsing of snippets for the search page."""

from __future__ import annotations

from docyard.web.library.snippets import SnippetBlock, SnippetRun, parse_snippet
from index.matches import Matcher
from tests.loops import loop_over


@loop_over(
    ("snippet", "expected"),
    [
        ("One two.", [SnippetBlock(False, (SnippetRun("One "), SnippetRun("two", True), SnippetRun(".")))]),
        (
            "- [ ] **Two** [two](x.md)",
            [SnippetBlock(False, (SnippetRun("Two", True), SnippetRun(" "), SnippetRun("two", True)))],
        ),
        (
            "a `two` b",
            [SnippetBlock(False, (SnippetRun("a "), SnippetRun("two", True, True), SnippetRun(" b")))],
        ),
        ("```\na\n  two\n```", [SnippetBlock(True, (SnippetRun("a\n  "), SnippetRun("two", True)))]),
        (
            "a\n```sh\nb\n```\nc",
            [
                SnippetBlock(False, (SnippetRun("a"),)),
                SnippetBlock(True, (SnippetRun("b"),)),
                SnippetBlock(False, (SnippetRun("c"),)),
            ],
        ),
        (
            "| a | two |\n|---|---|\n| b \\| c | |",
            [SnippetBlock(False, (SnippetRun("a · "), SnippetRun("two", True), SnippetRun(" · b \\| c")))],
        ),
        ("a\n- b\n2. [ ] c", [SnippetBlock(False, (SnippetRun("a · b · c"),))]),
        ("", []),
    ],
    ids=["words", "markup", "code", "fence", "mixed", "table", "list", "empty"],
)
def test_snippet_is_parsed_to_words_and_code(snippet: str, expected: list[SnippetBlock]) -> None:
    assert parse_snippet(snippet, Matcher({"two"})) == expected
