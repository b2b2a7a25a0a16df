"""The threads that follow the sources of a server."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from docyard.sources.follower import Follower
from index.sources.source import SourceUnavailable
from index.sources.sources import Sources, search_sources
from tests.documentation_sources import create_source_repositories, open_test_sources, write_sources_file
from tests.repositories import Repo
from tests.workspace.sync.servers import HOST, TOKEN, run_http_server
from workspace.git.remotes.credentials import Access

pytestmark = pytest.mark.process

WAIT_S = 30.0


@pytest.fixture
def guides(tmp_path: Path) -> Repo:
    return create_source_repositories(tmp_path)[1]


@contextmanager
def start_follower(sources: Sources, *, leads: bool = True) -> Iterator[Follower]:
    follower = Follower(sources, lambda: Access(token=TOKEN), lambda: None, leads=leads)
    follower.start()
    try:
        yield follower
    finally:
        follower.close()
        sources.close()


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, "the condition did not become true in time"
        time.sleep(0.02)


def has_hits(sources: Sources, query: str) -> bool:
    try:
        return bool(search_sources(sources.select("guides"), query, limit=1).hits)
    except SourceUnavailable:
        return False


def test_requested_fetch_reads_a_push_before_the_interval(tmp_path: Path, guides: Repo) -> None:
    with run_http_server(tmp_path) as url:
        sources_file = write_sources_file(
            tmp_path,
            f'[sources.guides]\nurl = "{url}/guides/.git"\nevery = "1h"\n[sources.b]\nrepo = "api"\n',
        )
        sources = open_test_sources(sources_file)
        with start_follower(sources) as follower:
            wait_until(lambda: has_hits(sources, "shell"))
            guides.commit({"zoo.md": "# Zoo\n\nA zebra.\n"})
            time.sleep(0.2)
            assert not has_hits(sources, "zebra")
            follower.request_fetch(sources.select("guides"))
            wait_until(lambda: has_hits(sources, "zebra"))


def test_remote_without_answer_delays_no_other_source(tmp_path: Path, guides: Repo) -> None:
    silent = socket.create_server((HOST, 0))
    with silent, run_http_server(tmp_path) as url:
        text = f'[sources.guides]\nurl = "{url}/guides/.git"\nevery = "10s"\n' + "".join(
            f'[sources.silent-{number}]\nurl = "http://{HOST}:{silent.getsockname()[1]}/a/{number}.git"\n'
            for number in range(2)
        )
        sources_file = write_sources_file(tmp_path, text)
        sources = open_test_sources(sources_file)
        with start_follower(sources) as follower:
            wait_until(lambda: has_hits(sources, "shell"))
            guides.commit({"zoo.md": "# Zoo\n\nA zebra.\n"})
            follower.request_fetch(sources.select("guides"))
            wait_until(lambda: has_hits(sources, "zebra"))
            [unavailable] = sources.select("silent-0")
            with pytest.raises(SourceUnavailable, match="not been fetched yet"):
                unavailable.check_available()


def test_follower_that_does_not_lead_makes_requested_fetches_alone(tmp_path: Path, guides: Repo) -> None:
    with run_http_server(tmp_path) as url:
        sources_file = write_sources_file(
            tmp_path, f'[sources.guides]\nurl = "{url}/guides/.git"\n[sources.api]\nrepo = "api"\n'
        )
        sources = open_test_sources(sources_file)
        with start_follower(sources, leads=False) as follower:
            time.sleep(0.3)
            assert not has_hits(sources, "shell")
            assert not list((tmp_path / "indexes").glob("*"))
            follower.request_fetch(sources.select("guides"))
            wait_until(lambda: has_hits(sources, "shell"))
