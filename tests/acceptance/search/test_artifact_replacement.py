"""Several hosts, each with a server of one artifact, while builds replace the artifact repeatedly."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from docyard.cli.main import main
from docyard.terminal.exits import Exit
from tests.acceptance.server import Server, serve_artifact

BUILD_COUNT = 12


def build_artifact(source: Path, artifact: Path, key_file: Path, edition: int) -> None:
    """Build an artifact whose documents and description contain the number of the edition."""
    for name in ("one", "two", "three"):
        (source / f"{name}.md").write_text(f"# Guide {name}\n\nEdition edition{edition}.\n")
    options = [
        "--out",
        str(artifact),
        "--key",
        str(key_file),
        "--description",
        f"guides of edition {edition}",
    ]
    assert main(["build", str(source), *options]) == Exit.DONE


class Host(threading.Thread):
    """An MCP host that searches and reads until it is stopped, and records editions and failures."""

    def __init__(self, server: Server, stop_event: threading.Event) -> None:
        super().__init__()
        self._server = server
        self._stop_event = stop_event
        self.editions: list[int] = []
        self.failures: list[str] = []

    def run(self) -> None:
        try:
            while not self._stop_event.is_set():
                self._search_and_read()
        except Exception as error:  # an exception in a thread would not fail the test
            self.failures.append(repr(error))

    def _search_and_read(self) -> None:
        search = self._server.call("search_docs", query="edition")
        if search.is_error or len(search.data["hits"]) != 3:
            self.failures.append(search.text)
            return
        editions = {hit["snippet"].partition("edition")[2] for hit in search.data["hits"]}
        if len(editions) != 1:
            self.failures.append(f"hits of several editions: {search.text}")
        self.editions.append(int(editions.pop().strip(". ")))
        chunk = self._server.call("get_doc", chunk_id=search.data["hits"][0]["chunk_id"])
        if chunk.is_error or "Edition edition" not in chunk.text:
            self.failures.append(chunk.text)


@pytest.mark.parametrize("host_count", [2, pytest.param(8, marks=pytest.mark.slow)])
def test_calls_succeed_while_artifact_is_replaced(tmp_path: Path, home: Path, host_count: int) -> None:
    source, artifact, key_file = tmp_path / "source", tmp_path / "out", tmp_path / "key"
    source.mkdir()
    key_file.write_bytes(bytes(range(32)))
    key_file.chmod(0o600)
    build_artifact(source, artifact, key_file, 0)
    stop_event = threading.Event()
    with ExitStack() as stack:
        servers = [
            stack.enter_context(
                serve_artifact(artifact, home, *(["--key", str(key_file)] if number % 2 else []))
            )
            for number in range(host_count)
        ]
        hosts = [Host(server, stop_event) for server in servers]
        for host in hosts:
            host.start()
        for number in range(1, BUILD_COUNT + 1):
            build_artifact(source, artifact, key_file, number)
        stop_event.set()
        for host in hosts:
            host.join()
        assert [host.failures for host in hosts] == [[]] * host_count
        assert all(host.editions == sorted(host.editions) for host in hosts)
        assert all(host.editions for host in hosts)
        for server in servers:
            while not (response := server.call("search_docs", query=f"edition{BUILD_COUNT}")).data["hits"]:
                assert response.data.get("stale")
            assert f"guides of edition {BUILD_COUNT}" in server.list_tools()["search_docs"]["description"]
