"""The rewrite_text operation: it changes the bytes of only those lines that the user changed."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.loops import loop_over
from tests.workspace.documents import EDIT_CONTEXT, FILE, documents, revise_document
from workspace.document.document import Document
from workspace.document.splices import StructureChanged
from workspace.edits.content import InvalidContent, strip_blank_lines
from workspace.edits.text import RewriteText, read_editable_text
from workspace.errors import ConcurrentChange

pytestmark = pytest.mark.smoke

MIXED_LINE_ENDINGS = (
    b"\xef\xbb\xbf---\r\ntitle: x\r\n---\r\n# Title\r\n\r\nIntro  \r\nmore\xff\nmixed\r\n\r\n## A\r\n\r\n"
    b"one\r\ntwo\n\r\n```\r\n## no\r\n```\r\n\r\n## B\r\nend"
)


def rewrite_section(data: bytes, slug: str | None, old: str, new: str) -> bytes:
    """Return the bytes of a document after a replacement in the text of a section."""
    document = Document.parse(data, FILE)
    seen_text = read_editable_text(document, document.section_by_key(slug) if slug else None)
    assert old in seen_text
    operation = RewriteText(file=FILE, slug=slug, seen=seen_text, text=seen_text.replace(old, new))
    return revise_document(document, operation).data


@loop_over("slug", ["_preamble", "a", "b", None], ids=["introduction", "section", "last", "all"])
def test_unchanged_text_changes_no_byte(slug: str | None) -> None:
    assert rewrite_section(MIXED_LINE_ENDINGS, slug, "", "") == MIXED_LINE_ENDINGS


@loop_over(
    ("slug", "old", "new", "old_bytes", "new_bytes"),
    [
        ("_preamble", "Intro", "First", b"Intro  \r\n", b"First  \r\n"),
        ("_preamble", "mixed", "mixed\n\nand more", b"mixed\r\n", b"mixed\r\n\r\nand more\r\n"),
        ("a", "one\n", "", b"one\r\n", b""),
        ("a", "two", "2", b"two\n", b"2\r\n"),
        ("b", "end", "the end\nof it", b"\r\nend", b"\r\nthe end\r\nof it"),
        (None, "title: x", "title: y", b"title: x", b"title: y"),
        (None, "## A\n", "## An A\n", b"## A\r", b"## An A\r"),
    ],
    ids=["word", "added lines", "removed line", "other ending", "no last newline", "front matter", "heading"],
)
def test_only_changed_lines_have_other_bytes(
    slug: str | None, old: str, new: str, old_bytes: bytes, new_bytes: bytes
) -> None:
    assert rewrite_section(MIXED_LINE_ENDINGS, slug, old, new) == MIXED_LINE_ENDINGS.replace(
        old_bytes, new_bytes, 1
    )


@loop_over(
    ("old", "new"),
    [
        (b"one\xff\n\nlast\n", b"last\n\none\xff\n"),
        (b"\xff\n" * 4 + b"\nlast\n", b"1\n2\n3\n4\n5\n6\n\xff\n7\n"),
    ],
    ids=["moved line", "line among many new lines"],
)
def test_line_that_is_not_utf_8_is_preserved_if_moved_or_among_new_lines(old: bytes, new: bytes) -> None:
    old_text, new_text = (data.decode("utf-8", "replace").strip() for data in (old, new))
    assert rewrite_section(b"## A\n\n" + old, "a", old_text, new_text) == b"## A\n\n" + new


def test_new_headings_are_written_unchanged() -> None:
    data = rewrite_section(b"# T\n\n## A\n\nText.\n\n## B\n", "a", "Text.", "Text.\n\n### New\n\nMore.")
    assert data == b"# T\n\n## A\n\nText.\n\n### New\n\nMore.\n\n## B\n"


def test_removed_fence_may_leave_a_heading() -> None:
    document = Document.parse(b"# T\n\n## A\n\n```\n### x\n```\n\n## B\n", FILE)
    operation = RewriteText(file=FILE, slug="a", seen="```\n### x\n```", text="### x")
    assert revise_document(document, operation).data == b"# T\n\n## A\n\n### x\n\n## B\n"


def test_open_fence_is_refused() -> None:
    document = Document.parse(b"# T\n\n## A\n\nText.\n\n## B\n", FILE)
    with pytest.raises(StructureChanged):
        revise_document(document, RewriteText(file=FILE, slug="a", seen="Text.", text="```\nText."))


def test_concurrent_change_is_a_conflict_with_all_three_texts() -> None:
    document = Document.parse(b"# T\n\n## A\n\nTheirs.\n", FILE)
    with pytest.raises(ConcurrentChange) as error_info:
        revise_document(document, RewriteText(file=FILE, slug="a", seen="Before.", text="Ours."))
    assert error_info.value.details == {"base": "Before.", "theirs": "Theirs.", "ours": "Ours."}


@loop_over("text", ["", " \n\t\n"], ids=["nothing", "blank lines"])
def test_section_can_be_emptied_and_filled_again(text: str) -> None:
    data = b"# T\n\n## A\n\nText.\n\n## B\n"
    document = Document.parse(data, FILE)
    empty_document = revise_document(document, RewriteText(file=FILE, slug="a", seen="Text.", text=text))
    assert empty_document.data == b"# T\n\n## A\n\n## B\n"
    filled_document = revise_document(empty_document, RewriteText(file=FILE, slug="a", seen="", text="Text."))
    assert filled_document.data == data


def test_emptying_a_document_is_refused() -> None:
    with pytest.raises(InvalidContent):
        revise_document(Document.parse(b"Text.\n", FILE), RewriteText(file=FILE, seen="Text.", text=""))


def test_empty_document_can_be_filled() -> None:
    assert (
        revise_document(Document.parse(b"", FILE), RewriteText(file=FILE, seen="", text="# A\n\nb")).data
        == b"# A\n\nb"
    )


def test_text_with_a_nul_is_refused() -> None:
    document = Document.parse(b"# T\n\n## A\n\nText.\n", FILE)
    with pytest.raises(InvalidContent):
        revise_document(document, RewriteText(file=FILE, slug="a", seen="Text.", text="a\0b"))


@given(documents, st.data())
def test_edited_text_is_read_back_unchanged(document: Document, data: st.DataObject) -> None:
    section = data.draw(st.sampled_from([*document.sections, None]))
    seen_text = read_editable_text(document, section)
    lines = seen_text.split("\n")
    assume("\ufffd" not in seen_text)
    line_number = data.draw(st.integers(0, len(lines)))
    new = "\n".join([*lines[:line_number], "Typed.", *lines[line_number + data.draw(st.integers(0, 2)) :]])
    operation = RewriteText(file=FILE, slug=section.key if section else None, seen=seen_text, text=new)
    try:
        new_document, edit = operation.revise(document, EDIT_CONTEXT)
    except (StructureChanged, InvalidContent):
        assume(False)
    unchanged_start = document.data[: edit.splices[0].start] if edit.splices else document.data
    assert new_document.data.startswith(unchanged_start)
    if section is None:
        assert read_editable_text(new_document, None) == strip_blank_lines(new)
    else:
        start, end = section.start, len(document.data) - section.end
        assert new_document.data[:start] == document.data[:start]
        assert end == 0 or new_document.data[-end:] == document.data[-end:]
