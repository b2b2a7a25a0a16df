"""The scanner returns the same headings as the parser, and needs no parser for common texts."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.loops import loop_over
from tests.workspace.adversarial_documents import ADVERSARIAL_BUILDERS
from tests.workspace.documents import document_sources
from workspace.document.document import Document
from workspace.document.headings import scan_layout
from workspace.markdown import anchors, inline
from workspace.markdown.inline import to_plain_text
from workspace.markdown.lines import Lines
from workspace.markdown.outline import BlockOutline, read_outline
from workspace.markdown.scanner import ScannedHeadings, scan_headings

pytestmark = pytest.mark.smoke

HEADINGS = (
    "# A", "## B ##", "   ## C", "  # d #", "#", "####### x", "    # e", "\t# f", "#\tg", "# h \\#", "#i",
    "# \u00a0j\u00a0", "# k\x1c",
)  # fmt: skip
UNDERLINES = (
    "===",
    "---",
    "--",
    "-",
    "=",
    "   ---",
    "  ===",
    "    ---",
    "--- ",
    "---\t",
    "- - -",
    "***",
    "* * *",
)
FENCES = (
    "```", "````", "~~~", "~~~~", "``` js", "``` a`b", "   ```", "  ~~~", "    ```", "``` ", "~~~ `",
    "- ```", "> ```", "1. ```", "``` \t",
)  # fmt: skip
HTML = (
    "<div>", "</div>", "<!--", "-->", "<!-- x -->", "<!-->", "<pre>", "</pre>", "<pre/>",
    "<script>x</script>", "<?", "?>", "<!X", "<!x>", "<![CDATA[", "]]>", "<span>", '<a id="x"></a>',
    "<a b='>", "  <div>", "   <!--", "    <!--", "   <table>", "- <div>", "<b", '<x y="', "-->x", "<h1>",
    "<p>a</p>", "<p\u00a0>", "</SCRIPT>",
)  # fmt: skip
CONTAINERS = (
    "- a", "- b", "* c", "+ d", "1. one", "2) two", "  - sub", "    - deep", "   - x", "-   wide", "-\ttab",
    "- # in", "-", "1.", "> q", "> # q", "> - a", ">", "  > q", "- > a", "> > b", "- - - c",
)  # fmt: skip
TEXT_LINES = (
    "text", "more text", "  text", "    text", "\ttext", "12 a", "12. a", "`x`", "*a*", "**b** c", "é", "(a)",
    "! x", "| a | b |", "\\", "[a]: b", "[a]:", "[a]: b 'c", "c'", "[a", "](b)", "...", "+++", "\ufffd",
)  # fmt: skip
BLANK_LINES = ("", "", "", " ", "   ", "\t", "\u00a0", "\x0c", "\x0b", "\u2028")

lines = st.one_of(
    *map(st.sampled_from, (HEADINGS, UNDERLINES, FENCES, HTML, CONTAINERS, TEXT_LINES, BLANK_LINES))
)
indented_lines = st.builds(
    lambda indent, line: indent + line, st.sampled_from(["", "", "", " ", "  ", "> ", "- "]), lines
)
front_matter = st.sampled_from(
    [
        "",
        "",
        "",
        "---\n",
        "---  \na: b\n---\n",
        "----\n",
        "---\na\n   ---\n",
        "---\na\n...\n",
        "--- x\n",
        "---\n---",
    ]
)
UNUSUAL_BYTES = (b"\xff", b"\xe2\x82", b"\r", b"\0", b"\n", b"\t", b"\xef\xbb\xbf")


@st.composite
def difficult_texts(draw: st.DrawFn) -> bytes:
    """Draw the bytes of documents whose lines may change the meaning of later lines."""
    text = (
        draw(front_matter)
        + "\n".join(draw(st.lists(indented_lines, max_size=12)))
        + draw(st.sampled_from(["", "\n"]))
    )
    data = text.replace("\n", draw(st.sampled_from(["\n", "\n", "\n", "\r\n", "\r"]))).encode()
    if draw(st.integers(0, 9)) == 0:
        position = draw(st.integers(0, len(data)))
        data = data[:position] + draw(st.sampled_from(UNUSUAL_BYTES)) + data[position:]
    return draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"])) + data


def parse_headings(data: bytes) -> ScannedHeadings:
    """Return the headings that the parser finds, as the expected result of the scanner."""
    line_offsets = Lines(data)
    read_result = read_outline(data[line_offsets.offset(0) :].decode("utf-8", "replace"), is_document=True)
    line_count = read_result.front_matter_lines
    return ScannedHeadings(
        front_matter=(line_offsets.offset(1), line_offsets.offset(line_count - 1)) if line_count else (0, 0),
        front_matter_lines=line_count,
        body_start=line_offsets.offset(line_count),
        line_count=len(line_offsets),
        headings=list(read_result.headings),
        spans=[
            (line_offsets.offset(heading.line), line_offsets.offset(heading.end))
            for heading in read_result.headings
        ],
    )


def read_contents(document: Document) -> tuple[object, ...]:
    """Return the contents of a document except its tasks."""
    return (
        document.title,
        document.has_title,
        document.front_matter,
        document.front_matter_lines,
        document.front_matter_end,
        document.sections,
    )


@given(difficult_texts())
@example(b"        - deep\n]]>\n-")
@example(b"-  ~~~~\n\n   -   wide\n`x`\n---")
@example(b"- a\n\n  ```\n# out\n  ```\n# in\n")
@example(b"1. a\n   ```\nb\n   ```\n# c\n")
@example(b"<div>\n# a\n\n# b\n")
@example(b"a\n<span>\n# b\n\n<span>\n# c\n")
@example(b"<!--\n\n# a\n-->\n# b\n")
@example(b"> <!--\n# a\n")
@example(b"> a\n===\n\nb\n \n===\n")
@example(b"[a]: b\n===\n")
def test_scanner_finds_the_headings_of_the_parser(data: bytes) -> None:
    headings = scan_headings(data)
    assert headings is None or headings == parse_headings(data)


@given(st.one_of(difficult_texts(), document_sources()))
@example(b'- a\n<a id="x"></a>\n## B\n')
@example(b'## A\n\n<a id="x"></a>\n\n## B\n')
def test_document_is_equal_with_and_without_the_scanner(data: bytes) -> None:
    document, expected = Document.parse(data, "doc.md"), Document.parse_fully(data, "doc.md")
    assert read_contents(document) == read_contents(expected)
    assert document.outline == expected.outline


@loop_over("build_document", ADVERSARIAL_BUILDERS.values(), ids=ADVERSARIAL_BUILDERS)
def test_adversarial_texts_have_the_headings_of_the_parser(build_document: Callable[[int], bytes]) -> None:
    for size in (1, 2, 5, 120):
        data = build_document(size)
        headings = scan_headings(data)
        assert headings is None or headings == parse_headings(data)


@loop_over(
    "text",
    [
        "",
        "---\na: b\n---",
        "---\na: b\n---\n# A\n\ntext\n\n## B ##\n",
        "# A\r\n\r\ntext\r\n\r\n## B\r\n",
        "\ufeff# A\n",
        "A\nb\n===\n\nC\n---\n\n---\n\ntext\n",
        "# A\n\n```sh\n# no\n```\n\n~~~~\n# no\n~~~\n# no\n~~~~\n\n## B\n",
        "# A\n\n1. one\n\n   ```sh\n   # no\n   ```\n\n2. two\n\n## B\n",
        "# A\n\n- one\n- two\n---\n\n> quoted\n## B\n",
        "# A\n<!-- a\n\n# no\n-->\n## B\n",
        "# A\n<div>\n# no\n</div>\n\n## B\n",
        '# A\n\n<a id="b"></a>\n\n## B\n',
        "# A\n\n- one\n\ntext\n\n  ## B\n",
        "# A\n\n```\n# to the end\n",
    ],
)
def test_common_texts_are_scanned_without_the_parser(text: str) -> None:
    assert scan_layout(text.encode()) is not None
    assert scan_headings(text.encode()) == parse_headings(text.encode())


@loop_over(
    "text",
    [
        "# A\r",
        "# A\n\r\n",
        "# \0\n",
        "- a\n\n  # perhaps in the list\n",
        "- a\n\n  ```\nout of the list\n  ```\n",
        "a\n<span>\n# b\n",
        "[a]: b\n===\n",
        '- a\n<a id="x"></a>\n## B\n',
    ],
)
def test_uncertain_texts_are_not_scanned(text: str) -> None:
    assert scan_layout(text.encode()) is None


def test_sections_are_read_without_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> BlockOutline:
        raise AssertionError("the parser was called")

    monkeypatch.setattr("workspace.document.document.read_outline", refuse)
    document = Document.parse(b"# A\n\n- [ ] task\n\n## B\n")
    assert [section.address for section in document.sections] == ["_preamble", "b"]
    with pytest.raises(AssertionError):
        _ = document.all_tasks


@given(st.text("ab_ `*[]()!&<>~#;\\\n\u00e9", max_size=20))
@example("`a``b`")
@example("`<`a`>`")
@example("[`a`](b)")
@example("[`a](b)")
@example("[*a_](http://b/c_d#e)")
@example("![a](b)")
@example("[ ](b)")
def test_plain_text_equals_that_of_the_inline_parser(source: str) -> None:
    assert to_plain_text(source) == inline._parse_plain_text(source)


@given(st.text("ab <>/`{}#\\[]'\"=", max_size=20))
@example('<a id="y"></a>b')
@example("b {#y}")
@example("b <#y>")
@example(" b `<c>`")
def test_fast_path_for_one_html_anchor_equals_the_full_reader(words: str) -> None:
    # The fast path reads only a tag in lower case.
    fast_result, full_result = (anchors.read_heading(f'<{tag} id="x"></a>{words}') for tag in ("a", "A"))
    assert fast_result == full_result._replace(prefix=full_result.prefix.replace("<A", "<a"))
