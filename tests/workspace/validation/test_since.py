"""What is new since an earlier state: on changed lines, and elsewhere by what changed."""

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


def test_nothing_is_new_where_nothing_changed() -> None:
    assert new(BEFORE) == []


def test_lines_that_come_above_change_nothing() -> None:
    assert new({**BEFORE, "a.md": "---\ntitle: A\n---\n" + BEFORE["a.md"]}) == []


def test_a_changed_line_is_told_of_though_its_link_was_broken() -> None:
    assert new({**BEFORE, "a.md": BEFORE["a.md"].replace("[x]", "see [x]")}) == [
        ("a.md", 3, "the link 'gone.md' leads nowhere: there is no such file")
    ]


def test_the_same_line_once_more_is_new() -> None:
    found = new({**BEFORE, "a.md": BEFORE["a.md"] + "\n[x](gone.md)\n"})
    assert [place[:2] for place in found] == [("a.md", 7)]


def test_a_link_that_another_file_s_change_broke_is_new() -> None:
    assert new({**BEFORE, "b.md": "# B\n\n## Set up\n"}) == [
        ("a.md", 5, "the link 'b.md#setup' leads nowhere: no section 'setup' in b.md")
    ]
    assert new({"a.md": BEFORE["a.md"]}) == [
        ("a.md", 5, "the link 'b.md#setup' leads nowhere: there is no such file")
    ]


def test_a_document_that_was_moved_as_it_is_brings_only_what_the_move_broke() -> None:
    assert new({"docs/z.md": BEFORE["a.md"], "b.md": BEFORE["b.md"]}) == [
        ("docs/z.md", 5, "the link 'b.md#setup' leads nowhere: there is no such file")
    ]


def test_a_document_that_was_moved_and_edited_is_known_by_its_name() -> None:
    text = BEFORE["a.md"].replace("[b](b.md", "[b](../b.md")
    assert new({"docs/a.md": text, "b.md": BEFORE["b.md"]}) == []


def test_which_of_two_was_moved_is_not_guessed() -> None:
    before, now = files({"a/x.md": "1", "b/x.md": "2"}), files({"c/x.md": "3"})
    blobs = {"a/x.md": hash_blob(b"1"), "b/x.md": hash_blob(b"2")}
    assert map_earlier_paths(now, before, blobs, ["c/x.md"]) == {}
