"""Findings that are new since an earlier state: those on changed lines, or caused by other changes."""

from __future__ import annotations

from collections.abc import Mapping

from tests.workspace.validation.memory import build_file_set, build_validator
from workspace.git.objects import hash_blob
from workspace.validation.run import exclude_earlier_findings, map_earlier_paths

OLD_TEXTS = {
    "a.md": "# A\n\n[x](gone.md)\n\n[b](b.md#setup)\n",
    "b.md": "# B\n\n## Setup\n",
}


def find_new_findings(new_texts: Mapping[str, str]) -> list[tuple[str, int, str]]:
    new_validator, old_validator = build_validator(new_texts), build_validator(OLD_TEXTS)
    findings = new_validator.check(new_validator.files.documents)
    blobs = {path: hash_blob(text.encode()) for path, text in OLD_TEXTS.items()}
    earlier_paths = map_earlier_paths(
        new_validator.files, old_validator.files, blobs, sorted({finding.path for finding in findings})
    )
    earlier_findings = old_validator.check(sorted(earlier_paths.values()))
    return [
        (finding.path, finding.line, finding.message)
        for finding in exclude_earlier_findings(findings, earlier_findings, earlier_paths)
    ]


def test_unchanged_documents_have_no_new_findings() -> None:
    assert find_new_findings(OLD_TEXTS) == []


def test_lines_added_above_make_no_new_findings() -> None:
    assert find_new_findings({**OLD_TEXTS, "a.md": "---\ntitle: A\n---\n" + OLD_TEXTS["a.md"]}) == []


def test_changed_line_with_broken_link_is_reported() -> None:
    assert find_new_findings({**OLD_TEXTS, "a.md": OLD_TEXTS["a.md"].replace("[x]", "see [x]")}) == [
        ("a.md", 3, "the link 'gone.md' leads nowhere: there is no such file")
    ]


def test_finding_on_a_repeated_line_is_new() -> None:
    findings = find_new_findings({**OLD_TEXTS, "a.md": OLD_TEXTS["a.md"] + "\n[x](gone.md)\n"})
    assert [finding[:2] for finding in findings] == [("a.md", 7)]


def test_link_broken_by_change_of_other_file_is_new() -> None:
    assert find_new_findings({**OLD_TEXTS, "b.md": "# B\n\n## Set up\n"}) == [
        ("a.md", 5, "the link 'b.md#setup' leads nowhere: no section 'setup' in b.md")
    ]
    assert find_new_findings({"a.md": OLD_TEXTS["a.md"]}) == [
        ("a.md", 5, "the link 'b.md#setup' leads nowhere: there is no such file")
    ]


def test_unchanged_moved_document_reports_only_links_it_broke() -> None:
    assert find_new_findings({"docs/z.md": OLD_TEXTS["a.md"], "b.md": OLD_TEXTS["b.md"]}) == [
        ("docs/z.md", 5, "the link 'b.md#setup' leads nowhere: there is no such file")
    ]


def test_moved_and_edited_document_is_matched_by_name() -> None:
    text = OLD_TEXTS["a.md"].replace("[b](b.md", "[b](../b.md")
    assert find_new_findings({"docs/a.md": text, "b.md": OLD_TEXTS["b.md"]}) == []


def test_ambiguous_move_is_not_matched() -> None:
    old_files, new_files = build_file_set({"a/x.md": "1", "b/x.md": "2"}), build_file_set({"c/x.md": "3"})
    blobs = {"a/x.md": hash_blob(b"1"), "b/x.md": hash_blob(b"2")}
    assert map_earlier_paths(new_files, old_files, blobs, ["c/x.md"]) == {}
