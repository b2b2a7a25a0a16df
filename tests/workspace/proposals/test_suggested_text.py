"""A suggestion replaces whole constructs of the Markdown source, found from source or rendered words."""

from __future__ import annotations

import pytest

from workspace.markdown.inline import InlineBoundaries
from workspace.proposals.suggested_text import SuggestionRefused, find_replaced_text, find_source_lines

TEXT = """\
When the server is busy, see [Retries](retries.md#backoff).
Each client waits.

| Code | Meaning |
|------|:--------|
| `429` | busy, **again** |
| 500 | an error |

- Call `get_page` with
  `a long
  name`, then wait.
  - Nested [words of
    a link](a.md) end here.

Twice here.

Twice here. And once \\
more.
"""


@pytest.mark.parametrize(
    ("quote", "lines"),
    [
        (
            "the server is busy, see Retries",
            "When the server is busy, see [Retries](retries.md#backoff).",
        ),
        ("see [Retries](retries", "When the server is busy, see [Retries](retries.md#backoff)."),
        (
            "see Retries. Each client",
            "When the server is busy, see [Retries](retries.md#backoff).\nEach client waits.",
        ),
        ("429\tbusy, again", "| `429` | busy, **again** |"),
        ("Meaning 429 busy", "| Code | Meaning |\n|------|:--------|\n| `429` | busy, **again** |"),
        ("Call get_page", "- Call `get_page` with"),
        ("long name", "`a long\n  name`, then wait."),
        ("a link end", "- Nested [words of\n    a link](a.md) end here."),
        ("And once", "Twice here. And once \\"),
    ],
)
def test_words_are_expanded_to_the_lines_of_their_source(quote: str, lines: str) -> None:
    assert find_source_lines(TEXT, quote, "a.md") == lines
    assert find_replaced_text(TEXT, lines, "a.md") == lines


@pytest.mark.parametrize(
    ("quote", "message"),
    [("Twice here", "occur 2 times"), ("absent", "occur 0 times"), ("", "occur 0 times")],
)
def test_words_that_do_not_occur_once_have_no_lines(quote: str, message: str) -> None:
    with pytest.raises(SuggestionRefused, match=message):
        find_source_lines(TEXT, quote, "a.md")


def test_words_of_a_long_line_include_the_inline_markdown_around_them() -> None:
    text = "word " * 200 + "see [the second page](b.md), and `a b` " + "end " * 200
    assert find_source_lines(text, "see the second", "a.md") == "see [the second page](b.md),"
    with pytest.raises(SuggestionRefused, match="at most 500"):
        find_source_lines("x" * 600, "x" * 600, "a.md")


@pytest.mark.parametrize(
    ("quote", "message"),
    [
        ("the server is busy, see [Retries", "inside a link"),
        ("the server is busy, see Retries", "lacks the Markdown marks"),
        ("busy, **again", "inside a link"),
        ("Call `get", "inside a link"),
        ("Twice", "occur 2 times"),
        ("missing", "occur 0 times"),
    ],
)
def test_part_of_a_construct_is_not_replaced(quote: str, message: str) -> None:
    with pytest.raises(SuggestionRefused, match=message):
        find_replaced_text(TEXT, quote, "a.md")


@pytest.mark.parametrize(
    ("text", "is_inside"),
    [
        ("a |b", False),
        ("**a |b**", True),
        ("**a** |b", False),
        ("> - [a|\n>   b](c)", True),
        ("[a|b] c", True),
        ("# a `|b` #", True),
        ("a  |\nb", False),
        ("```\n[a|](b)\n```", False),
        ("|", False),
    ],
)
def test_position_inside_inline_markdown_is_found(text: str, is_inside: bool) -> None:
    position = text.index("|")
    assert InlineBoundaries(text.replace("|", "", 1)).is_inside(position) is is_inside
