"""A diverged branch is merged by structure; a conflict blocks only the conflicting paths."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.repositories import Repo
from tests.workspace.sync.conftest import Site
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


def all_for(choice: ResolutionChoice) -> ChooseResolutions:
    def choose(conflicts: Sequence[FileConflict]) -> Resolutions:
        found: dict[str, dict[UnitId, Resolution]] = {}
        for path, conflict in conflicts:
            found.setdefault(path, {})[conflict.unit] = Resolution(choice)
        return found

    return choose


def parents(repo: Repo) -> list[str]:
    return repo.git("log", "-1", "--format=%P").split()


def append(workspace: Workspace, file: str, text: str) -> WriteResult:
    operation = AppendContent(file=file, slug="_preamble", content=text)
    return workspace.write([operation], mode=Mode.EACH, tool="test", client="test")


def diverged(site: Site) -> tuple[str, str]:
    """Change the same words on both sides, and other parts on each; return ours and theirs."""
    site.elsewhere({"page.md": PAGE.format("Text.", "1", "2"), "free.md": "# Free\n"})
    site.sync()
    theirs = site.elsewhere({"page.md": PAGE.format("Theirs.", "1", "2 there")})
    return site.here.commit({"page.md": PAGE.format("Ours.", "1 here", "2")}), theirs


def test_different_sections_are_merged_and_pushed(reached: Site) -> None:
    reached.elsewhere({"page.md": PAGE.format("Text.", "1", "2")})
    reached.sync()
    theirs = reached.elsewhere({"page.md": PAGE.format("Text.", "1 there", "2"), "b.md": "# B\n"})
    our_commit = reached.here.commit({"page.md": PAGE.format("Text.", "1", "2 here")})
    found = reached.sync()
    assert (found.state, found.merged, found.unpushed) == (SyncState.UP_TO_DATE, reached.here.head(), None)
    assert parents(reached.here) == [our_commit, theirs]
    assert (reached.here.path / "page.md").read_text() == PAGE.format("Text.", "1 there", "2 here")
    assert (reached.here.status(), reached.tip()) == ("", reached.here.head())
    assert reached.sync().merged is None


def test_conflict_stops_sync(folder_site: Site) -> None:
    ours, theirs = diverged(folder_site)
    for _ in range(2):
        found = folder_site.sync()
        assert (found.state, found.commit, found.theirs) == (SyncState.DIVERGED, ours, theirs)
        assert [(one.path, one.conflict.unit.where) for one in found.conflicts] == [("page.md", "_preamble")]
        assert found.unpushed is not None
    assert (folder_site.tip(), folder_site.here.status()) == (theirs, "")


@pytest.mark.parametrize(
    ("choice", "words"), [(ResolutionChoice.OURS, "Ours."), (ResolutionChoice.THEIRS, "Theirs.")]
)
def test_side_chosen_for_conflict_and_rest_merged(
    folder_site: Site, choice: ResolutionChoice, words: str
) -> None:
    ours, theirs = diverged(folder_site)
    found = folder_site.sync(choose=all_for(choice))
    assert found.state is SyncState.UP_TO_DATE
    assert parents(folder_site.here) == [ours, theirs]
    assert (folder_site.here.path / "page.md").read_text() == PAGE.format(words, "1 here", "2 there")


def test_writes_are_refused_only_for_conflicting_paths(folder_site: Site) -> None:
    diverged(folder_site)
    folder_site.sync()
    workspace = Workspace.open(folder_site.here.path, durable=False)
    for _ in range(3):  # also with the incremental status
        with pytest.raises(SyncConflict) as caught:
            append(workspace, "page.md", "More.\n")
        assert caught.value.details["paths"] == ["page.md"]
        assert append(workspace, "free.md", "More.\n").is_committed
    with pytest.raises(SyncConflict):  # a freshly started server
        append(Workspace.open(folder_site.here.path, durable=False), "page.md", "More.\n")
    folder_site.sync(choose=all_for(ResolutionChoice.THEIRS))
    assert append(workspace, "page.md", "More.\n").is_committed


def test_write_to_path_changed_in_remote_is_checked_again(folder_site: Site) -> None:
    diverged(folder_site)
    folder_site.elsewhere({"free.md": "# Free\n\nTheirs.\n"})
    folder_site.sync()
    workspace = Workspace.open(folder_site.here.path, durable=False)
    assert append(workspace, "free.md", "Ours.\n").is_committed
    with pytest.raises(SyncConflict) as caught:
        append(workspace, "free.md", "More.\n")
    assert caught.value.details["paths"] == ["free.md"]


def test_merge_of_gitattributes_is_refused(folder_site: Site) -> None:
    folder_site.elsewhere({"b.md": "# B\n"})
    our_commit = folder_site.here.commit({"a.md": "# A\n"})
    folder_site.elsewhere({".gitattributes": "*.md eol=crlf\n"})
    with pytest.raises(WorktreeBusy, match="gitattributes"):
        folder_site.sync()
    assert (folder_site.here.head(), folder_site.here.status()) == (our_commit, "")


def test_unrelated_histories_are_reported_as_diverged(folder_site: Site, tmp_path: Path) -> None:
    folder_site.here.git("checkout", "-q", "--orphan", "apart")
    folder_site.here.commit({"x.md": "# X\n"})
    folder_site.here.git("branch", "-M", "apart", "main")
    found = folder_site.sync()
    assert found.state is SyncState.DIVERGED
    assert found.merge_error is not None
    assert found.merge_error.code == "UNRELATED_HISTORIES"
    assert append(Workspace.open(folder_site.here.path, durable=False), "x.md", "More.\n").is_committed
