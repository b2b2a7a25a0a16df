"""Races of threads and processes at one index: no caller gets older results than another before."""

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

Open = Callable[[], SearchIndex]

MEMO = {"new.md": "---\ntype: memo\n---\n# New\n\nAn okapi.\n"}
LETTER = {"new.md": "---\ntype: letter\n---\n# New\n\nA quagga.\n"}


def run_before_call(patch: pytest.MonkeyPatch, owner: object, name: str, act: Callable[[], object]) -> None:
    """Run `act` once, right before a function is called for the first time."""
    original, pending = getattr(owner, name), [act]

    def called(*arguments: Any) -> object:
        while pending:
            pending.pop()()
        return original(*arguments)

    patch.setattr(owner, name, called)


def engine_of(index: SearchIndex) -> Any:
    return index._live.engine


def current_metadata(index: SearchIndex) -> Metadata:
    metadata = index.metadata()
    assert metadata is not None
    return metadata


def test_search_is_not_older_than_the_followed_commit(
    open_index: Open, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One thread reads the last generation, while another has read the one before it."""
    index, elsewhere = open_index(), open_index()
    index.follow()
    repo.commit(LETTER)
    elsewhere.follow()
    repo.commit(MEMO)

    def act() -> None:
        assert engine_of(index).state().commit != repo.head()
        elsewhere.follow()

    run_before_call(monkeypatch, Store, "read", act)
    page = index.search("okapi")
    assert (page.commit, page.is_stale, [hit.filepath for hit in page.hits]) == (
        repo.head(),
        False,
        ["new.md"],
    )


@pytest.mark.parametrize("times", [1, 10])
def test_index_that_went_back_is_followed_or_reported_stale(
    open_index: Open, repo: Repo, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """The followed generation can no longer be opened, as if its folder were deleted."""
    index = open_index()
    index.follow()
    older_searcher, older_commit = engine_of(index)._searcher, repo.head()
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


@pytest.mark.parametrize("path", [None, "nowhere/"], ids=["answered", "explained"])
def test_index_deleted_after_following_is_rebuilt(
    index: SearchIndex, repo: Repo, monkeypatch: pytest.MonkeyPatch, path: str | None
) -> None:
    index.follow()
    location = engine_of(index)._index_location.peek()

    def act() -> None:
        """Delete the index folder, and let another thread detect that."""
        shutil.rmtree(location.folder)
        assert engine_of(index).state() is None

    owner, name = (LiveIndex, "search") if path is None else (search, "_make_hint")
    run_before_call(monkeypatch, owner, name, act)
    page = index.search("errors", path=path)
    assert (bool(page.hits), page.commit) == (path is None, repo.head())
    assert page.hint is None or "nowhere/" in page.hint.message


def test_slower_thread_does_not_publish_older_metadata(
    index: SearchIndex, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.follow()

    def act() -> None:
        repo.commit(MEMO)
        thread = threading.Thread(target=index.follow)
        thread.start()
        thread.join()

    repo.commit(LETTER)
    run_before_call(monkeypatch, MetadataPublisher, "publish", act)
    index.follow()
    assert current_metadata(index).stats.source_commit == repo.head()


def test_slower_process_does_not_publish_older_metadata(
    open_index: Open, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, elsewhere = open_index(), open_index()
    index.follow()

    def act() -> None:
        repo.commit(MEMO)
        elsewhere.follow()

    repo.commit(LETTER)
    run_before_call(monkeypatch, MetadataPublisher, "_write", act)
    index.follow()
    for metadata in (current_metadata(index), current_metadata(elsewhere)):
        assert metadata.stats.source_commit == repo.head()
        assert "memo" in metadata.taxonomy["type"].values


def test_concurrent_branch_switch_resolves_the_right_location(tmp_path: Path) -> None:
    """One thread resolves the branch before the switch, another the branch after it."""
    branch, next_branches = "one", ["two"]

    class Slow(IndexLocation):
        def __setattr__(self, name: str, value: object) -> None:
            nonlocal branch
            super().__setattr__(name, value)
            if name == "_location" and value is not None and next_branches:
                branch = next_branches.pop()
                thread = threading.Thread(target=self.resolve)
                thread.start()
                thread.join(0.2)  # a correct thread waits for this one

    index_location = Slow(lambda: branch, lambda name: [tmp_path / name])
    index_location.resolve()
    for branch in ("one", "two", "one"):
        location = index_location.resolve()
        assert location is not None
        assert location.folder.name == branch
