"""Changes between two commits: added, removed and renamed documents, and moved sections."""

from __future__ import annotations

import pytest

from tests.repositories import Repo
from tests.workspace.diff.test_cases import summarize_change
from workspace.diff import trees
from workspace.diff.changes import ChangeKind, DocumentChange, DocumentChangeKind
from workspace.diff.formats import format_data, format_lines, format_markdown, format_plain_line
from workspace.diff.trees import compare_trees
from workspace.git.reader import GitReader
from workspace.snapshot.snapshot import Snapshot

API_TEXT = (
    "# API\n\nAll of it.\n\n## Search\n\nFinds what was written, in order of rank.\n\n### Errors\n\nTBD\n"
)
GUIDE_TEXT = "# Guide\n\nHow to.\n\n## Setup\n\nTBD\n"


def compare_commits(repo: Repo, old: str, new: str) -> list[DocumentChange]:
    git = GitReader(repo.path)
    return list(compare_trees(Snapshot(git, old), Snapshot(git, new)))


def commit_documents(repo: Repo) -> str:
    return repo.commit({"api.md": API_TEXT, "guide.md": GUIDE_TEXT})


def test_added_and_removed_documents_are_reported(repo: Repo) -> None:
    old = commit_documents(repo)
    (repo.path / "guide.md").unlink()
    changes = compare_commits(
        repo, old, repo.commit({"new.md": "# New\n\nText of its own.\n\n## Part\n\nOf it.\n"})
    )
    assert [(change.kind, change.path, change.old_path) for change in changes] == [
        (DocumentChangeKind.REMOVED, "guide.md", "guide.md"),
        (DocumentChangeKind.ADDED, "new.md", None),
    ]
    assert format_markdown(changes) == (
        "### `guide.md`\n\nRemoved with 1 section: “Setup”.\n\n"
        "### `new.md`\n\nAdded with 1 section: “Part”.\n"
    )


def test_front_matter_of_an_added_and_of_a_removed_document_is_shown(repo: Repo) -> None:
    text = "---\nowner: ada\nstatus: approved\n---\n# New\n\n## Part\n\nOf it.\n"
    old = commit_documents(repo)
    new = repo.commit({"new.md": text})
    assert format_markdown(compare_commits(repo, old, new)) == (
        "### `new.md`\n\nAdded with 1 section: “Part”.\n\n"
        "Front matter, `owner`: **ada**\n\nFront matter, `status`: **approved**\n"
    )
    (repo.path / "new.md").unlink()
    last = repo.commit({})
    assert "Front matter, `owner`: ~~ada~~" in format_markdown(compare_commits(repo, new, last))


def test_renamed_and_changed_document_is_reported(repo: Repo) -> None:
    old = commit_documents(repo)
    (repo.path / "api.md").unlink()
    changes = compare_commits(repo, old, repo.commit({"docs/api.md": API_TEXT.replace("in order of", "by")}))
    assert [(change.kind, change.path, change.old_path) for change in changes] == [
        (DocumentChangeKind.RENAMED, "docs/api.md", "api.md")
    ]
    assert [summarize_change(section_change) for section_change in changes[0].section_changes] == [
        "changed search"
    ]
    assert [format_plain_line(line) for line in format_lines(changes)][:2] == [
        "docs/api.md",
        "  Renamed from api.md.",
    ]


def test_section_moved_to_another_document_is_reported_in_both(repo: Repo) -> None:
    old = commit_documents(repo)
    remaining_text, section = API_TEXT.split("## Search")
    moved_section = "### Search {#search}" + section.replace("### Errors", "#### Errors")
    changes = compare_commits(
        repo, old, repo.commit({"api.md": remaining_text, "guide.md": GUIDE_TEXT + "\n" + moved_section})
    )
    assert [
        [summarize_change(section_change) for section_change in document.section_changes]
        for document in changes
    ] == [
        ["moved search"],
        ["moved search"],
    ]
    assert [format_plain_line(line) for line in format_lines(changes)] == [
        "api.md",
        "  Search search",
        "    Moved to guide.md.",
        "guide.md",
        "  Search search",
        "    Moved here from api.md.",
    ]
    documents = format_data(changes)["documents"]
    assert [document["changes"][0].get("path") for document in documents] == ["guide.md", None]
    assert [document["changes"][0].get("old_path") for document in documents] == [None, "api.md"]


def test_moved_section_with_changed_subsections_is_reported(repo: Repo) -> None:
    old = commit_documents(repo)
    remaining_text, section = API_TEXT.split("## Search")
    changes = compare_commits(
        repo,
        old,
        repo.commit(
            {"api.md": remaining_text, "new.md": "# New\n\n## Search" + section.replace("TBD", "Oops")}
        ),
    )
    assert [
        (item.kind, [summarize_change(change) for change in item.section_changes]) for item in changes
    ] == [
        (DocumentChangeKind.CHANGED, ["moved search"]),
        (DocumentChangeKind.ADDED, ["added _preamble", "moved search", "changed search/errors"]),
    ]


def test_ambiguous_sections_are_not_reported_as_moved(repo: Repo) -> None:
    text = "## Search\n\nSame.\n"
    old = repo.commit({"a.md": text, "b.md": text, "c.md": "# C\n"})
    changes = compare_commits(
        repo, old, repo.commit({"a.md": "# A\n", "b.md": "# B\n", "c.md": "# C\n\n" + text})
    )
    assert {change.kind for item in changes for change in item.section_changes} == {
        ChangeKind.ADDED,
        ChangeKind.REMOVED,
    }


def test_ambiguous_documents_are_not_reported_as_renamed(repo: Repo) -> None:
    old = repo.commit({"a/one.md": GUIDE_TEXT, "b/two.md": GUIDE_TEXT})
    for name in ("a/one.md", "b/two.md"):
        (repo.path / name).unlink()
    changes = compare_commits(repo, old, repo.commit({"three.md": GUIDE_TEXT}))
    assert [change.kind for change in changes] == [
        DocumentChangeKind.REMOVED,
        DocumentChangeKind.REMOVED,
        DocumentChangeKind.ADDED,
    ]


def test_section_moves_are_not_detected_above_the_limits(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    old_commit = commit_documents(repo)
    remaining_text, section = API_TEXT.split("## Search")
    new_commit = repo.commit({"api.md": remaining_text, "guide.md": GUIDE_TEXT + "\n## Search" + section})
    monkeypatch.setattr(trees, "_MAX_DOCUMENTS", 1)
    monkeypatch.setattr(trees, "_MAX_PAIRS", 0)
    assert [
        [change.kind for change in item.section_changes]
        for item in compare_commits(repo, old_commit, new_commit)
    ] == [
        [ChangeKind.REMOVED, ChangeKind.REMOVED],
        [ChangeKind.ADDED, ChangeKind.ADDED],
    ]
    (repo.path / "guide.md").unlink()
    later_commit = repo.commit({"moved.md": GUIDE_TEXT + "\n## Search" + section})
    assert [change.kind for change in compare_commits(repo, new_commit, later_commit)] == [
        DocumentChangeKind.RENAMED
    ]


def test_unreadable_document_has_an_error_code(repo: Repo) -> None:
    old = commit_documents(repo)
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    changes = compare_commits(repo, old, repo.commit({"api.md": pointer}))
    assert [(change.error_code, change.section_changes) for change in changes] == [("NOT_A_DOCUMENT", ())]
    assert "cannot be read (NOT_A_DOCUMENT)" in format_markdown(changes)
    assert format_data(changes)["documents"][0]["unread"] == "NOT_A_DOCUMENT"


def test_equal_commits_have_no_changes_and_an_empty_tree_has_only_additions(repo: Repo) -> None:
    commit = commit_documents(repo)
    git = GitReader(repo.path)
    assert list(compare_trees(Snapshot(git, commit), Snapshot(git, commit))) == []
    changes = list(compare_trees(Snapshot(git, None), Snapshot(git, commit)))
    assert {change.kind for change in changes} == {DocumentChangeKind.ADDED}
