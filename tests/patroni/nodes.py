"""The nodes of Docyard, each with a clone of its own, and searches of a client."""

from __future__ import annotations

import http.client
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pygit2

from tests.patroni.cluster import ROOT, Cluster
from tests.patroni.network import Machine, Network

PORT = 8000
CONNECT_TIMEOUT_S = 2.0
ANSWER_TIMEOUT_S = 30.0
AUTHOR = pygit2.Signature("Ana", "ana@example.org")


class Answer(NamedTuple):
    """The answer to a search: the commit of the index, and if the node says that it is behind its clone."""

    commit: str
    is_stale: bool
    hits: int


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

    def search(self, query: str, timeout_s: float = ANSWER_TIMEOUT_S) -> Answer:
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
            connection.sock.settimeout(timeout_s)
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


class NoAnswer(Exception):
    """The node has answered with an error."""


class Documents:
    """A repository, whose clones have each commit at once."""

    def __init__(self, folder: Path) -> None:
        self._origin = folder / "origin.git"
        self._repository = pygit2.init_repository(str(self._origin), bare=True, initial_head="main")
        self._clones: list[pygit2.Repository] = []
        self._tree = pygit2.Tree
        self.commits: list[str] = []
        self.commit()

    def clone(self, path: Path) -> None:
        """Create a clone, which reads the objects of the repository."""
        subprocess.run(["git", "clone", "-q", "--bare", "--shared", self._origin, path], check=True)
        self._clones.append(pygit2.Repository(str(path)))

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
        self.commits.append(str(commit))
        for clone in self._clones:
            clone.references.create("refs/heads/main", commit, force=True)
        return number


def make_word(number: int) -> str:
    """Return a word that only the document with this number contains."""
    return "w" + "".join("abcdefghij"[int(digit)] for digit in f"{number:05}") + "q"


def create_nodes(network: Network, cluster: Cluster, folder: Path, documents: Documents) -> tuple[Node, ...]:
    """Return two nodes, which write to the primary server and read from the replicas."""
    variables = {
        "DOCYARD_SERVER__ENGINE__URL": cluster.build_url(target_session_attrs="read-write"),
        "DOCYARD_SERVER__ENGINE__READ_URL": cluster.build_url(target_session_attrs="prefer-standby"),
    }
    nodes: list[Node] = []
    for number in (1, 2):
        machine = network.add_machine(f"node{number}", f"192.0.2.{20 + number}", folder / f"node{number}")
        shutil.chown(machine.folder, "root", "root")
        clone = folder / f"clone{number}.git"
        documents.clone(clone)
        nodes.append(Node(machine, clone, variables))
    return tuple(nodes)
