"""Snippets: the part of the original text with the most query words, with fences around code."""

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


def make_snippet(text: str, query: str) -> str:
    return cut_snippet(make_display_text(text), Matcher(parse_query(query).terms))


def test_snippet_of_text_without_spaces_contains_the_term() -> None:
    text = "这是一个很长的段落。没有空格。" * 60 + "这里说的是检索引擎。" + "其他的内容在后面继续。" * 40
    assert "检索" in make_snippet(text, "检索")


def test_snippet_of_short_text_contains_the_whole_text() -> None:
    assert make_snippet("\nThe SDK retries.\n\nAlways.\n", "nothing") == "The SDK retries.\nAlways."


def test_window_with_most_query_words_is_chosen() -> None:
    text = (
        "Alpha first. " + "filler words here. " * 40 + "The ALPHA and the Omega meet. " + "more filler. " * 40
    )
    snippet = make_snippet(text, "omega alpha")
    assert snippet.startswith("… ")
    assert snippet.endswith(" …")
    assert "The ALPHA and the Omega meet." in snippet
    assert len(snippet) <= SNIPPET_LENGTH + 10


def test_snippet_begins_and_ends_at_words() -> None:
    text = " ".join(f"word{i}" for i in range(300))
    words = make_snippet(text, "word150").removeprefix("… ").removesuffix(" …").split()
    assert "word150" in words
    assert all(re.fullmatch(r"word\d+", word) for word in words)
    assert words[0] in text.split()


def test_snippet_omits_anchors_and_comments() -> None:
    assert make_snippet("Text { #slug } here {: #a .b } now", "text") == "Text  here  now"
    assert make_snippet('<a id="x"></a>\nText {#slug} here <!-- hidden --> now', "text") == "Text  here  now"


def test_snippet_inside_code_has_fences() -> None:
    code = "\n".join(f"line_{i} = compute({i})" for i in range(100))
    snippet = make_snippet(f"Before.\n\n```python\n{code}\n```\n\nAfter.\n", "line_50")
    assert snippet.startswith("```python\nline_")
    assert snippet.endswith("\n```")
    assert "line_50 = compute(50)" in snippet


CODE = "\n".join(f"line_{i} = compute({i})" for i in range(100))


def indent(text: str, prefix: str) -> str:
    return "\n".join(prefix + line for line in text.splitlines())


def test_snippet_inside_code_of_a_list_has_fences() -> None:
    item = indent(f"```python\n{CODE}\n```", "    ")
    snippet = make_snippet(f"1.  First.\n\n{item}\n\n2.  Second.\n", "line_50")
    assert re.fullmatch(r"```python\n(line_\d+.*\n)+```", snippet)
    assert "line_50 = compute(50)" in snippet


def test_snippet_inside_quoted_code_has_quoted_fences() -> None:
    quoted_code = indent(f"```python\n{CODE}\n```", "> ")
    snippet = make_snippet(f"> Quoted.\n>\n{quoted_code}\n\nAfter.\n", "line_50")
    assert re.fullmatch(r"> ```python\n(> line_\d+.*\n)+> ```", snippet)


def test_snippet_starting_above_code_in_list_closes_the_fence() -> None:
    snippet = make_snippet(f"- Zebra.\n\n  ```sh\n{indent(CODE, '  ')}\n  ```\n", "zebra")
    assert snippet.startswith("- Zebra.\n  ```sh\n  line_0 = compute(0)\n")
    assert snippet.endswith("\n  ```")


def test_code_block_ends_at_the_end_of_its_list() -> None:
    snippet = make_snippet(
        f"- Item.\n\n  ```\n  code\n\n{'Plain words follow. ' * 30} Zebra. {'More. ' * 60}", "zebra"
    )
    assert "```" not in snippet


@loop_over("mark", ["", "- One.\n\n  ```\n  x\n  ```\n\n"])
def test_snippet_of_code_in_a_long_text_has_fences(mark: str) -> None:
    filler = "\n\n".join(["Words of no interest are here."] * 4_000)
    assert len(filler) > 100_000
    snippet = make_snippet(
        f"{mark}{filler}\n\n```python\n{CODE}\n\n{CODE}\n```\n\n{filler}", "line_50 compute"
    )
    assert re.fullmatch(r"```python\n(line_\d+.*\n)+```", snippet)
    snippet = make_snippet(
        f"{mark}{filler}\n\n- a\n\n  ```py\n{indent(CODE, '  ')}\n  ```\n\n{filler}", "line_50"
    )
    assert re.fullmatch(r"```py\n(line_\d+.*\n)+```", snippet)


@loop_over(
    "fence", ["`" * 50_000, "~~~" + "x" * 50_000, "> " * 90 + "```", " " * 90 + "- ```", ">" * 50_000 + "```"]
)
def test_snippet_is_short_with_any_code_fence(fence: str) -> None:
    for text in (f"{fence}\n zebra\n", f"{'zebra ' * 50}\n\n{fence}\n{'quagga ' * 90}\n"):
        for query in ("zebra", "quagga", "absent"):
            assert len(make_snippet(text, query)) <= SNIPPET_LENGTH + 150


def test_snippet_contains_word_near_the_end_of_a_long_text() -> None:
    snippet = make_snippet("Words of no interest are here. " * 10_000 + "The zebra is here.", "zebra")
    assert snippet.startswith("… ")
    assert snippet.endswith("The zebra is here.")


CONTAINERS = ("", "> ", "- ", "1.  ", "> - ", "- > ", "> > ", "- 1. ")


@st.composite
def nested_documents(draw: st.DrawFn) -> str:
    """Return prose and fenced code in lists and quotations; each line of code begins with `code`."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 6))):
        opening = draw(st.sampled_from(CONTAINERS))
        continuation = re.sub(r"\d\.|-", lambda match: " " * len(match[0]), opening)
        mark = draw(st.sampled_from(("```", "~~~~")))
        block = [f"prose {'zebra ' * draw(st.integers(0, 9))}", "", f"{mark}py"]
        block += [f"code {'quagga ' * draw(st.integers(0, 9))}" for _ in range(draw(st.integers(1, 8)))]
        block += [mark, "", f"prose {'word ' * draw(st.integers(0, 40))}"]
        lines += [(continuation if number else opening) + line for number, line in enumerate(block)]
        lines += ["", "margin", ""]
    return "\n".join(lines)


@settings(max_examples=scale_examples(200), deadline=None)
@given(text=nested_documents(), query=st.sampled_from(["zebra", "quagga", "word", "absent", "margin"]))
def test_code_in_lists_and_quotations_always_has_fences(text: str, query: str) -> None:
    is_inside_code = False
    for line in make_snippet(text, query).splitlines():
        words = re.sub(r"^(?:[ \t>]|[-…]|1\.)*", "", line)
        if re.match(r"```|~~~~", words):
            is_inside_code = not is_inside_code
        elif words and not is_inside_code:
            assert not words.startswith(("code", "quagga"))
        elif words:
            assert words.startswith(("code", "quagga"))
    assert not is_inside_code


@settings(max_examples=scale_examples(200), deadline=None)
@given(
    parts=st.lists(
        st.sampled_from(["word ", "zebra ", "\n\n", "\n```py\n", "\n```\n", "~~~~\n", "é", "x" * 90]),
        max_size=60,
    ),
    query=st.sampled_from(["zebra", "word zebra", "absent"]),
)
def test_fences_are_always_closed(parts: list[str], query: str) -> None:
    snippet = make_snippet("".join(parts), query)
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
        Fence(start, start + 4, start + 9, start + 12, "```", "") for start in range(6, len(text), 20)
    ]
