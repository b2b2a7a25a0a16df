"""The replace_text operation replaces the quoted text as often as requested, and preserves sections."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.loops import loop_over
from tests.workspace.documents import EDIT_CONTEXT, FILE, documents, revise_document
from workspace.document.document import Document
from workspace.document.splices import StructureChanged
from workspace.edits.content import InvalidContent
from workspace.edits.text import ReplaceText, WrongMatchCount

pytestmark = pytest.mark.smoke

GUIDE = """---
status: draft
---

# Guide

Use apt.

## Set up

Use  apt to INSTALL it.
Use apt.

### Linux

Use apt.
"""


def list_headings(document: Document) -> list[tuple[str, int]]:
    """Return address and level of every section with a heading."""
    return [(section.address, section.level) for section in document.sections if section.has_heading]


def find_match_error(old: str, text: str = GUIDE, **fields: object) -> WrongMatchCount:
    """Return the error for a text that does not occur as often as requested."""
    with pytest.raises(WrongMatchCount) as error_info:
        revise_document(
            Document.parse(text.encode(), FILE), ReplaceText(file=FILE, old=old, new="x", **fields)
        )  # type: ignore[arg-type]
    return error_info.value


@given(documents, st.data())
def test_quoted_text_is_replaced_and_can_be_replaced_back(document: Document, data: st.DataObject) -> None:
    body = document.text(document.front_matter_end, len(document.data))
    assume(body.strip() and "\ufffd" not in body and "\0" not in body)
    start = data.draw(st.integers(0, len(body) - 1))
    old = body[start : start + data.draw(st.integers(1, 12))]
    new = "Zzyzx"
    normalized_body = body.replace("\r\n", "\n").replace("\r", "\n")
    normalized_old = old.replace("\r\n", "\n").replace("\r", "\n")
    count = normalized_body.count(normalized_old)
    assume(count and not (old.startswith("\n") and body[start - 1 : start] == "\r"))
    try:
        new_document = revise_document(document, ReplaceText(file=FILE, old=old, new=new, count=count))
    except StructureChanged:
        return
    assert new_document.data[: document.front_matter_end] == document.data[: document.front_matter_end]
    new_body = new_document.text(new_document.front_matter_end, len(new_document.data))
    assert new_body.replace("\r\n", "\n").replace("\r", "\n") == normalized_body.replace(normalized_old, new)
    assert list_headings(new_document) == list_headings(document)
    if new_body.count(new) == count:
        try:
            restored_document = revise_document(
                new_document, ReplaceText(file=FILE, old=new, new=old, count=count)
            )
        except StructureChanged:
            return
        text = restored_document.text(restored_document.front_matter_end, len(restored_document.data))
        assert text.replace("\r\n", "\n").replace("\r", "\n") == normalized_body


@given(documents, st.data())
def test_replacement_of_any_text_preserves_the_sections(document: Document, data: st.DataObject) -> None:
    lines = document.text(document.front_matter_end, len(document.data)).splitlines()
    assume(lines)
    old = data.draw(st.sampled_from(lines))
    new = data.draw(
        st.sampled_from(
            ["", "# new", "```", "<!--", "-->", "\n---\n", "\n\n===", "    x", "text {#errors}", "<div>"]
        )
    )
    try:
        new_document = revise_document(document, ReplaceText(file=FILE, old=old, new=new))
    except (WrongMatchCount, StructureChanged, InvalidContent):
        return
    assert list_headings(new_document) == list_headings(document)


def test_count_mismatch_error_lists_all_lines() -> None:
    error = find_match_error("Use apt")
    assert error.details["matches"] == 3
    assert error.details["lines"] == [7, 12, 16]
    assert error.fix.endswith("or set count to 3.")
    error = find_match_error("Use apt", count=4)
    assert error.fix == "Set count to 3."


def test_count_mismatch_error_lists_at_most_fifty_lines() -> None:
    error = find_match_error("a", "a\n" * 10_000)
    assert error.details["matches"] == 10_000
    assert error.details["lines"] == [*range(1, 51)]
    assert error.message.endswith("lines 1, 2, 3, 4, 5, …")


@loop_over(
    ("old", "fields", "fix_part", "similar_lines"),
    [
        ("use apt to\ninstall", {}, "line 11 with different white space or case", [11]),
        ("status: draft", {}, "set_metadata", []),
        ("Use apt.", {"slug": "_preamble", "count": 2}, "Set count to 1", None),
        ("to INSTALL", {"slug": "set-up/linux"}, "'set-up', on line 11", [11]),
        ("Use apt to INSTALL them.", {}, "Line 11 is the most similar", [11]),
        ("nothing of the kind at all", {}, "quote the text exactly", []),
    ],
)
def test_error_for_text_not_found_suggests_a_fix_and_similar_lines(
    old: str, fields: dict[str, object], fix_part: str, similar_lines: list[int] | None
) -> None:
    error = find_match_error(old, **fields)
    assert fix_part in error.fix
    assert error.details.get("near") == similar_lines
    assert "INSTALL" not in error.message + error.fix


def test_quoted_text_matches_any_line_ending() -> None:
    document = Document.parse(b"a\rb\r\nc\nd\r\n", FILE)
    assert (
        revise_document(document, ReplaceText(file=FILE, old="a\nb\r\nc", new="x\ny")).data == b"x\ry\nd\r\n"
    )


def test_result_has_the_lines_before_the_replacement() -> None:
    document = Document.parse(b"# D\n\na\na\n\n## E\n\na\n", FILE)
    _, edit = ReplaceText(file=FILE, old="a\n", new="b\nb\n", count=3).revise(document, EDIT_CONTEXT)
    assert edit.result == {"replaced": 3, "lines": [3, 4, 8], "slug": "_preamble"}


def test_text_missing_from_a_repetitive_document_is_not_found() -> None:
    # 150,000 offsets with 50,000 comparisons each would take minutes.
    document = Document.parse(b"a" * 200_000 + b"\n", FILE)
    assert find_match_error("a" * 50_000 + "b", document.data.decode()).details["matches"] == 0
