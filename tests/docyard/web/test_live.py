"""Events: pages that listen hear that something moved, once, and nothing is missed before they listen."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from docyard.web import live
from docyard.web.live import MAX_LISTENERS, format_unfinished_version
from docyard.web.site import Versions
from tests.docyard.web.serving import Served, serving
from tests.repositories import Repo, normal
from workspace.workspace import Workspace

_LONG = 30  # seconds


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """The repository is looked at more often than for people."""
    monkeypatch.setattr(live, "_CHECK_INTERVAL_S", 0.05)
    monkeypatch.setattr(live, "_TICK_S", 0.02)


async def _moved(events: AsyncIterator[str]) -> dict[str, str]:
    """What the next event says."""
    with anyio.fail_after(_LONG):
        async for text in events:
            if "event: moved" in text:
                data = json.loads(text.partition("data: ")[2])
                assert text.startswith(f"id: {data['version']}\n")
                assert text.endswith("\n\n")
                return dict(data)
    raise AssertionError("the stream ended")


def test_who_listens_hears_of_each_move(tmp_path: Path) -> None:
    repo = normal(tmp_path / "r")

    async def listen(served: Served) -> None:
        known = served.site.versions.now(served.workspace)
        events = served.site.live.events(served.site, known)
        assert (await anext(events)).startswith("retry: ")
        assert served.site.live.listeners == 1
        commit = repo.commit({"a.md": "# A\n"})
        first = await _moved(events)
        assert first["commit"] == commit
        repo.git("branch", "proposals/0-topic")
        second = await _moved(events)
        assert second["commit"] == commit
        assert len({known, first["version"], second["version"]}) == 3
        late = served.site.live.events(served.site, known)
        assert await _moved(late) == second
        served.site.live.close()
        with anyio.fail_after(_LONG):
            assert [text async for text in events if "moved" in text] == []
            assert [text async for text in late if "moved" in text] == []
        assert served.site.live.listeners == 0

    with serving(repo.path) as served:
        anyio.run(listen, served)


def test_a_page_that_lacks_something_hears_when_it_is_read(tmp_path: Path) -> None:
    async def listen(served: Served) -> None:
        version, read = served.site.versions.now(served.workspace), threading.Event()
        served.site.background.submit("a walk", read.is_set)
        events = served.site.live.events(served.site, format_unfinished_version(version))
        assert (await anext(events)).startswith("retry: ")
        with anyio.move_on_after(0.2) as waiting:
            await _moved(events)
        assert waiting.cancelled_caught
        again = served.site.live.events(served.site, format_unfinished_version(version))
        read.set()
        assert (await _moved(again))["version"] == version

    with serving(normal(tmp_path / "r").path) as served:
        anyio.run(listen, served)


def test_the_version_is_that_of_the_page(tmp_path: Path) -> None:
    with serving(normal(tmp_path / "r").path) as served:
        version = served.site.versions.now(served.workspace)
        assert f'data-version="{version}"' in served.get("/")
        served.site.live.close()
        response = served.client.get("/events")
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["cache-control"] == "no-store"


def test_too_many_are_told_to_come_back(tmp_path: Path) -> None:
    with serving(normal(tmp_path / "r").path) as served:
        served.site.live.close()
        served.site.live.listeners = MAX_LISTENERS
        response = served.client.get("/events")
        assert response.status_code == 503
        assert "retry-after" in response.headers


def _calm(repo: Repo) -> None:
    """Makes the folders of refs look as if nobody had touched them for long."""
    for folder, _, _ in os.walk(repo.path / ".git" / "refs"):
        os.utime(folder, (1_700_000_000, 1_700_000_000))
    for name in ("HEAD", "packed-refs"):
        if (file := repo.path / ".git" / name).exists():
            os.utime(file, (1_700_000_000, 1_700_000_000))


def test_a_version_changes_with_what_pages_show_and_with_nothing_else(tmp_path: Path) -> None:
    repo = normal(tmp_path / "r")
    workspace, versions = Workspace.open(repo.path), Versions()
    seen = [versions.now(workspace)]
    for change in (
        ("commit", "-q", "--allow-empty", "-m", "Another"),
        ("branch", "proposals/1-a"),
        ("branch", "docyard/discussion"),
        ("branch", "-f", "proposals/1-a", "HEAD~1"),
        ("branch", "-D", "proposals/1-a"),
        ("switch", "-q", "-c", "other"),
        ("branch", "what-a-proposal-may-go-to"),
        ("update-ref", "refs/remotes/origin/docyard/discussion", "HEAD"),
        ("update-ref", "refs/remotes/origin/proposals/1-a", "HEAD"),
    ):
        _calm(repo)
        assert versions.now(workspace) == seen[-1]
        repo.git(*change)
        seen.append(versions.now(workspace))
    assert len(set(seen)) == len(seen)
    for change in (
        ("tag", "one"),
        ("update-ref", "refs/remotes/origin/unrelated", "HEAD"),
        ("pack-refs", "--all"),
    ):
        _calm(repo)
        assert versions.now(workspace) == seen[-1]
        repo.git(*change)
        assert versions.now(workspace) == seen[-1]
    assert Versions().now(workspace) == seen[-1]


def test_a_repository_that_is_gone_has_no_version(tmp_path: Path) -> None:
    repo = normal(tmp_path / "r")
    workspace = Workspace.open(repo.path)
    (repo.path / ".git").rename(repo.path / "elsewhere")
    assert Versions().now(workspace) == ""


def test_asking_for_the_headers_of_events_ends(tmp_path: Path) -> None:
    with serving(normal(tmp_path / "r").path) as served:
        response = served.client.head("/events")
        assert response.headers["content-type"].startswith("text/event-stream")
        assert served.site.live.listeners == 0


def test_who_comes_at_the_same_moment_as_too_many_is_not_served(tmp_path: Path) -> None:
    async def listen(served: Served) -> None:
        here = served.site.live
        events = [here.events(served.site, "") for _ in range(MAX_LISTENERS + 5)]
        first = [await anext(each, None) for each in events]
        assert first.count(None) == 5
        assert here.listeners == MAX_LISTENERS
        for each in events:
            await each.aclose()
        assert here.listeners == 0

    with serving(normal(tmp_path / "r").path) as served:
        anyio.run(listen, served)
