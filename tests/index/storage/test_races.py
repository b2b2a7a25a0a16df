"""Races of threads and processes at one index: no caller gets older results than an earlier caller."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from index import search
from index.live import LiveIndex
from index.segments.store import Store
from index.service import SearchIndex
from index.storage.location import IndexLocation
from index.storage.metadata import Metadata
from index.storage.metadata_file import MetadataPublisher
from tests.repositories import Repo

OpenIndex = Callable[[], SearchIndex]

MEMO = {"new.md": "---\ntype: memo\n---\n# New\n\nAn okapi.\n"}
LETTER = {"new.md": "---\ntype: letter\n---\n# New\n\nA quagga.\n"}


def run_before_call(
    monkeypatch: pytest.MonkeyPatch, owner: object, name: str, action: Callable[[], object]
) -> None:
    """Run `action` once, immediately before the first call of a function."""
    original, pending_actions = getattr(owner, name), [action]

    def run_actions_and_call(*arguments: Any) -> object:
        while pending_actions:
            pending_actions.pop()()
        return original(*arguments)

    monkeypatch.setattr(owner, name, run_actions_and_call)


def get_engine(index: SearchIndex) -> Any:
    return index._live.engine


def read_current_metadata(index: SearchIndex) -> Metadata:
    metadata = index.metadata()
    assert metadata is not None
    return metadata


def test_search_is_not_older_than_the_updated_index(
    open_index: OpenIndex, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Update the index in another process just before a search reads the current generation."""
    index, other_index = open_index(), open_index()
    index.update_to_tip()
    repo.commit(LETTER)
    other_index.update_to_tip()
    repo.commit(MEMO)

    def action() -> None:
        assert get_engine(index).state().commit != repo.head()
        other_index.update_to_tip()

    run_before_call(monkeypatch, Store, "read", action)
    page = index.search("okapi")
    assert (page.commit, page.is_stale, [hit.filepath for hit in page.hits]) == (
        repo.head(),
        False,
        ["new.md"],
    )


@pytest.mark.parametrize("times", [1, 10])
def test_index_at_an_older_commit_is_updated_or_reported_stale(
    open_index: OpenIndex, repo: Repo, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """Restore an older generation, as if the folder of the last generation were deleted."""
    index = open_index()
    index.update_to_tip()
    older_searcher, older_commit = get_engine(index)._searcher, repo.head()
    repo.commit(MEMO)
    original_search, remaining_calls = LiveIndex.search, [None] * times

    def search(live: LiveIndex, *arguments: Any) -> Any:
        if remaining_calls:
            remaining_calls.pop()
            live.engine._searcher = older_searcher
        return original_search(live, *arguments)

    monkeypatch.setattr(LiveIndex, "search", search)
    page = index.search("okapi guide")
    assert (page.commit, page.is_stale) == ((repo.head(), False) if times == 1 else (older_commit, True))


@pytest.mark.parametrize("path", [None, "nowhere/"], ids=["hits", "hint"])
def test_index_deleted_after_update_is_rebuilt(
    index: SearchIndex, repo: Repo, monkeypatch: pytest.MonkeyPatch, path: str | None
) -> None:
    index.update_to_tip()
    location = index._live._index_location.peek()

    def action() -> None:
        """Delete the index folder, and call the engine, which detects it."""
        shutil.rmtree(location.folder)
        assert get_engine(index).state() is None

    owner, name = (LiveIndex, "search") if path is None else (search, "_make_hint")
    run_before_call(monkeypatch, owner, name, action)
    page = index.search("errors", path=path)
    assert (bool(page.hits), page.commit) == (path is None, repo.head())
    assert page.hint is None or "nowhere/" in page.hint.message


def test_slower_thread_does_not_publish_older_metadata(
    index: SearchIndex, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.update_to_tip()

    def action() -> None:
        repo.commit(MEMO)
        thread = threading.Thread(target=index.update_to_tip)
        thread.start()
        thread.join()

    repo.commit(LETTER)
    run_before_call(monkeypatch, MetadataPublisher, "publish", action)
    index.update_to_tip()
    assert read_current_metadata(index).stats.source_commit == repo.head()


def test_slower_process_does_not_publish_older_metadata(
    open_index: OpenIndex, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, other_index = open_index(), open_index()
    index.update_to_tip()

    def action() -> None:
        repo.commit(MEMO)
        other_index.update_to_tip()

    repo.commit(LETTER)
    run_before_call(monkeypatch, MetadataPublisher, "_write", action)
    index.update_to_tip()
    for metadata in (read_current_metadata(index), read_current_metadata(other_index)):
        assert metadata.stats.source_commit == repo.head()
        assert "memo" in metadata.taxonomy["type"].values


def test_concurrent_branch_switch_resolves_the_right_location(tmp_path: Path) -> None:
    """Resolve the branch in one thread before a switch of the branch, and in another thread after it."""
    branch, next_branches = "one", ["two"]

    class SwitchingLocation(IndexLocation):
        def __setattr__(self, name: str, value: object) -> None:
            nonlocal branch
            super().__setattr__(name, value)
            if name == "_location" and value is not None and next_branches:
                branch = next_branches.pop()
                thread = threading.Thread(target=self.resolve)
                thread.start()
                thread.join(0.2)  # correct code makes this thread wait for the current thread

    index_location = SwitchingLocation(lambda: branch, lambda name: [tmp_path / name])
    index_location.resolve()
    for branch in ("one", "two", "one"):
        location = index_location.resolve()
        assert location is not None
        assert location.folder.name == branch
