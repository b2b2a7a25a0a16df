"""Several hosts, each with a server of one artifact, while a builder replaces it repeatedly."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from docyard.cli.main import main
from docyard.terminal.exits import Exit
from tests.acceptance.server import Server, serving_artifact

BUILDS = 12


def build(source: Path, out: Path, key: Path, number: int) -> None:
    """Build an artifact whose number is in each of its documents and in its description."""
    for name in ("one", "two", "three"):
        (source / f"{name}.md").write_text(f"# Guide {name}\n\nEdition edition{number}.\n")
    options = ["--out", str(out), "--key", str(key), "--description", f"guides of edition {number}"]
    assert main(["build", str(source), *options]) == Exit.DONE


class Host(threading.Thread):
    """A host that searches and reads until it is stopped, and records answers and failures."""

    def __init__(self, server: Server, ended: threading.Event) -> None:
        super().__init__()
        self._server = server
        self._ended = ended
        self.editions: list[int] = []
        self.wrong: list[str] = []

    def run(self) -> None:
        try:
            while not self._ended.is_set():
                self._call()
        except Exception as error:  # a thread's error would be lost
            self.wrong.append(repr(error))

    def _call(self) -> None:
        found = self._server.call("search_docs", query="edition")
        if found.is_error or len(found.data["hits"]) != 3:
            self.wrong.append(found.text)
            return
        editions = {hit["snippet"].partition("edition")[2] for hit in found.data["hits"]}
        if len(editions) != 1:
            self.wrong.append(f"of several artifacts: {found.text}")
        self.editions.append(int(editions.pop().strip(". ")))
        read = self._server.call("get_doc", chunk_id=found.data["hits"][0]["chunk_id"])
        if read.is_error or "Edition edition" not in read.text:
            self.wrong.append(read.text)


@pytest.mark.parametrize("clients", [2, pytest.param(8, marks=pytest.mark.slow)])
def test_calls_succeed_while_artifact_is_replaced(tmp_path: Path, home: Path, clients: int) -> None:
    source, out, key = tmp_path / "source", tmp_path / "out", tmp_path / "key"
    source.mkdir()
    key.write_bytes(bytes(range(32)))
    key.chmod(0o600)
    build(source, out, key, 0)
    ended = threading.Event()
    with ExitStack() as stack:
        servers = [
            stack.enter_context(serving_artifact(out, home, *(["--key", str(key)] if number % 2 else [])))
            for number in range(clients)
        ]
        hosts = [Host(server, ended) for server in servers]
        for host in hosts:
            host.start()
        for number in range(1, BUILDS + 1):
            build(source, out, key, number)
        ended.set()
        for host in hosts:
            host.join()
        assert [host.wrong for host in hosts] == [[]] * clients
        assert all(host.editions == sorted(host.editions) for host in hosts)
        assert all(host.editions for host in hosts)
        for server in servers:
            while not (last := server.call("search_docs", query=f"edition{BUILDS}")).data["hits"]:
                assert last.data.get("stale")
            assert f"guides of edition {BUILDS}" in server.tools()["search_docs"]["description"]
