"""The nodes of Docyard, each with a clone of its own, and searches of a client."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pygit2

from index.service import SearchIndex
from tests.patroni.cluster import ROOT, Cluster, wait_until
from tests.patroni.network import Machine, Network
from workspace.workspace import Workspace

PORT = 8000
CONNECT_TIMEOUT_S = 2.0
ANSWER_TIMEOUT_S = 30.0
AUTHOR = pygit2.Signature("Ana", "ana@example.org")


class NoAnswer(Exception):
    """The node has answered with an error."""


class Answer(NamedTuple):
    """The answer to a search. `is_stale` is True if the node says that its index is behind its clone."""

    commit: str
    is_stale: bool
    hit_count: int


class Node:
    """A machine with `docyard serve`, and its clone."""

    def __init__(self, machine: Machine, clone: Path, variables: dict[str, str]) -> None:
        self.machine = machine
        self.clone = clone
        self._variables = variables

    def start(self) -> None:
        """Start the server."""
        address = f"{self.machine.address}:{PORT}"
        command = (
            *(sys.executable, "-m", "docyard", "serve", "-C", self.clone, "--http", address),
            *("--allow-host", self.machine.address, "--read-only", "--no-token"),
        )
        self.machine.start(command, {**self._variables, "PYTHONPATH": str(ROOT)}, unprivileged=False)

    def is_reachable(self) -> bool:
        """Return True if the node accepts a connection."""
        try:
            socket.create_connection((self.machine.address, PORT), CONNECT_TIMEOUT_S).close()
        except OSError:
            return False
        return True

    def wait_for_answer(self, timeout_s: float) -> None:
        """Wait until the node answers a search. Raises TimeoutError."""

        def answers() -> bool:
            with suppress(OSError, NoAnswer):
                self.search("okapi")
                return True
            return False

        wait_until(answers, timeout_s)

    def read_namespace_id(self) -> str:
        """Return the id of the node's index in the database."""
        return SearchIndex(Workspace.open(self.clone))._live._make_namespace_id()

    def search(self, query: str) -> Answer:
        """Search over a new connection. Raises OSError, and NoAnswer if the node has no index."""
        call = {"name": "search_docs", "arguments": {"query": query}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "MCP-Protocol-Version": "2025-06-18",
        }
        connection = http.client.HTTPConnection(self.machine.address, PORT, timeout=CONNECT_TIMEOUT_S)
        try:
            connection.connect()
            connection.sock.settimeout(ANSWER_TIMEOUT_S)
            _detect_cut_link(connection.sock)
            connection.request("POST", "/mcp", body, headers)
            text = connection.getresponse().read()
        except http.client.HTTPException as error:
            raise ConnectionError(str(error)) from error
        finally:
            connection.close()
        result = json.loads(text)["result"]
        data = result["structuredContent"]
        if result.get("isError"):
            raise NoAnswer(str(data))
        return Answer(data["commit"], data.get("stale", False), len(data["hits"]))


def _detect_cut_link(connection: socket.socket) -> None:
    """Let the wait for an answer end four seconds after the link is cut."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in ((socket.TCP_KEEPIDLE, 1), (socket.TCP_KEEPINTVL, 1), (socket.TCP_KEEPCNT, 3)):
        connection.setsockopt(socket.IPPROTO_TCP, option, value)


class Documents:
    """A repository, and clones that fetch from it. `commits` has the ids of its commits by number."""

    def __init__(self, folder: Path) -> None:
        self._origin = folder / "origin.git"
        self._repository = pygit2.init_repository(str(self._origin), bare=True, initial_head="main")
        self._clones: dict[Path, pygit2.Repository] = {}
        self._numbers: dict[str | None, int] = {}
        self.commits: list[str] = []
        self.commit()

    def find_number(self, commit: str | None) -> int:
        """Return the number of a commit; -1 if it is none of these."""
        return self._numbers.get(commit, -1)

    def clone(self, path: Path) -> None:
        """Create a clone, which reads the objects of the repository."""
        subprocess.run(["git", "clone", "-q", "--bare", "--shared", self._origin, path], check=True)
        self._clones[path] = pygit2.Repository(str(path))

    def fetch(self, path: Path) -> None:
        """Set the branch of a clone to the last commit."""
        self._clones[path].references.create("refs/heads/main", self.commits[-1], force=True)

    def commit(self) -> int:
        """Commit a document that contains the word `make_word(number)`; return the number of the commit."""
        number = len(self.commits)
        parents = self.commits[-1:]
        repository = self._repository
        top = repository.TreeBuilder(repository[parents[0]].tree) if parents else repository.TreeBuilder()
        name = f"part-{number // 100}"
        folder = repository.TreeBuilder()
        if (entry := top.get(name)) is not None:
            folder = repository.TreeBuilder(repository[entry.id])
        text = f"# Document {number}\n\nAn okapi, and {make_word(number)}.\n"
        folder.insert(f"{number}.md", repository.create_blob(text.encode()), pygit2.enums.FileMode.BLOB)
        top.insert(name, folder.write(), pygit2.enums.FileMode.TREE)
        commit = repository.create_commit(
            "refs/heads/main", AUTHOR, AUTHOR, f"Document {number}", top.write(), parents
        )
        self._numbers[str(commit)] = number
        self.commits.append(str(commit))
        return number


def make_word(number: int) -> str:
    """Return a word that only the document with this number contains."""
    return "w" + "".join("abcdefghij"[int(digit)] for digit in f"{number:05}") + "q"


def create_nodes(network: Network, cluster: Cluster, folder: Path, documents: Documents) -> tuple[Node, ...]:
    """Return two nodes, which write to the primary server and read from the replicas."""
    variables = {
        "DOCYARD_SERVER__ENGINE__URL": cluster.url,
        "DOCYARD_SERVER__ENGINE__READ_URL": cluster.read_url,
    }
    nodes: list[Node] = []
    for number in (1, 2):
        machine = network.add_machine(f"node{number}", f"192.0.2.{20 + number}", folder / f"node{number}")
        shutil.chown(machine.folder, "root", "root")
        clone = folder / f"clone{number}.git"
        documents.clone(clone)
        nodes.append(Node(machine, clone, variables))
    return tuple(nodes)
