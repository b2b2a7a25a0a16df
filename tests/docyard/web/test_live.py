"""Server-sent events: a page gets one event for each change, even for a change before it listened."""

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
from tests.docyard.web.page_server import PageServer, serve_pages
from tests.repositories import Repo, create_repository
from workspace.workspace import Workspace

_TIMEOUT_S = 30


@pytest.fixture(autouse=True)
def shorten_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check the repository more often than in production."""
    monkeypatch.setattr(live, "_CHECK_INTERVAL_S", 0.05)
    monkeypatch.setattr(live, "_TICK_INTERVAL_S", 0.02)


async def _read_next_event(events: AsyncIterator[str]) -> dict[str, str]:
    """Return the data of the next event."""
    with anyio.fail_after(_TIMEOUT_S):
        async for text in events:
            if "event: moved" in text:
                data = json.loads(text.partition("data: ")[2])
                assert text.startswith(f"id: {data['version']}\n")
                assert text.endswith("\n\n")
                return dict(data)
    raise AssertionError("the stream ended")


def test_listener_receives_an_event_for_each_change(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "r")

    async def listen(server: PageServer) -> None:
        first_version = server.site.versions.get_current(server.workspace)
        events = server.site.live_updates.stream_events(server.site, first_version)
        assert (await anext(events)).startswith("retry: ")
        assert server.site.live_updates.listener_count == 1
        commit = repo.commit({"a.md": "# A\n"})
        first_event = await _read_next_event(events)
        assert first_event["commit"] == commit
        repo.git("branch", "proposals/0-topic")
        second_event = await _read_next_event(events)
        assert second_event["commit"] == commit
        assert len({first_version, first_event["version"], second_event["version"]}) == 3
        late_events = server.site.live_updates.stream_events(server.site, first_version)
        assert await _read_next_event(late_events) == second_event
        server.site.live_updates.close()
        with anyio.fail_after(_TIMEOUT_S):
            assert [text async for text in events if "moved" in text] == []
            assert [text async for text in late_events if "moved" in text] == []
        assert server.site.live_updates.listener_count == 0

    with serve_pages(repo.path) as server:
        anyio.run(listen, server)


def test_unfinished_page_gets_an_event_when_complete(tmp_path: Path) -> None:
    async def listen(server: PageServer) -> None:
        version, is_complete = server.site.versions.get_current(server.workspace), threading.Event()
        server.site.background.submit("a walk", is_complete.is_set)
        events = server.site.live_updates.stream_events(server.site, format_unfinished_version(version))
        assert (await anext(events)).startswith("retry: ")
        with anyio.move_on_after(0.2) as timeout:
            await _read_next_event(events)
        assert timeout.cancelled_caught
        new_events = server.site.live_updates.stream_events(server.site, format_unfinished_version(version))
        is_complete.set()
        assert (await _read_next_event(new_events))["version"] == version

    with serve_pages(create_repository(tmp_path / "r").path) as server:
        anyio.run(listen, server)


def test_page_has_the_current_version(tmp_path: Path) -> None:
    with serve_pages(create_repository(tmp_path / "r").path) as server:
        version = server.site.versions.get_current(server.workspace)
        assert f'data-version="{version}"' in server.get("/")
        server.site.live_updates.close()
        response = server.client.get("/events")
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["cache-control"] == "no-store"


def test_too_many_listeners_return_503(tmp_path: Path) -> None:
    with serve_pages(create_repository(tmp_path / "r").path) as server:
        server.site.live_updates.close()
        server.site.live_updates.listener_count = MAX_LISTENERS
        response = server.client.get("/events")
        assert response.status_code == 503
        assert "retry-after" in response.headers


def _age_refs(repo: Repo) -> None:
    """Set the modification times of HEAD, packed-refs and the folders of refs to a date in the past."""
    for folder, _, _ in os.walk(repo.path / ".git" / "refs"):
        os.utime(folder, (1_700_000_000, 1_700_000_000))
    for name in ("HEAD", "packed-refs"):
        if (file := repo.path / ".git" / name).exists():
            os.utime(file, (1_700_000_000, 1_700_000_000))


def test_version_changes_only_with_displayed_refs(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "r")
    workspace, versions = Workspace.open(repo.path), Versions()
    version_values = [versions.get_current(workspace)]
    for change in (
        ("commit", "-q", "--allow-empty", "-m", "Another"),
        ("branch", "proposals/1-a"),
        ("branch", "docyard/discussion"),
        ("branch", "-f", "proposals/1-a", "HEAD~1"),
        ("branch", "-D", "proposals/1-a"),
        ("switch", "-q", "-c", "other"),
        ("branch", "possible-proposal-target"),
        ("update-ref", "refs/remotes/origin/docyard/discussion", "HEAD"),
        ("update-ref", "refs/remotes/origin/proposals/1-a", "HEAD"),
    ):
        _age_refs(repo)
        assert versions.get_current(workspace) == version_values[-1]
        repo.git(*change)
        version_values.append(versions.get_current(workspace))
    assert len(set(version_values)) == len(version_values)
    for change in (
        ("tag", "one"),
        ("update-ref", "refs/remotes/origin/unrelated", "HEAD"),
        ("pack-refs", "--all"),
    ):
        _age_refs(repo)
        assert versions.get_current(workspace) == version_values[-1]
        repo.git(*change)
        assert versions.get_current(workspace) == version_values[-1]
    assert Versions().get_current(workspace) == version_values[-1]


def test_deleted_repository_has_no_version(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "r")
    workspace = Workspace.open(repo.path)
    (repo.path / ".git").rename(repo.path / "elsewhere")
    assert Versions().get_current(workspace) == ""


def test_head_request_for_events_ends(tmp_path: Path) -> None:
    with serve_pages(create_repository(tmp_path / "r").path) as server:
        response = server.client.head("/events")
        assert response.headers["content-type"].startswith("text/event-stream")
        assert server.site.live_updates.listener_count == 0


def test_simultaneous_listeners_over_the_limit_are_refused(tmp_path: Path) -> None:
    async def listen(server: PageServer) -> None:
        live_updates = server.site.live_updates
        events = [live_updates.stream_events(server.site, "") for _ in range(MAX_LISTENERS + 5)]
        first_texts = [await anext(listener, None) for listener in events]
        assert first_texts.count(None) == 5
        assert live_updates.listener_count == MAX_LISTENERS
        for listener in events:
            await listener.aclose()
        assert live_updates.listener_count == 0

    with serve_pages(create_repository(tmp_path / "r").path) as server:
        anyio.run(listen, server)
