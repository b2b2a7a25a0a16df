"""Snippets: the best window, in its own words, never code that does not say that it is."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from index.analysis import terms_of_query
from index.snippets import LENGTH, snippet


def cut(text: str, query: str) -> str:
    return snippet(text, terms_of_query(query))


def test_a_short_text_is_shown_whole() -> None:
    assert cut("\nThe SDK retries.\n\nAlways.\n", "nothing") == "The SDK retries.\nAlways."


def test_the_window_with_most_words_wins_and_keeps_its_case() -> None:
    text = (
        "Alpha first. " + "filler words here. " * 40 + "The ALPHA and the Omega meet. " + "more filler. " * 40
    )
    found = cut(text, "omega alpha")
    assert found.startswith("… ")
    assert found.endswith(" …")
    assert "The ALPHA and the Omega meet." in found
    assert len(found) <= LENGTH + 10


def test_it_begins_and_ends_at_words() -> None:
    text = " ".join(f"word{i}" for i in range(300))
    words = cut(text, "word150").removeprefix("… ").removesuffix(" …").split()
    assert "word150" in words
    assert all(re.fullmatch(r"word\d+", word) for word in words)
    assert words[0] in text.split()


def test_anchors_and_comments_are_left_out() -> None:
    assert cut('<a id="x"></a>\nText {#slug} here <!-- hidden --> now', "text") == "Text  here  now"


def test_a_window_inside_code_says_so() -> None:
    code = "\n".join(f"line_{i} = compute({i})" for i in range(100))
    found = cut(f"Before.\n\n```python\n{code}\n```\n\nAfter.\n", "line_50")
    assert found.startswith("```python\nline_")
    assert found.endswith("\n```")
    assert "line_50 = compute(50)" in found


@settings(max_examples=200, deadline=None)
@given(
    parts=st.lists(
        st.sampled_from(["word ", "zebra ", "\n\n", "\n```py\n", "\n```\n", "~~~~\n", "é", "x" * 90]),
        max_size=60,
    ),
    query=st.sampled_from(["zebra", "word zebra", "absent"]),
)
def test_fences_are_always_closed(parts: list[str], query: str) -> None:
    found = cut("".join(parts), query)
    assert len(found) <= LENGTH + 30
    opened = None
    for line in found.splitlines():
        mark = re.match(r" {0,3}(`{3,}|~{3,})(.*)", line)
        if mark and opened is None:
            opened = mark[1]
        elif (
            mark
            and opened
            and mark[1][0] == opened[0]
            and len(mark[1]) >= len(opened)
            and not mark[2].strip()
        ):
            opened = None
    assert opened is None
