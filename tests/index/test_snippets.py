"""Snippets: the best window of the original text, with fences around code."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from index.fences import Fence, find_fences
from index.matches import Matcher
from index.query import parse_query
from index.snippets import SNIPPET_LENGTH, cut_snippet, make_display_text
from tests.example_counts import scale_examples
from tests.loops import loop_over


def cut(text: str, query: str) -> str:
    return cut_snippet(make_display_text(text), Matcher(parse_query(query).terms))


def test_snippet_of_text_without_spaces_contains_the_term() -> None:
    text = "这是一个很长的段落。没有空格。" * 60 + "这里说的是检索引擎。" + "其他的内容在后面继续。" * 40
    assert "检索" in cut(text, "检索")


def test_short_text_is_shown_whole() -> None:
    assert cut("\nThe SDK retries.\n\nAlways.\n", "nothing") == "The SDK retries.\nAlways."


def test_window_with_most_query_words_is_chosen() -> None:
    text = (
        "Alpha first. " + "filler words here. " * 40 + "The ALPHA and the Omega meet. " + "more filler. " * 40
    )
    snippet = cut(text, "omega alpha")
    assert snippet.startswith("… ")
    assert snippet.endswith(" …")
    assert "The ALPHA and the Omega meet." in snippet
    assert len(snippet) <= SNIPPET_LENGTH + 10


def test_snippet_begins_and_ends_at_words() -> None:
    text = " ".join(f"word{i}" for i in range(300))
    words = cut(text, "word150").removeprefix("… ").removesuffix(" …").split()
    assert "word150" in words
    assert all(re.fullmatch(r"word\d+", word) for word in words)
    assert words[0] in text.split()


def test_snippet_omits_anchors_and_comments() -> None:
    assert cut("Text { #slug } here {: #a .b } now", "text") == "Text  here  now"
    assert cut('<a id="x"></a>\nText {#slug} here <!-- hidden --> now', "text") == "Text  here  now"


def test_snippet_inside_code_has_fences() -> None:
    code = "\n".join(f"line_{i} = compute({i})" for i in range(100))
    snippet = cut(f"Before.\n\n```python\n{code}\n```\n\nAfter.\n", "line_50")
    assert snippet.startswith("```python\nline_")
    assert snippet.endswith("\n```")
    assert "line_50 = compute(50)" in snippet


CODE = "\n".join(f"line_{i} = compute({i})" for i in range(100))


def indented(text: str, by: str) -> str:
    return "\n".join(by + line for line in text.splitlines())


def test_snippet_inside_code_of_a_list_has_fences() -> None:
    item = indented(f"```python\n{CODE}\n```", "    ")
    snippet = cut(f"1.  First.\n\n{item}\n\n2.  Second.\n", "line_50")
    assert re.fullmatch(r"```python\n(line_\d+.*\n)+```", snippet)
    assert "line_50 = compute(50)" in snippet


def test_snippet_inside_quoted_code_has_quoted_fences() -> None:
    quoted = indented(f"```python\n{CODE}\n```", "> ")
    snippet = cut(f"> Quoted.\n>\n{quoted}\n\nAfter.\n", "line_50")
    assert re.fullmatch(r"> ```python\n(> line_\d+.*\n)+> ```", snippet)


def test_snippet_starting_above_code_in_list_closes_the_fence() -> None:
    snippet = cut(f"- Zebra.\n\n  ```sh\n{indented(CODE, '  ')}\n  ```\n", "zebra")
    assert snippet.startswith("- Zebra.\n  ```sh\n  line_0 = compute(0)\n")
    assert snippet.endswith("\n  ```")


def test_code_block_ends_at_the_end_of_its_list() -> None:
    snippet = cut(
        f"- Item.\n\n  ```\n  code\n\n{'Plain words follow. ' * 30} Zebra. {'More. ' * 60}", "zebra"
    )
    assert "```" not in snippet


@loop_over("mark", ["", "- One.\n\n  ```\n  x\n  ```\n\n"])
def test_code_far_down_a_long_text_has_fences(mark: str) -> None:
    filler = "\n\n".join(["Words of no interest are here."] * 4_000)
    assert len(filler) > 100_000
    snippet = cut(f"{mark}{filler}\n\n```python\n{CODE}\n\n{CODE}\n```\n\n{filler}", "line_50 compute")
    assert re.fullmatch(r"```python\n(line_\d+.*\n)+```", snippet)
    snippet = cut(f"{mark}{filler}\n\n- a\n\n  ```py\n{indented(CODE, '  ')}\n  ```\n\n{filler}", "line_50")
    assert re.fullmatch(r"```py\n(line_\d+.*\n)+```", snippet)


@loop_over(
    "fence", ["`" * 50_000, "~~~" + "x" * 50_000, "> " * 90 + "```", " " * 90 + "- ```", ">" * 50_000 + "```"]
)
def test_snippet_is_short_with_any_code_fence(fence: str) -> None:
    for text in (f"{fence}\n zebra\n", f"{'zebra ' * 50}\n\n{fence}\n{'quagga ' * 90}\n"):
        for query in ("zebra", "quagga", "absent"):
            assert len(cut(text, query)) <= SNIPPET_LENGTH + 150


def test_word_far_down_a_long_text_is_shown() -> None:
    snippet = cut("Words of no interest are here. " * 10_000 + "The zebra is here.", "zebra")
    assert snippet.startswith("… ")
    assert snippet.endswith("The zebra is here.")


CONTAINERS = ("", "> ", "- ", "1.  ", "> - ", "- > ", "> > ", "- 1. ")


@st.composite
def nested(draw: st.DrawFn) -> str:
    """Prose and fenced code in lists and quotations; every line of code begins with `code`."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 6))):
        opening = draw(st.sampled_from(CONTAINERS))
        rest = re.sub(r"\d\.|-", lambda match: " " * len(match[0]), opening)
        mark = draw(st.sampled_from(("```", "~~~~")))
        block = [f"prose {'zebra ' * draw(st.integers(0, 9))}", "", f"{mark}py"]
        block += [f"code {'quagga ' * draw(st.integers(0, 9))}" for _ in range(draw(st.integers(1, 8)))]
        block += [mark, "", f"prose {'word ' * draw(st.integers(0, 40))}"]
        lines += [(rest if number else opening) + line for number, line in enumerate(block)]
        lines += ["", "margin", ""]
    return "\n".join(lines)


@settings(max_examples=scale_examples(200), deadline=None)
@given(text=nested(), query=st.sampled_from(["zebra", "quagga", "word", "absent", "margin"]))
def test_code_in_lists_and_quotations_always_has_fences(text: str, query: str) -> None:
    inside = False
    for line in cut(text, query).splitlines():
        words = re.sub(r"^(?:[ \t>]|[-…]|1\.)*", "", line)
        if re.match(r"```|~~~~", words):
            inside = not inside
        elif words and not inside:
            assert not words.startswith(("code", "quagga"))
        elif words:
            assert words.startswith(("code", "quagga"))
    assert not inside


@settings(max_examples=scale_examples(200), deadline=None)
@given(
    parts=st.lists(
        st.sampled_from(["word ", "zebra ", "\n\n", "\n```py\n", "\n```\n", "~~~~\n", "é", "x" * 90]),
        max_size=60,
    ),
    query=st.sampled_from(["zebra", "word zebra", "absent"]),
)
def test_fences_are_always_closed(parts: list[str], query: str) -> None:
    snippet = cut("".join(parts), query)
    assert len(snippet) <= SNIPPET_LENGTH + 30
    open_mark = None
    for line in snippet.splitlines():
        mark = re.match(r" {0,3}(`{3,}|~{3,})(.*)", line)
        if mark and open_mark is None:
            open_mark = mark[1]
        elif (
            mark
            and open_mark
            and mark[1][0] == open_mark[0]
            and len(mark[1]) >= len(open_mark)
            and not mark[2].strip()
        ):
            open_mark = None
    assert open_mark is None


@loop_over("count", [1, 400, 600])
def test_all_fences_of_a_text_are_found(count: int) -> None:
    text = "word\n\n```\nword\n```\n\n" * count
    assert [*find_fences(text, 0, len(text) + 1)] == [
        Fence(at, at + 4, at + 9, at + 12, "```", "") for at in range(6, len(text), 20)
    ]
