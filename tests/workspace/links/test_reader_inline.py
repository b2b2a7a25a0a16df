"""Inline links equal those of markdown-it-py, except where markdown-it-py differs from CommonMark."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.loops import loop_over
from tests.workspace.links.markdown_it_links import LinkFields, MarkdownItReader
from workspace.links.inline import read_inline
from workspace.links.link import LinkKind, LinkSpan, NameSpan

pytestmark = pytest.mark.smoke

LIBRARY = MarkdownItReader()

MARKS = (
    *"[]()[]()<>\\`!*_|&\"'.a b\n\t",
    *("](", "![", "``", "](b)", "[a]", "[b]", "[]", "](<", ' "t"', "x y", "&amp;", "\\]", "\\("),
    *(
        "http://x",
        "<http://x>",
        "<a ",
        'href="b"',
        "<b>",
        "</b>",
        "<!--",
        "-->",
        "<?",
        "?>",
        "<![CDATA[",
        "]]>",
    ),
)
texts = st.lists(st.sampled_from(MARKS), min_size=1, max_size=16).map("".join)


def read_link_fields(text: str, labels: frozenset[str] = frozenset()) -> list[LinkFields]:
    spans = [span for span in read_inline(text, 0, len(text), labels) if isinstance(span, LinkSpan)]
    return sorted(
        (span.kind, span.is_image, span.start, span.end, span.destination_start, span.destination_end)
        for span in spans
        if span.kind is not LinkKind.HTML
    )


@given(texts)
@example("[a [b](c) d](e)")
@example("![a [b](c) ![d](e)](f)")
@example("[![a](b)](c)")
@example("[a](b(c)d) [a](b(c)")
@example("[a](<b c> 'd') [a](b 'c) [a](b (c))")
@example("`[a](b` c) ``[a](b)`` `")
@example("\\[a](b) [a\\](b) [a](b\\)c) \\![a](b)")
@example("<a title='[a](b)'> [<http://x](y)>](b)")
@example("[a]( ) [a](\n<b>\n'c\nd'\n)")
def test_reader_finds_the_same_links_as_the_library(text: str) -> None:
    # The library does not end a comment in `---->` (CommonMark §6.6), and treats a backslash before white
    # space as the end of a destination (§6.3).
    assume("--->" not in text and "\\ " not in text and "\\\n" not in text and "\\\t" not in text)
    assert read_link_fields(text) == LIBRARY.read_links(text)


@given(texts)
@example("[a][b] [a][] [a] ![a] [c][a] [a][c] [A]")
@example("[a [b] c][a]")
@example("[![a]][b]")
def test_reader_finds_the_same_references_as_the_library(text: str) -> None:
    # If a link's parentheses are not closed, the library continues after them. It also allows brackets in
    # labels, as CommonMark §6.3 does not.
    assume(
        "(" not in text and "--->" not in text and "[[" not in text and "][" not in text.replace("][a]", "")
    )
    labels = frozenset("AB")
    assert read_link_fields(text, labels) == LIBRARY.read_links(text, labels)


@loop_over(
    "text",
    [
        "[a](b [a]",
        "![a](b [a]",
        "[a]( [a]",
    ],
)
def test_brackets_before_unclosed_parentheses_are_a_reference(text: str) -> None:
    """CommonMark §6.3; the library does not implement this."""
    first_link, second_link = read_link_fields(text, frozenset("A"))
    assert (first_link[0], second_link[0]) == (LinkKind.REFERENCE, LinkKind.REFERENCE)


def test_label_with_a_bracket_is_invalid() -> None:
    assert [fields[2:4] for fields in read_link_fields("[a][b [b] c]", frozenset("AB"))] == [(0, 3), (6, 9)]


@loop_over(
    ("text", "names"),
    [
        ('<a id="x" name=y></a>', ["x", "y"]),
        ("<a name='x'><b name=y id=z>", ["x", "z"]),
        ("`<a id=x>` \\<a id=y> <!-- <a id=z> --> <? <a id=u> ?> <![CDATA[<a id=v>]]>", []),
        ("![<a id=x>](y)", []),
        ("<a id=''> <a id> <a id=x id=y>", ["x"]),
        ("<a id=x&amp;y>", ["x&y"]),
        ("</a id=x> <a id=x", []),
    ],
)
def test_html_names_are_read(text: str, names: list[str]) -> None:
    found_names = [span.name for span in read_inline(text, 0, len(text)) if isinstance(span, NameSpan)]
    assert found_names == names


@loop_over(
    ("text", "destinations"),
    [
        ("[[Page]] and [[Page#Heading|text]]", ["Page", "Page#Heading"]),
        ("![[image.png]] `[[code]]` \\[[a]]", ["image.png"]),
        ("[[a]](b) [[a\\|b]]", ["b", "a"]),
        ("[[]] [[ ]] [[a\nb]] [[a", []),
        ("[[ a b ]] [[ c |d]]", ["a b", "c"]),
    ],
)
def test_wiki_links_are_read_if_enabled(text: str, destinations: list[str]) -> None:
    items = read_inline(text, 0, len(text), wiki=True)
    spans = [span for span in items if isinstance(span, LinkSpan)]
    assert [text[span.destination_start : span.destination_end] for span in spans] == destinations
    assert not any(
        span.kind is LinkKind.WIKI for span in read_inline(text, 0, len(text)) if isinstance(span, LinkSpan)
    )
