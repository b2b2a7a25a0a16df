"""A diverged branch is merged by structure; a conflict blocks only the conflicting paths."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.repositories import Repo
from tests.workspace.sync.conftest import SyncPair
from workspace.edits.text import AppendContent
from workspace.merge.conflict import Resolution, ResolutionChoice, UnitId
from workspace.merge.trees import FileConflict, Resolutions
from workspace.publishing.checkout import WorktreeBusy
from workspace.sync.branches import SyncState
from workspace.sync.conflicts import SyncConflict
from workspace.sync.sync import ChooseResolutions
from workspace.workspace import Workspace
from workspace.writing.plan import Mode
from workspace.writing.write import WriteResult

PAGE = "# Example\n\n{}\n\n## One\n\n{}\n\n## Two\n\n{}\n"


def choose_all(choice: ResolutionChoice) -> ChooseResolutions:
    def choose(conflicts: Sequence[FileConflict]) -> Resolutions:
        resolutions: dict[str, dict[UnitId, Resolution]] = {}
        for path, conflict in conflicts:
            resolutions.setdefault(path, {})[conflict.unit] = Resolution(choice)
        return resolutions

    return choose


def read_parents(repo: Repo) -> list[str]:
    return repo.git("log", "-1", "--format=%P").split()


def append_text(workspace: Workspace, file: str, text: str) -> WriteResult:
    operation = AppendContent(file=file, slug="_preamble", content=text)
    return workspace.write([operation], mode=Mode.EACH, tool="test", client="test")


def diverge_branches(sync_pair: SyncPair) -> tuple[str, str]:
    """Change the same words on both sides, and other sections on each side; return both commits."""
    sync_pair.push_as_other({"page.md": PAGE.format("Text.", "1", "2"), "free.md": "# Free\n"})
    sync_pair.sync()
    theirs = sync_pair.push_as_other({"page.md": PAGE.format("Theirs.", "1", "2 there")})
    return sync_pair.local_repo.commit({"page.md": PAGE.format("Ours.", "1 here", "2")}), theirs


def test_different_sections_are_merged_and_pushed(sync_pair: SyncPair) -> None:
    sync_pair.push_as_other({"page.md": PAGE.format("Text.", "1", "2")})
    sync_pair.sync()
    theirs = sync_pair.push_as_other({"page.md": PAGE.format("Text.", "1 there", "2"), "b.md": "# B\n"})
    our_commit = sync_pair.local_repo.commit({"page.md": PAGE.format("Text.", "1", "2 here")})
    result = sync_pair.sync()
    assert (result.state, result.merge_commit, result.unpushed) == (
        SyncState.UP_TO_DATE,
        sync_pair.local_repo.head(),
        None,
    )
    assert read_parents(sync_pair.local_repo) == [our_commit, theirs]
    assert (sync_pair.local_repo.path / "page.md").read_text() == PAGE.format("Text.", "1 there", "2 here")
    assert (sync_pair.local_repo.status(), sync_pair.tip()) == ("", sync_pair.local_repo.head())
    assert sync_pair.sync().merge_commit is None


def test_conflict_stops_sync(folder_pair: SyncPair) -> None:
    ours, theirs = diverge_branches(folder_pair)
    for _ in range(2):
        result = folder_pair.sync()
        assert (result.state, result.commit, result.theirs) == (SyncState.DIVERGED, ours, theirs)
        assert [(conflict.path, conflict.conflict.unit.where) for conflict in result.conflicts] == [
            ("page.md", "_preamble")
        ]
        assert result.unpushed is not None
    assert (folder_pair.tip(), folder_pair.local_repo.status()) == (theirs, "")


@pytest.mark.parametrize(
    ("choice", "text"), [(ResolutionChoice.OURS, "Ours."), (ResolutionChoice.THEIRS, "Theirs.")]
)
def test_side_chosen_for_conflict_and_rest_merged(
    folder_pair: SyncPair, choice: ResolutionChoice, text: str
) -> None:
    ours, theirs = diverge_branches(folder_pair)
    result = folder_pair.sync(choose=choose_all(choice))
    assert result.state is SyncState.UP_TO_DATE
    assert read_parents(folder_pair.local_repo) == [ours, theirs]
    assert (folder_pair.local_repo.path / "page.md").read_text() == PAGE.format(text, "1 here", "2 there")


def test_writes_are_refused_only_for_conflicting_paths(folder_pair: SyncPair) -> None:
    diverge_branches(folder_pair)
    folder_pair.sync()
    workspace = Workspace.open(folder_pair.local_repo.path, durable=False)
    for _ in range(3):  # the second and third status are incremental
        with pytest.raises(SyncConflict) as error_info:
            append_text(workspace, "page.md", "More.\n")
        assert error_info.value.details["paths"] == ["page.md"]
        assert append_text(workspace, "free.md", "More.\n").is_committed
    with pytest.raises(SyncConflict):  # in a new process
        append_text(Workspace.open(folder_pair.local_repo.path, durable=False), "page.md", "More.\n")
    folder_pair.sync(choose=choose_all(ResolutionChoice.THEIRS))
    assert append_text(workspace, "page.md", "More.\n").is_committed


def test_write_to_path_changed_in_remote_is_checked_again(folder_pair: SyncPair) -> None:
    diverge_branches(folder_pair)
    folder_pair.push_as_other({"free.md": "# Free\n\nTheirs.\n"})
    folder_pair.sync()
    workspace = Workspace.open(folder_pair.local_repo.path, durable=False)
    assert append_text(workspace, "free.md", "Ours.\n").is_committed
    with pytest.raises(SyncConflict) as error_info:
        append_text(workspace, "free.md", "More.\n")
    assert error_info.value.details["paths"] == ["free.md"]


def test_merge_of_gitattributes_is_refused(folder_pair: SyncPair) -> None:
    folder_pair.push_as_other({"b.md": "# B\n"})
    our_commit = folder_pair.local_repo.commit({"a.md": "# A\n"})
    folder_pair.push_as_other({".gitattributes": "*.md eol=crlf\n"})
    with pytest.raises(WorktreeBusy, match="gitattributes"):
        folder_pair.sync()
    assert (folder_pair.local_repo.head(), folder_pair.local_repo.status()) == (our_commit, "")


def test_unrelated_histories_are_reported_as_diverged(folder_pair: SyncPair, tmp_path: Path) -> None:
    folder_pair.local_repo.git("checkout", "-q", "--orphan", "apart")
    folder_pair.local_repo.commit({"x.md": "# X\n"})
    folder_pair.local_repo.git("branch", "-M", "apart", "main")
    result = folder_pair.sync()
    assert result.state is SyncState.DIVERGED
    assert result.merge_error is not None
    assert result.merge_error.code == "UNRELATED_HISTORIES"
    assert append_text(
        Workspace.open(folder_pair.local_repo.path, durable=False), "x.md", "More.\n"
    ).is_committed
