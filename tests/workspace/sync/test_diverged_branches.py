"""A diverged branch is merged section by section; a conflict blocks only the conflicting paths."""

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
from workspace.writing.plan import BatchMode
from workspace.writing.write import WriteResult

PAGE_TEMPLATE = "# Example\n\n{}\n\n## One\n\n{}\n\n## Two\n\n{}\n"


def make_chooser(choice: ResolutionChoice) -> ChooseResolutions:
    """Return a function that makes the same choice for each conflict."""

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
    return workspace.write([operation], mode=BatchMode.EACH, tool="test", client="test")


def diverge_branches(sync_pair: SyncPair) -> tuple[str, str]:
    """Change the same words on both sides, and other sections on each side; return both commits."""
    sync_pair.push_as_other_user({"page.md": PAGE_TEMPLATE.format("Text.", "1", "2"), "free.md": "# Free\n"})
    sync_pair.sync()
    their_commit = sync_pair.push_as_other_user({"page.md": PAGE_TEMPLATE.format("Theirs.", "1", "2 there")})
    our_commit = sync_pair.local_repo.commit({"page.md": PAGE_TEMPLATE.format("Ours.", "1 here", "2")})
    return our_commit, their_commit


def test_different_sections_are_merged_and_pushed(sync_pair: SyncPair) -> None:
    sync_pair.push_as_other_user({"page.md": PAGE_TEMPLATE.format("Text.", "1", "2")})
    sync_pair.sync()
    their_commit = sync_pair.push_as_other_user(
        {"page.md": PAGE_TEMPLATE.format("Text.", "1 there", "2"), "b.md": "# B\n"}
    )
    our_commit = sync_pair.local_repo.commit({"page.md": PAGE_TEMPLATE.format("Text.", "1", "2 here")})
    result = sync_pair.sync()
    assert (result.state, result.merge_commit, result.unpushed) == (
        SyncState.UP_TO_DATE,
        sync_pair.local_repo.head(),
        None,
    )
    assert read_parents(sync_pair.local_repo) == [our_commit, their_commit]
    assert (sync_pair.local_repo.path / "page.md").read_text() == PAGE_TEMPLATE.format(
        "Text.", "1 there", "2 here"
    )
    assert (sync_pair.local_repo.status(), sync_pair.read_remote_tip()) == ("", sync_pair.local_repo.head())
    assert sync_pair.sync().merge_commit is None


def test_conflict_stops_sync(file_sync_pair: SyncPair) -> None:
    our_commit, their_commit = diverge_branches(file_sync_pair)
    for _ in range(2):
        result = file_sync_pair.sync()
        assert (result.state, result.commit, result.theirs) == (SyncState.DIVERGED, our_commit, their_commit)
        assert [(conflict.path, conflict.conflict.unit.where) for conflict in result.conflicts] == [
            ("page.md", "_preamble")
        ]
        assert result.unpushed is not None
    assert (file_sync_pair.read_remote_tip(), file_sync_pair.local_repo.status()) == (their_commit, "")


@pytest.mark.parametrize(
    ("choice", "text"), [(ResolutionChoice.OURS, "Ours."), (ResolutionChoice.THEIRS, "Theirs.")]
)
def test_chosen_side_resolves_conflict_and_other_sections_are_merged(
    file_sync_pair: SyncPair, choice: ResolutionChoice, text: str
) -> None:
    our_commit, their_commit = diverge_branches(file_sync_pair)
    result = file_sync_pair.sync(choose=make_chooser(choice))
    assert result.state is SyncState.UP_TO_DATE
    assert read_parents(file_sync_pair.local_repo) == [our_commit, their_commit]
    assert (file_sync_pair.local_repo.path / "page.md").read_text() == PAGE_TEMPLATE.format(
        text, "1 here", "2 there"
    )


def test_writes_are_refused_only_for_conflicting_paths(file_sync_pair: SyncPair) -> None:
    diverge_branches(file_sync_pair)
    file_sync_pair.sync()
    workspace = Workspace.open(file_sync_pair.local_repo.path, durable=False)
    for _ in range(3):  # the second and third status are incremental
        with pytest.raises(SyncConflict) as error_info:
            append_text(workspace, "page.md", "More.\n")
        assert error_info.value.details["paths"] == ["page.md"]
        assert append_text(workspace, "free.md", "More.\n").is_committed
    with pytest.raises(SyncConflict):  # in a new process
        append_text(Workspace.open(file_sync_pair.local_repo.path, durable=False), "page.md", "More.\n")
    file_sync_pair.sync(choose=make_chooser(ResolutionChoice.THEIRS))
    assert append_text(workspace, "page.md", "More.\n").is_committed


def test_write_to_path_changed_in_remote_is_checked_again(file_sync_pair: SyncPair) -> None:
    diverge_branches(file_sync_pair)
    file_sync_pair.push_as_other_user({"free.md": "# Free\n\nTheirs.\n"})
    file_sync_pair.sync()
    workspace = Workspace.open(file_sync_pair.local_repo.path, durable=False)
    assert append_text(workspace, "free.md", "Ours.\n").is_committed
    with pytest.raises(SyncConflict) as error_info:
        append_text(workspace, "free.md", "More.\n")
    assert error_info.value.details["paths"] == ["free.md"]


def test_merge_of_gitattributes_is_refused(file_sync_pair: SyncPair) -> None:
    file_sync_pair.push_as_other_user({"b.md": "# B\n"})
    our_commit = file_sync_pair.local_repo.commit({"a.md": "# A\n"})
    file_sync_pair.push_as_other_user({".gitattributes": "*.md eol=crlf\n"})
    with pytest.raises(WorktreeBusy, match="gitattributes"):
        file_sync_pair.sync()
    assert (file_sync_pair.local_repo.head(), file_sync_pair.local_repo.status()) == (our_commit, "")


def test_unrelated_histories_are_reported_as_diverged(file_sync_pair: SyncPair, tmp_path: Path) -> None:
    file_sync_pair.local_repo.git("checkout", "-q", "--orphan", "unrelated")
    file_sync_pair.local_repo.commit({"x.md": "# X\n"})
    file_sync_pair.local_repo.git("branch", "-M", "unrelated", "main")
    result = file_sync_pair.sync()
    assert result.state is SyncState.DIVERGED
    assert result.merge_error is not None
    assert result.merge_error.code == "UNRELATED_HISTORIES"
    assert append_text(
        Workspace.open(file_sync_pair.local_repo.path, durable=False), "x.md", "More.\n"
    ).is_committed
