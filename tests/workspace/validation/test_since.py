"""New findings since an earlier state: on changed lines, or caused by other changes."""

from __future__ import annotations

from collections.abc import Mapping

from tests.workspace.validation.memory import files, validator
from workspace.git.objects import hash_blob
from workspace.validation.run import exclude_earlier, map_earlier_paths

BEFORE = {
    "a.md": "# A\n\n[x](gone.md)\n\n[b](b.md#setup)\n",
    "b.md": "# B\n\n## Setup\n",
}


def new(after: Mapping[str, str]) -> list[tuple[str, int, str]]:
    now, before = validator(after), validator(BEFORE)
    found = now.check(now.files.documents)
    blobs = {path: hash_blob(text.encode()) for path, text in BEFORE.items()}
    was_at = map_earlier_paths(now.files, before.files, blobs, sorted({one.path for one in found}))
    earlier = before.check(sorted(was_at.values()))
    return [(one.path, one.line, one.message) for one in exclude_earlier(found, earlier, was_at)]


def test_unchanged_documents_have_no_new_findings() -> None:
    assert new(BEFORE) == []


def test_lines_added_above_make_no_new_findings() -> None:
    assert new({**BEFORE, "a.md": "---\ntitle: A\n---\n" + BEFORE["a.md"]}) == []


def test_changed_line_with_broken_link_is_reported() -> None:
    assert new({**BEFORE, "a.md": BEFORE["a.md"].replace("[x]", "see [x]")}) == [
        ("a.md", 3, "the link 'gone.md' leads nowhere: there is no such file")
    ]


def test_repeated_line_is_new() -> None:
    found = new({**BEFORE, "a.md": BEFORE["a.md"] + "\n[x](gone.md)\n"})
    assert [place[:2] for place in found] == [("a.md", 7)]


def test_link_broken_by_change_of_other_file_is_new() -> None:
    assert new({**BEFORE, "b.md": "# B\n\n## Set up\n"}) == [
        ("a.md", 5, "the link 'b.md#setup' leads nowhere: no section 'setup' in b.md")
    ]
    assert new({"a.md": BEFORE["a.md"]}) == [
        ("a.md", 5, "the link 'b.md#setup' leads nowhere: there is no such file")
    ]


def test_unchanged_moved_document_reports_only_links_it_broke() -> None:
    assert new({"docs/z.md": BEFORE["a.md"], "b.md": BEFORE["b.md"]}) == [
        ("docs/z.md", 5, "the link 'b.md#setup' leads nowhere: there is no such file")
    ]


def test_moved_and_edited_document_is_matched_by_name() -> None:
    text = BEFORE["a.md"].replace("[b](b.md", "[b](../b.md")
    assert new({"docs/a.md": text, "b.md": BEFORE["b.md"]}) == []


def test_ambiguous_move_is_not_matched() -> None:
    before, now = files({"a/x.md": "1", "b/x.md": "2"}), files({"c/x.md": "3"})
    blobs = {"a/x.md": hash_blob(b"1"), "b/x.md": hash_blob(b"2")}
    assert map_earlier_paths(now, before, blobs, ["c/x.md"]) == {}
