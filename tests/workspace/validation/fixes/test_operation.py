"""Fixes of all documents in one commit: links are updated, and uncommitted changes are preserved."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.loops import loop_over
from tests.repositories import Repo, create_repository
from workspace.publishing.checkout import WorktreeConflict
from workspace.snapshot.snapshot import Snapshot
from workspace.validation.files import list_commit
from workspace.validation.fixes.broken_link import MoveHistory
from workspace.validation.fixes.change import FixResult
from workspace.validation.fixes.fix import FixFinder, fix_documents
from workspace.validation.fixes.operation import FixDocuments
from workspace.validation.run import RuleSelection
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode
from workspace.writing.write import WriteResult

GUIDE = "# Guide\n\n## API\n\n### Errors\n\n## Errors\n"


def write_fixes(repo: Repo, *rules: str, paths: tuple[str, ...] = ()) -> WriteResult:
    workspace = Workspace.open(repo.path)

    def find_fixes(snapshot: Snapshot, paths: Sequence[str]) -> Sequence[FixResult]:
        assert snapshot.commit
        files = list_commit(workspace.git, snapshot.commit)
        selection = RuleSelection(files.config.validation, frozenset(rules))
        history = MoveHistory(snapshot, workspace.moves())
        return fix_documents(FixFinder(files=files, selection=selection, moves=history), paths)

    return workspace.write(
        [FixDocuments(find_fixes=find_fixes, paths=paths)], mode=BatchMode.ALL, tool="fix", client="test"
    )


def test_second_fix_makes_no_commit(tmp_path: Path) -> None:
    repo = create_repository(
        tmp_path / "repo", {"a.md": GUIDE, "b/c.md": "## One\r\n\r\nText.\r\n", "x.txt": "## No\n"}
    )
    head = repo.head()
    result = write_fixes(repo, "missing-anchor")
    assert result.is_committed
    assert repo.git("rev-parse", "HEAD~1").strip() == head
    assert repo.status() == ""
    assert repo.git("diff", "--numstat", "HEAD~1").split() == ["3", "3", "a.md", "1", "1", "b/c.md"]
    assert (repo.path / "b/c.md").read_bytes() == b"## One {#one}\r\n\r\nText.\r\n"
    assert repo.git("log", "-1", "--format=%s").strip() == "Fix 2 documents: 4 missing-anchor"
    assert not write_fixes(repo, "missing-anchor").is_committed


def test_links_to_renumbered_heading_are_updated_in_same_commit(tmp_path: Path) -> None:
    """GitHub numbers anchors: `#errors` is the nested heading until the other heading gets that anchor."""
    files = {"a.md": GUIDE + "\n[nested](#errors) [top](#errors-1)\n", "b.md": "[n](a.md#errors 'T')\n"}
    repo = create_repository(tmp_path / "repo", files)
    result = write_fixes(repo, "missing-anchor")
    assert (repo.path / "b.md").read_text() == "[n](a.md#api/errors 'T')\n"
    assert (repo.path / "a.md").read_text().endswith("\n[nested](#api/errors) [top](#errors-1)\n")
    outcome = result.steps[0].outcome
    assert outcome
    assert outcome.result["links_rewritten"] == 2


@loop_over("dialect", ["mkdocs", "docusaurus"])
def test_links_are_updated_if_explicit_anchor_replaces_derived(tmp_path: Path, dialect: str) -> None:
    files = {
        "docyard.toml": f'[links]\ndialect = "{dialect}"\n',
        "a.md": "# Guide\n\n## API\n\n### Codes\n\n[here](#codes)\n",
        "b.md": "[there](a.md#codes)\n",
    }
    repo = create_repository(tmp_path / "repo", files)
    write_fixes(repo, "missing-anchor")
    assert (repo.path / "b.md").read_text() == "[there](a.md#api/codes)\n"
    assert "[here](#api/codes)" in (repo.path / "a.md").read_text()


def test_only_named_documents_are_fixed(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", {"a.md": "## A\n", "b.md": "## B\n"})
    write_fixes(repo, "missing-anchor", paths=("b.md",))
    assert (repo.path / "a.md").read_text() == "## A\n"
    assert (repo.path / "b.md").read_text() == "## B {#b}\n"


def test_fix_fails_if_worktree_has_uncommitted_change(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", {"a.md": "## A\n", "b.md": "## B\n"})
    repo.write({"b.md": "## B, changed\n"})
    head = repo.head()
    with pytest.raises(WorktreeConflict):
        write_fixes(repo, "missing-anchor")
    assert repo.head() == head
    assert (repo.path / "a.md").read_text() == "## A\n"
    assert (repo.path / "b.md").read_text() == "## B, changed\n"


def test_fix_of_all_documents_ignores_call_limit(tmp_path: Path) -> None:
    files = {"docyard.toml": "[limits]\noperations = 2\ncall_bytes = 1000\n"}
    repo = create_repository(
        tmp_path / "repo", files | {f"{number}.md": "## A\n" * 100 for number in range(20)}
    )
    result = write_fixes(repo, "missing-anchor")
    assert result.is_committed
    assert len(result.changes) == 20


def test_too_large_document_is_skipped_and_reported(tmp_path: Path) -> None:
    limits = "[limits]\ndocument_bytes = 1000\n"
    files = {
        "docyard.toml": limits,
        "big.md": "## A\n" * 500,
        "full.md": "## A\n" * 190,
        "small.md": "## A\n",
    }
    repo = create_repository(tmp_path / "repo", files)
    result = write_fixes(repo, "missing-anchor")
    outcome = result.steps[0].outcome
    assert outcome
    assert sorted(result.changes) == ["small.md"]
    unfixed = outcome.result["fix_remarks"]
    assert isinstance(unfixed, list)
    assert sorted({finding.path for finding in unfixed}) == ["big.md", "full.md"]


def test_broken_links_to_renamed_document_are_fixed(tmp_path: Path) -> None:
    text = "# Setup\n\n## First steps\n\n" + "Words that are kept.\n" * 20
    repo = create_repository(
        tmp_path / "repo", {"old.md": text, "doc.md": "[a](old.md) [b](old.md#first-steps)\n"}
    )
    (repo.path / "guides").mkdir()
    repo.git("mv", "old.md", "guides/setup.md")
    repo.git("commit", "-q", "-m", "Move")
    write_fixes(repo, "broken-link", "broken-fragment")
    assert (repo.path / "doc.md").read_text() == "[a](guides/setup.md) [b](guides/setup.md#first-steps)\n"


def test_broken_links_to_renamed_section_are_fixed(tmp_path: Path) -> None:
    text = "# Setup\n\n## First steps\n\n" + "Words that are kept, and many.\n" * 20 + "\n## Last\n\nEnd.\n"
    repo = create_repository(tmp_path / "repo", {"setup.md": text, "doc.md": "[b](setup.md#first-steps)\n"})
    repo.commit({"setup.md": text.replace("First steps", "Beginning")})
    write_fixes(repo, "broken-fragment")
    assert (repo.path / "doc.md").read_text() == "[b](setup.md#beginning)\n"


def test_concurrent_commit_is_fixed_too(tmp_path: Path) -> None:
    """A fix planned during a concurrent commit is planned again on its result."""
    repo = create_repository(tmp_path / "repo", {"a.md": "## A\n", "b.md": "## B\n", "c.md": "[b](b.md#b)\n"})
    workspace = Workspace.open(repo.path)
    planned_commits: list[str] = []

    def find_fixes(snapshot: Snapshot, paths: Sequence[str]) -> Sequence[FixResult]:
        assert snapshot.commit
        planned_commits.append(snapshot.commit)
        files = list_commit(workspace.git, snapshot.commit)
        selection = RuleSelection(files.config.validation, frozenset({"missing-anchor"}))
        finder = FixFinder(files=files, selection=selection, moves=MoveHistory(snapshot, workspace.moves()))
        result = fix_documents(finder, paths)
        if len(planned_commits) == 1:
            repo.commit({"b.md": "## B\n\n## More\n", "d.md": "## D\n"})
        return result

    write_result = workspace.write(
        [FixDocuments(find_fixes=find_fixes)], mode=BatchMode.ALL, tool="fix", client="test"
    )
    assert write_result.is_committed
    assert len(planned_commits) == len(set(planned_commits)) == 2
    assert repo.git("rev-parse", "HEAD~1").strip() == planned_commits[-1]
    assert (repo.path / "a.md").read_text() == "## A {#a}\n"
    assert (repo.path / "b.md").read_text() == "## B {#b}\n\n## More {#more}\n"
    assert (repo.path / "d.md").read_text() == "## D {#d}\n"
    assert repo.status() == ""
