"""Threads and processes at one index: nobody is told of less than another was, whenever they meet."""

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


def before(patch: pytest.MonkeyPatch, owner: object, name: str, act: Callable[[], object]) -> None:
    """Has something done once, right before a function is called for the first time."""
    real, waiting = getattr(owner, name), [act]

    def called(*given: Any) -> object:
        while waiting:
            waiting.pop()()
        return real(*given)

    patch.setattr(owner, name, called)


def engine_of(index: SearchIndex) -> Any:
    return index._live.engine


def told(index: SearchIndex) -> Metadata:
    found = index.metadata()
    assert found is not None
    return found


def test_an_answer_is_no_older_than_what_was_followed(
    open_index: Open, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One thread reads the last generation, another has read the one before it meanwhile."""
    index, elsewhere = open_index(), open_index()
    index.follow()
    repo.commit(LETTER)
    elsewhere.follow()
    repo.commit(MEMO)

    def act() -> None:
        assert engine_of(index).state().commit != repo.head()
        elsewhere.follow()

    before(monkeypatch, Store, "read", act)
    page = index.search("okapi")
    assert (page.commit, page.stale, [hit.filepath for hit in page.hits]) == (repo.head(), False, ["new.md"])


@pytest.mark.parametrize("times", [1, 10])
def test_an_index_that_goes_back_is_followed_again_or_said_to_be_stale(
    open_index: Open, repo: Repo, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """What was followed is opened no more, as where the place of its files is gone."""
    index = open_index()
    index.follow()
    older, before_it = engine_of(index)._searcher, repo.head()
    repo.commit(MEMO)
    real, left = LiveIndex.search, [None] * times

    def search(live: LiveIndex, *asked: Any) -> Any:
        if left:
            left.pop()
            live.engine._searcher = older
        return real(live, *asked)

    monkeypatch.setattr(LiveIndex, "search", search)
    page = index.search("okapi guide")
    assert (page.commit, page.stale) == ((repo.head(), False) if times == 1 else (before_it, True))


@pytest.mark.parametrize("path", [None, "nowhere/"], ids=["answered", "explained"])
def test_an_index_that_is_gone_since_it_was_followed_is_made_again(
    index: SearchIndex, repo: Repo, monkeypatch: pytest.MonkeyPatch, path: str | None
) -> None:
    index.follow()
    location = engine_of(index)._index_location.peek()

    def act() -> None:
        """Its folder is deleted, and another thread notices that."""
        shutil.rmtree(location.folder)
        assert engine_of(index).state() is None

    owner, name = (LiveIndex, "search") if path is None else (search, "_with_hint")
    before(monkeypatch, owner, name, act)
    page = index.search("errors", path=path)
    assert (bool(page.hits), page.commit) == (path is None, repo.head())
    assert page.hint is None or "nowhere/" in page.hint.message


def test_a_slower_thread_does_not_tell_of_an_older_index(
    index: SearchIndex, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.follow()

    def act() -> None:
        repo.commit(MEMO)
        thread = threading.Thread(target=index.follow)
        thread.start()
        thread.join()

    repo.commit(LETTER)
    before(monkeypatch, MetadataPublisher, "publish", act)
    index.follow()
    assert told(index).stats.source_commit == repo.head()


def test_a_slower_process_does_not_tell_of_an_older_index(
    open_index: Open, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, elsewhere = open_index(), open_index()
    index.follow()

    def act() -> None:
        repo.commit(MEMO)
        elsewhere.follow()

    repo.commit(LETTER)
    before(monkeypatch, MetadataPublisher, "_write", act)
    index.follow()
    for found in (told(index), told(elsewhere)):
        assert found.stats.source_commit == repo.head()
        assert "memo" in found.taxonomy["type"].values


def test_a_switch_leaves_no_home_of_another_branch(tmp_path: Path) -> None:
    """A thread settles for the branch before the switch, another for the branch after it."""
    branch, others = "one", ["two"]

    class Slow(IndexLocation):
        def __setattr__(self, name: str, value: object) -> None:
            nonlocal branch
            super().__setattr__(name, value)
            if name == "_location" and value is not None and others:
                branch = others.pop()
                thread = threading.Thread(target=self.resolve)
                thread.start()
                thread.join(0.2)  # which waits for this one, if all is well

    home = Slow(lambda: branch, lambda name: [tmp_path / name])
    home.resolve()
    for branch in ("one", "two", "one"):
        location = home.resolve()
        assert location is not None
        assert location.folder.name == branch
