"""A merge is one commit with two parents; it includes concurrent commits."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import repositories
from tests.repositories import Repo
from workspace.branch import BranchNotFound
from workspace.edits.restore import MergeCommit, Undo
from workspace.edits.text import AppendContent
from workspace.git.store import GitStore, ReadOnly
from workspace.merge.commits import MergeConflict, MergeResult, commit_merge
from workspace.merge.conflict import Resolution, ResolutionChoice
from workspace.merge.trees import FILE_UNIT, Merge
from workspace.paths import InvalidPath
from workspace.publishing.batch import Batch
from workspace.publishing.checkout import WorktreeBusy, WorktreeConflict
from workspace.publishing.locks import Busy
from workspace.publishing.publish import Publication, publish
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode
from workspace.writing.write import SigningRequired

GUIDE = "# Guide\n\nIntroduction.\n\n## Install\n\nRun it.\n\n## Use\n\nUse it.\n"
MAIN_GUIDE, TOPIC_GUIDE = (
    GUIDE.replace("Run it.", "Run it twice."),
    GUIDE.replace("Use it.", "Use it well."),
)
MERGED_GUIDE = MAIN_GUIDE.replace("Use it.", "Use it well.")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """Return a repository with the branches `topic` and `main`, which changed different lines."""
    repo = repositories.create_repository(tmp_path / "repo", {"guide.md": GUIDE, "notes.md": "# Notes\n"})
    commit_to_branch(repo, "topic", {"guide.md": TOPIC_GUIDE.encode()}, start="main")
    repo.commit({"guide.md": MAIN_GUIDE}, "On main")
    return repo


def commit_to_branch(
    repo: Repo, branch: str, changes: dict[str, bytes | None], start: str | None = None
) -> str:
    """Commit to a branch that is not checked out, and return the commit; first create it at `start`."""
    if start is not None:
        repo.git("branch", branch, start)
    store = GitStore(repo.path)
    batch = Batch(branch, store.tip(branch), changes, f"On {branch}\n", repositories.make_signature())
    return publish(store, batch, durable=False)


def merge_branch(repo: Repo, check: Callable[[Merge], None] | None = None, into: str = "main") -> MergeResult:
    workspace = Workspace.open(repo.path, durable=False)
    their_commit = workspace.tip("topic" if into == "main" else "main")
    assert their_commit is not None
    return commit_merge(
        workspace, into, their_commit, build_message=lambda merge: "Merge topic\n", check_merge=check
    )


def test_merge_commit_updates_branch_files_and_history(repo: Repo) -> None:
    head_before, their_commit = repo.head(), repo.git("rev-parse", "topic").strip()
    result = merge_branch(repo)
    assert result.is_new
    assert repo.head() == result.commit
    assert repo.git("log", "-1", "--format=%P").split() == [head_before, their_commit]
    assert repo.git("log", "--graph", "--format=%s").splitlines()[:3] == [
        "*   Merge topic",
        "|\\  ",
        "| * On topic",
    ]
    assert (repo.path / "guide.md").read_text() == MERGED_GUIDE
    assert repo.status() == ""
    assert repo.fsck() == ""
    repeated_result = merge_branch(repo)
    assert (repeated_result.commit, repeated_result.is_new) == (result.commit, False)


def test_merge_into_branch_not_checked_out_is_committed(repo: Repo) -> None:
    head = repo.head()
    result = merge_branch(repo, into="topic")
    assert repo.git("show", "topic:guide.md") == MERGED_GUIDE
    assert repo.git("rev-parse", "topic^2").strip() == repo.head() == head
    assert result.merge.ours.commit == repo.git("rev-parse", "topic^1").strip()
    assert repo.status() == ""
    assert repo.fsck() == ""


def test_merge_without_file_changes_is_committed(repo: Repo) -> None:
    commit_to_branch(repo, "topic", {"guide.md": GUIDE.encode()})
    head_before = repo.head()
    result = merge_branch(repo)
    assert repo.head() == result.commit != head_before
    assert repo.git("rev-parse", "HEAD^{tree}") == repo.git("rev-parse", "HEAD^^{tree}")
    assert repo.status() == ""


def test_conflict_changes_nothing_until_resolved(repo: Repo) -> None:
    commit_to_branch(repo, "topic", {"guide.md": GUIDE.replace("Run it.", "Never run it.").encode()})
    old_files = repositories.read_repository_files(repo.path)
    with pytest.raises(MergeConflict) as error_info:
        merge_branch(repo)
    assert repositories.read_repository_files(repo.path) == old_files
    (conflict,) = error_info.value.conflicts
    assert conflict.path == "guide.md"
    assert error_info.value.details["paths"] == ["guide.md"]
    assert error_info.value.tip == repo.head()
    workspace = Workspace.open(repo.path, durable=False)
    their_commit = workspace.tip("topic")
    assert their_commit is not None
    resolutions = {"guide.md": {conflict.conflict.unit: Resolution(ResolutionChoice.THEIRS)}}
    commit_merge(
        workspace, "main", their_commit, build_message=lambda merge: "Merge\n", resolutions=resolutions
    )
    assert (repo.path / "guide.md").read_text() == GUIDE.replace("Run it.", "Never run it.")
    assert workspace.snapshot().document("guide.md").data == (repo.path / "guide.md").read_bytes()


def test_merge_is_repeated_after_concurrent_commit(repo: Repo) -> None:
    later_files = iter([("notes.md", "# Notes\n\nMore.\n"), ("other.md", "# Other\n")])
    tips = []

    def commit_with_git(merge: Merge) -> None:
        tips.append(merge.ours.commit)
        # A commit by git, which does not take Docyard's lock.
        if len(tips) < 3:
            repo.commit(dict([next(later_files)]), "With git")

    result = merge_branch(repo, commit_with_git)
    assert len(tips) == 3
    assert result.merge.ours.commit == tips[-1]
    assert {path.name for path in repo.path.glob("*.md")} == {"guide.md", "notes.md", "other.md"}
    assert (repo.path / "guide.md").read_text() == MERGED_GUIDE
    assert (repo.path / "notes.md").read_text() == "# Notes\n\nMore.\n"
    assert repo.status() == ""


def test_concurrent_commit_can_make_merge_conflict(repo: Repo) -> None:
    def commit_with_git(merge: Merge) -> None:
        if (repo.path / "guide.md").read_text() == MAIN_GUIDE:
            repo.commit({"guide.md": MAIN_GUIDE.replace("Use it.", "Use it badly.")}, "With git")

    with pytest.raises(MergeConflict):
        merge_branch(repo, commit_with_git)
    assert repo.git("log", "-1", "--format=%s").strip() == "With git"
    assert repo.status() == ""


def test_branch_deleted_during_merge_is_refused(repo: Repo) -> None:
    with pytest.raises(BranchNotFound):
        merge_branch(repo, lambda merge: print(repo.git("branch", "-D", "topic")), into="topic")
    with pytest.raises(BranchNotFound):
        merge_branch(repo, into="never")


def test_merge_is_busy_after_repeated_concurrent_commits(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Publication, "acquire_git_locks", lambda self: None)
    numbers = iter(range(100))
    with pytest.raises(Busy):
        merge_branch(repo, lambda merge: print(repo.commit({f"n{next(numbers)}.md": "# N\n"})))


def test_two_concurrent_merges_are_both_committed(repo: Repo) -> None:
    commit_to_branch(repo, "second", {"notes.md": b"# Notes\n\nSecond.\n"}, start="topic~1")
    store = GitStore(repo.path)
    tips = [store.tip(name) for name in ("topic", "second")]
    barrier, results = threading.Barrier(2, timeout=60), []

    def merge_tip(their_commit: str) -> None:
        workspace = Workspace.open(repo.path, durable=False)
        pending_waits = iter([barrier.wait])

        def check(merge: Merge) -> None:
            for wait in pending_waits:  # only before the first attempt
                wait()

        results.append(
            commit_merge(
                workspace, "main", their_commit, build_message=lambda merge: "Merge\n", check_merge=check
            )
        )

    threads = [threading.Thread(target=merge_tip, args=(tip,)) for tip in tips]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result.is_new for result in results] == [True, True]
    assert (repo.path / "guide.md").read_text() == MERGED_GUIDE
    assert (repo.path / "notes.md").read_text() == "# Notes\n\nSecond.\n"
    assert len(repo.git("log", "--merges", "--format=%H").split()) == 2
    assert repo.fsck() == repo.status() == ""


def test_read_only_dirty_or_signing_repository_refuses_merge(repo: Repo) -> None:
    workspace = Workspace.open(repo.path, read_only=True)
    with pytest.raises(ReadOnly):
        commit_merge(workspace, "main", workspace.tip("topic") or "", build_message=lambda merge: "Merge\n")
    (repo.path / "guide.md").write_text("# Mine\n")
    with pytest.raises(WorktreeConflict):
        merge_branch(repo)
    assert (repo.path / "guide.md").read_text() == "# Mine\n"
    repo.git("checkout", "-q", "guide.md")
    repo.git("config", "commit.gpgsign", "true")
    with pytest.raises(SigningRequired):
        merge_branch(repo)


def test_merged_files_have_their_modes(repo: Repo) -> None:
    repo.git("checkout", "-q", "topic")
    repo.write({"run.sh": "#!/bin/sh\n", "image.png": b"\x89PNG\x00"})
    for name in ("run.sh", "notes.md"):
        (repo.path / name).chmod(0o755)
    repo.commit({}, "Kinds")
    repo.git("checkout", "-q", "main")
    merge_branch(repo)
    assert os.access(repo.path / "run.sh", os.X_OK)
    assert os.access(repo.path / "notes.md", os.X_OK)
    assert (repo.path / "image.png").read_bytes() == b"\x89PNG\x00"
    assert repo.git("ls-files", "-s", "notes.md", "run.sh").count("100755") == 2
    assert repo.status() == ""
    commit_to_branch(repo, "back", {"guide.md": MERGED_GUIDE.encode()}, start="main")
    repo.git(
        "branch", "-f", "topic", repo.git("commit-tree", "-p", "main", "-m", "Back", "main~1^{tree}").strip()
    )
    merge_branch(repo)
    assert not os.access(repo.path / "notes.md", os.X_OK)
    assert not (repo.path / "run.sh").exists()
    assert repo.status() == ""


def test_merge_of_symlink_into_work_tree_is_refused(repo: Repo) -> None:
    repo.git("checkout", "-q", "topic")
    (repo.path / "link").symlink_to("/etc")
    repo.commit({}, "A link")
    repo.git("checkout", "-q", "main")
    with pytest.raises(WorktreeBusy):
        merge_branch(repo)
    assert not (repo.path / "link").is_symlink()
    assert repo.status() == ""
    commit_to_branch(repo, "aside", {"notes.md": b"# Notes\n\nAside.\n"}, start="main")
    workspace = Workspace.open(repo.path, durable=False)
    commit_merge(workspace, "aside", workspace.tip("topic") or "", build_message=lambda merge: "Merge\n")
    assert repo.git("ls-tree", "aside", "link").startswith("120000")
    assert repo.fsck() == ""


def test_undo_of_merge_commit_is_refused(repo: Repo) -> None:
    result = merge_branch(repo)
    workspace = Workspace.open(repo.path, durable=False)
    undo_result = workspace.write(
        [Undo(commit=result.commit)], mode=BatchMode.EACH, tool="undo", client="test"
    )
    assert isinstance(undo_result.steps[0].error, MergeCommit)
    assert not undo_result.is_committed
    append_result = workspace.write(
        [AppendContent(file="guide.md", slug="use", content="And more.")],
        mode=BatchMode.EACH,
        tool="t",
        client="t",
    )
    assert append_result.is_committed
    assert repo.status() == ""


def test_file_conflict_is_resolved_as_a_whole(repo: Repo) -> None:
    commit_to_branch(repo, "topic", {"guide.md": None})
    workspace = Workspace.open(repo.path, durable=False)
    their_commit = workspace.tip("topic") or ""
    with pytest.raises(MergeConflict):
        merge_branch(repo)
    resolutions = {"guide.md": {FILE_UNIT: Resolution(ResolutionChoice.THEIRS)}}
    commit_merge(
        workspace, "main", their_commit, build_message=lambda merge: "Merge\n", resolutions=resolutions
    )
    assert not (repo.path / "guide.md").exists()
    assert repo.status() == ""


def test_new_name_that_windows_cannot_store_is_refused(repo: Repo) -> None:
    repo.git("checkout", "-q", "topic")
    repo.commit({"aux.md": "# Aux\n", "a:b.txt": "Text.\n"}, "Names")
    repo.git("checkout", "-q", "main")
    with pytest.raises(InvalidPath):
        merge_branch(repo)
    assert repo.status() == ""
    commit_to_branch(repo, "aside", {"notes.md": b"# Notes\n\nAside.\n"}, start="main")
    workspace = Workspace.open(repo.path, durable=False)
    commit_merge(workspace, "aside", workspace.tip("topic") or "", build_message=lambda merge: "Merge\n")
    assert repo.git("show", "aside:aux.md") == "# Aux\n"
    assert repo.git("show", "aside:a:b.txt") == "Text.\n"
    assert repo.fsck() == ""
