"""A union keeps the texts of both sides, ours first, or is refused."""

from __future__ import annotations

import pytest

from tests.loops import loop_over
from workspace.document.document import Document
from workspace.merge.conflict import (
    InvalidResolution,
    Resolution,
    ResolutionChoice,
    UnitConflict,
    UnitId,
    UnitKind,
)
from workspace.merge.documents import MergedDocument, merge_documents
from workspace.merge.union import join_sides

UNION = Resolution(ResolutionChoice.UNION)
TEXT = "# Guide\n\n## Setup\n\n{}\n\nThe end.\n\n## Use\n\nUse it.\n"


def join(ours: str | None, theirs: str | None, kind: UnitKind = UnitKind.TEXT) -> str | None:
    versions = (None if text is None else text.encode() for text in (ours, theirs))
    joined = join_sides(UnitConflict(UnitId(kind, "setup"), b"Base.", *versions))
    return None if joined is None else joined.decode()


@loop_over(
    ("ours", "theirs", "expected"),
    [
        ("Ours.", "Theirs.", "Ours.\n\nTheirs."),
        ("Same.\n\nOurs.", "Same.\n\nTheirs.\n\nMore.", "Same.\n\nOurs.\n\nTheirs.\n\nMore."),
        ("Same.\n\nOurs.", "Same.", "Same.\n\nOurs."),
        ("- a", "- b", "- a\n- b"),
        ("- a\n- b", "- a\n- c", "- a\n- b\n- c"),
        ("3. a", "3. b", "3. a\n3. b"),
        ("- a", "Words.", "- a\n\nWords."),
        ("| A |\n|---|\n| 1 |", "| A |\n|---|\n| 2 |", "| A |\n|---|\n| 1 |\n\n| A |\n|---|\n| 2 |"),
        ("```\na\n```", "```\nb\n```", "```\na\n```\n\n```\nb\n```"),
        ("[a]: x", "[b]: y", "[a]: x\n[b]: y"),
    ],
)
def test_text_of_theirs_follows_text_of_ours(ours: str, theirs: str, expected: str) -> None:
    assert join(ours, theirs) == expected


@loop_over(
    ("ours", "theirs", "kind"),
    [
        (None, "Theirs.", UnitKind.TEXT),
        ("Ours.", None, UnitKind.TEXT),
        ("Ours.", "Theirs.", UnitKind.SECTION),
        ("Ours.", "Theirs.", UnitKind.DOCUMENT),
        ("a: 1", "a: 2", UnitKind.METADATA),
        ("## A", "## B", UnitKind.HEADING),
        ("- [ ] A", "- [x] A", UnitKind.TASK),
        ("\nuse", "\nend", UnitKind.POSITION),
        ("Ours. {#here}", "Theirs. {: #here}", UnitKind.TEXT),
        ('<a id="here"></a>Ours.', "<a id=here></a>Theirs.", UnitKind.TEXT),
        ("[a]: x", "[A]: y", UnitKind.TEXT),
        ("- [ ] Do it\n- a", "- [x] Do it\n- b", UnitKind.TEXT),
        ("- a\n  - [ ] Do it", "- b\n  - [x] Do it", UnitKind.TEXT),
        ("```\nopen", "Theirs.", UnitKind.TEXT),
        ("<!-- open", "Theirs.", UnitKind.TEXT),
    ],
)
def test_versions_that_exclude_each_other_are_not_joined(
    ours: str | None, theirs: str | None, kind: UnitKind
) -> None:
    assert join(ours, theirs, kind) is None


def merge(ours: str, theirs: str, base: str = "Run it.", ending: str = "\n") -> MergedDocument:
    """Merge two versions of a section with a union of the conflicts in it."""
    texts = (TEXT.format(text).replace("\n", ending) for text in (base, ours, theirs))
    documents = [Document.parse(text.encode(), "guide.md") for text in texts]
    units = [UnitId(UnitKind.TEXT, "setup", part) for part in ("", "0", "1")]
    return merge_documents(*documents, dict.fromkeys(units, UNION))


@loop_over("ending", ["\n", "\r\n"])
def test_union_resolves_a_conflict(ending: str) -> None:
    merged = merge("Run ours.", "Run theirs.", ending=ending)
    expected = TEXT.format("Run ours.\n\nRun theirs.").replace("\n", ending)
    assert (merged.data.decode(), merged.conflicts) == (expected, ())
    assert len(merged.resolved_units) == 1


def test_union_of_list_items_stays_one_list() -> None:
    merged = merge("- a\n- ours", "- a\n- theirs", base="- a\n- b")
    assert "- a\n- ours\n- theirs\n\nThe end." in merged.data.decode()
    assert merged.conflicts == ()


def test_union_of_texts_with_one_anchor_is_refused() -> None:
    with pytest.raises(InvalidResolution, match="both versions") as error_info:
        merge("Ours. {#here}", "Theirs. {#here}")
    assert error_info.value.details["unit"] == UnitId(UnitKind.TEXT, "setup", "0")
