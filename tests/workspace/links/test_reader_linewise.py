"""The linewise reader returns the same links as the parser, in linear time."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.loops import loop_over
from tests.workspace.adversarial_documents import ADVERSARIAL_BUILDERS
from workspace.document.document import Document
from workspace.links.link import Enclosure, LinkKind
from workspace.links.reader import (
    LINE_ENDS_ABOVE,
    read_cached_links,
    read_links,
    read_links_by_parser,
    read_links_linewise,
)
from workspace.markdown.inline import unescape

pytestmark = pytest.mark.smoke

BEGINNINGS = (
    "",
    "- ",
    "* ",
    "10. ",
    "2) ",
    "> ",
    "  ",
    "    ",
    "     ",
    "\t",
    "# ",
    "### ",
    "-\t",
    "1.      ",
)
BLOCKS = (
    *(
        "```",
        "~~~",
        "```py",
        "---",
        "===",
        "- - -",
        "|---|---|",
        "--- | ---",
        "|:-|",
        "<div>",
        "</div>",
        "<pre>",
    ),
    *("<!-- ", "-->", "<script>", "[^1]: ", "[a]: b", "[a]:", "[a", "](b)", "...", "-", "#"),
)
WORDS = (
    *(
        "a ",
        "b|",
        "| ",
        "\\|",
        "`",
        "``",
        "\\",
        "*",
        "(",
        ")",
        "&amp;",
        "é",
        " <",
        ".",
        "[ ] ",
        "[^1]",
        "\0",
        "\xa0",
    ),
    *(
        "[a](b)",
        "![i](j)",
        "[![a](b)](c)",
        "[`x`](y)",
        '[a](b "t")',
        "[a](<b c>)",
        "[a](b(c))",
        "[a]",
        "[[w]]",
    ),
    *('<a href="x">', "<a id=y>", "<br>", "<http://x.y>"),
)
lines = st.builds(
    lambda begin, words, end: "".join((*begin, *words, *end)),
    st.lists(st.sampled_from(BEGINNINGS), max_size=2),
    st.lists(st.sampled_from(BLOCKS) | st.sampled_from(WORDS), max_size=4),
    st.sampled_from(["", "", " ", "\n"]),
)
texts = st.lists(lines, min_size=1, max_size=9).map("\n".join)


@given(texts, st.booleans())
@example("- a </div>\n| [a](b)\n\t~~~[a](b)\n", False)
@example("    [a](b)\n\n- c\n\n      [a](b)\n\n          [a](b)\n", False)
@example("a\n    [a](b)\n# b\n    [a](b)\n", False)
@example("```\n[a](b)\n```\n    [a](b)\n", False)
@example("- a\n  ```\n  [a](b)\n- c [a](b)\n  ```\n", False)
@example("| a | b |\n|---|---|\n| `a | [a](b)` | [c](d)\n", False)
@example("| | |\n| [a](b) |\n", False)
@example("[a\n](b) `c\n[a](b)`\n", False)
@example("[[a]] [[b|c]]\n\n# [[d]]\n", True)
@example("| [[a]] | b |\n|---|---|\n| [[c\\|d]] | e |\n", True)
@example("- a\n\n    [[a]]\n", True)
def test_linewise_reader_equals_the_parser(text: str, wiki: bool) -> None:
    document = Document.parse(text.encode())
    assert read_links(document, wiki=wiki) == read_links_by_parser(document, wiki=wiki)


@given(texts)
def test_line_endings_do_not_change_the_links(text: str) -> None:
    """The text has LF, CR or CRLF, or begins with a byte-order mark."""
    links_by_ending = [
        [
            (link.kind, link.destination, link.label, link.line)
            for link in read_cached_links(Document.parse(data)).links
        ]
        for data in (
            text.encode(),
            text.replace("\n", "\r").encode(),
            text.replace("\n", "\r\n").encode(),
            b"\xef\xbb\xbf" + text.encode(),
        )
    ]
    assert links_by_ending[1:] == links_by_ending[:1] * 3


@given(texts, st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from([b"", b"\xff", b"\xc3", b"\0"]))
@example("- [a](\n  b)\n\n> [c]:\n>   d\n>   'e'\n", "\r\n", b"")
@example("[a]: b.", "\n", b"\0")
def test_offsets_are_those_of_the_destination_bytes(text: str, ending: str, replacement: bytes) -> None:
    data = text.replace("\n", ending).encode().replace(b".", replacement)
    document = Document.parse(b"---\na: b\n---\n" + data)
    for link in read_cached_links(document).links:
        destination_text = document.data[link.destination_start : link.destination_end].decode(
            "utf-8", "replace"
        )
        link_bytes = document.data[link.start : link.end]
        assert link.line == document.lines.line_at(link.start) + 1
        if link.kind in (LinkKind.INLINE, LinkKind.DEFINITION):
            # CommonMark §2.3: a NUL is read as U+FFFD.
            assert link.destination == unescape(destination_text.replace("\0", "\ufffd"))
        if link.kind is LinkKind.INLINE:
            assert link_bytes.startswith(b"![" if link.is_image else b"[")
            assert link_bytes.endswith(b")")
            enclosed = document.data[link.destination_start - 1 : link.destination_end + 1]
            assert link.enclosure is (Enclosure.ANGLE if enclosed[:1] == b"<" else Enclosure.BARE)
        elif link.kind is LinkKind.REFERENCE:
            assert link_bytes.endswith(b"]")
            assert link.destination_start == link.destination_end
        elif link.kind in (LinkKind.HTML, LinkKind.AUTOLINK):
            assert link_bytes.startswith(b"<")
            assert link_bytes.endswith(b">")


def test_common_texts_are_read_without_the_parser() -> None:
    section_count = 3
    text = "".join(
        f'## Part {number}\n\nSee [a](b.md), `[code]` and ![an image](c.png "d").\n\n'
        "- [ ] Do [`this`](e.md#f)\n  - <https://example.org> or <br> that\n\n"
        "```\n[not](a-link.md)\n```\n\n| a | b |\n|---|---|\n| [c](d.md) | e |\n\n> Note [x](y.md)\n\n"
        for number in range(section_count)
    )
    section_starts = [
        len(LINE_ENDS_ABOVE) + offset for offset in range(len(text)) if text.startswith("## ", offset)
    ]
    links, unparsed_parts = read_links_linewise(LINE_ENDS_ABOVE + text, section_starts)
    links_per_section = 6
    assert len(links) == section_count * links_per_section
    assert unparsed_parts == []


@loop_over("name", ADVERSARIAL_BUILDERS)
def test_adversarial_texts_are_read_like_the_parser(name: str) -> None:
    document = Document.parse(ADVERSARIAL_BUILDERS[name](100))
    assert read_links(document) == read_links_by_parser(document)


@pytest.mark.slow
@loop_over(
    ("text", "link_count"),
    [
        ("# A\n\n" + "[a](#a) " * 10_000, 10_000),
        ("# A\n\n" + "- [a](doc.md#a)\n" * 10_000, 10_000),
        # Two references, and the first definition of each label.
        ("# A\n\n" + "[a][] [b]\n\n" + "[a]: #a\n[b]: doc.md\n" * 5_000, 4),
        ("# A\n\n" + "[a][b] " * 10_000 + "\n\n[b]: #a\n", 10_001),
    ],
)
def test_ten_thousand_links_of_a_document_to_itself_are_read(text: str, link_count: int) -> None:
    document = Document.parse(text.encode(), "doc.md")
    links = read_cached_links(document).links
    assert {link.destination for link in links} <= {"#a", "doc.md", "doc.md#a"}
    assert len(links) == link_count


DIFFICULT_TEXTS = {
    "brackets": lambda n: "[" * n + "]" * n,
    "links in links": lambda n: "[" * n + "a" + "](b)" * n,
    "images in images": lambda n: "![" * n + "a" + "](b)" * n,
    "unfinished destinations": lambda n: "[a](b" * n,
    "unfinished angles": lambda n: "[a](<b" * n,
    "unfinished titles": lambda n: "[a](b \"c [a](b 'd " * n,
    "growing ticks": lambda n: " ".join("`" * length for length in range(int(n**0.5))),
    "comments": lambda n: "a <!-- <![CDATA[ <? <!A " * n,
    "tags": lambda n: "a <a b='<a b=\"" * n,
    "attributes": lambda n: "<a " + "b = " * n,
    "spaces in a tag": lambda n: "<div>\n<a" + " " * n + "b",
    "scripts": lambda n: "<div>\n" + "<script>" * n,
    "dashes": lambda n: "a\n" + "-" * n + "x\n" + "- " * n + "x\n",
    "pipes": lambda n: "|" * n + "\n" + "|-" * n + "x\n",
    "tables": lambda n: "|a|b|\n|-|-|\n" * n + "|[a](b)|`c\n" * n,
    "parentheses": lambda n: "[a](" + "(" * n + "[a](" + "(b)" * n,
    "labels": lambda n: "[a]: b\n\n" + "[a " * n + "[" + "b " * n + "]" * n,
    "fences in a list": lambda n: "- a\n" + "  ```\n  [a](b)\n" * n,
    "open fences": lambda n: "".join("`" * (3 + number % 50) + "\n" for number in range(n)),
    "indented lines": lambda n: "\n    x\n" * n + "[a](b)\n",
    "wiki links": lambda n: "[[a" * n + "]]" * n + "[[" + " " * n,
}


@loop_over("name", DIFFICULT_TEXTS)
def test_difficult_texts_are_read_like_the_parser(name: str) -> None:
    document = Document.parse(DIFFICULT_TEXTS[name](1_000).encode())
    assert read_links(document, wiki=True) == read_links_by_parser(document, wiki=True)
