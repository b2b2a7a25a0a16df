"""Hypothesis strategies for documents: ordinary documents, and documents with unusual bytes."""

from __future__ import annotations

from hypothesis import strategies as st

from workspace.document.document import Document
from workspace.document.splices import EditContext
from workspace.edits.operation import DocumentOperation
from workspace.markdown.attribute_lists import AnchorForm

FILE = "doc.md"
EDIT_CONTEXT = EditContext(AnchorForm.BRACES, "2000-01-02")

TITLES = (
    "Errors",
    "Search endpoint",
    "`code` and *marks*",
    "C #",
    "数据 導入",
    "שגיאות",
    "🚀",
    "_preamble",
    "a {#not.last} b",
    r"escaped \{#no}",
    "`{#code}`",
)
ANCHORS = (
    "",
    "",
    " {#errors}",
    " {#x/y}",
    " {#k .class}",
    " { #spaced }",
    " {: .class #colon key='v' }",
    " { .class }",
    " {/* #comment */}",
    " { #id } {#errors--id-}",
    " { not an id }",
    " <#angle>",
    ' <a id="html"></a>',
    " {#_preamble}",
)

headings = st.builds(
    lambda level, title, anchor, close: f"{'#' * level} {title}{anchor}{close}",
    st.integers(1, 6),
    st.sampled_from(TITLES),
    st.sampled_from(ANCHORS),
    st.sampled_from(["", "", " ##", "  "]),
)
setext_headings = st.builds(
    lambda title, anchor, line: f"{title}{anchor}\n{line}",
    st.sampled_from(TITLES),
    st.sampled_from(ANCHORS),
    st.sampled_from(["===", "---", "  -"]),
)
tasks = st.builds(
    lambda indent, marker, box, title: f"{indent}{marker} [{box}] {title}",
    st.sampled_from(["", "", "  ", "\t", "   "]),
    st.sampled_from(["-", "*", "+", "1.", "10)", "-\t", "- -"]),
    st.sampled_from(" xX"),
    st.sampled_from(["Write it", "`a` b", "wrapped\n  over lines", "lazy\nline", "数据"]),
)
other_blocks = st.sampled_from(
    [
        "",
        "",
        "",
        "Some text.",
        "More text,\nover two lines.  ",
        "- item\n- item",
        "1. one\n2. two",
        "  - Criteria: that it works",
        "  - Completed: 2001-01-01",
        "  - Note: a\n    b",
        "-\n  [ ] below its marker",
        "```\n# not a heading\n```",
        "~~~~md\n## nor this\n~~~~",
        "```",
        "    # indented",
        "<!-- # comment -->",
        "<!--",
        "-->",
        "<div>",
        "</div>\n",
        "<pre>\n# x\n</pre>",
        "> # quoted\n> - [ ] quoted task",
        "- # in a list",
        '<a id="above"></a>',
        "## Below\n{: #below .class }",
        "{: .class }",
        '<a name="one"></a><a id="two"></a>\n',
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "[ref]: https://example.org",
        "***",
        "---",
        "===",
        "\t",
        " ",
        "\u00a0",
        "\u2028",
        "\x0c",
        "\ufffd\x00",
    ]
)
front_matter = st.sampled_from(
    [
        "",
        "",
        "---\ntitle: From above\n---\n",
        "---\n# a comment\ntags: [a, b] # behind\nother: 1\n---\n\n",
        "---\ntags:\n  - a\n  # between\n  - b\n\nother: |\n  text\n---\n",
        "---\ntags: a, b\n...\n",
        "---\n---\n",
        "---\n: [ {\n---\n",
        "---\n- list\n---\n",
        "---\nunclosed: 1\n",
    ]
)

# Bytes that `document_sources` inserts at any position: line endings, invalid bytes and invisible characters.
UNUSUAL_BYTES = (
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\r",
    b"\0",
    b"\xff",
    b"\xe2\x82",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"\x1b[2J",
    b"\x0c",
    b"\t",
    "\x85\u2028\u202e\u200b".encode(),
    "אבג 👩\u200d💻 e\u0301".encode(),
)


@st.composite
def document_sources(draw: st.DrawFn) -> bytes:
    """Draw the bytes of a document: pieces of every kind and order, any line ending, and unusual bytes."""
    blocks = draw(
        st.lists(st.one_of(headings, setext_headings, tasks, other_blocks, other_blocks), max_size=14)
    )
    text = draw(front_matter) + draw(st.sampled_from(["\n", "\n", "\n\n"])).join(blocks)
    text += draw(st.sampled_from(["", "\n", "\n\n", "  "]))
    ending = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    bom = draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"]))
    data = text.replace("\n", ending).encode()
    for unusual in draw(st.sampled_from([(), (), (), UNUSUAL_BYTES])) and draw(
        st.lists(st.sampled_from(UNUSUAL_BYTES), max_size=4)
    ):
        position = draw(st.integers(0, len(data)))
        data = data[:position] + unusual + data[position:]
    return bom + data + draw(st.sampled_from([b"", b"", b"", b"\xff"]))


documents = document_sources().map(lambda data: Document.parse(data, "doc.md"))


def revise_document(document: Document, operation: DocumentOperation) -> Document:
    """Return the document after an operation, which may fail."""
    return operation.revise(document, EDIT_CONTEXT)[0]
