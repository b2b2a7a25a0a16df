"""Commands that write to the clone of a running node: they use no lease, and nothing acknowledged is lost."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import repositories
from tests.acceptance.server import ToolResponse, build_user_environment
from tests.databases import postgres  # noqa: F401
from tests.nodes import NodeProcess, find_writer, run_nodes
from tests.postgres_server import PostgresServer
from tests.repositories import Repo

pytestmark = [pytest.mark.process, pytest.mark.guarantee]

PAGE = "# Page\n\n## Tasks {#tasks}\n\n- [ ] Begin\n"
FILES = {f"{name}.md": PAGE for name in ("alone", "both", "behind")}


@dataclass(frozen=True)
class Cluster:
    """Two nodes, the repository that they write, the database of their lease, and a person's home folder."""

    nodes: list[NodeProcess]
    remote_repo: Repo
    url: str
    home: Path

    def find_both(self) -> tuple[NodeProcess, NodeProcess]:
        """Return the node that writes, and the other one."""
        writer = find_writer(self.url, self.nodes)
        return writer, next(node for node in self.nodes if node is not writer)

    def run_command(self, node: NodeProcess, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the clone of a node, as a person without the settings of the node."""
        person = {"NAME": "Ann", "EMAIL": "ann@example.org"}
        identity = {f"GIT_{role}_{key}": person[key] for role in ("AUTHOR", "COMMITTER") for key in person}
        return subprocess.run(
            [sys.executable, "-m", "docyard", *arguments, "-C", str(node.clone.path)],
            env={**build_user_environment(self.home), **identity},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def create(self, node: NodeProcess, title: str) -> str | None:
        """Create a document by a command; return its path if the command has reported a success."""
        result = self.run_command(node, "new", title, "--json")
        return json.loads(result.stdout)["path"] if result.returncode == 0 else None

    def synchronize(self, node: NodeProcess) -> None:
        result = self.run_command(node, "sync")
        assert result.returncode == 0, result.stdout + result.stderr

    def list_paths(self) -> list[str]:
        return self.remote_repo.git("ls-tree", "-r", "--name-only", "main").split()

    def read_titles(self, file: str) -> list[str]:
        """Return the titles of the open tasks of a document in the shared repository."""
        page = self.remote_repo.git("show", f"main:{file}")
        return [line.removeprefix("- [ ] ") for line in page.splitlines() if line.startswith("- [")]


@pytest.fixture(scope="module")
def cluster(
    tmp_path_factory: pytest.TempPathFactory,
    postgres: PostgresServer,  # noqa: F811
) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    home = folder / "home"
    home.mkdir()
    remote_repo = repositories.create_bare_repository(folder / "docs.git", FILES)
    url = postgres.create_database()
    with run_nodes(folder, remote_repo, url, 2) as nodes:
        yield Cluster(nodes, remote_repo, url, home)


def add_task(node: NodeProcess, file: str, title: str) -> ToolResponse:
    return node.call("edit_document", operation="add_task", file=file, slug="tasks", title=title)


def test_commit_of_a_command_is_published_by_the_next_write_of_its_node(cluster: Cluster) -> None:
    assert not add_task(cluster.nodes[0], "alone.md", "First").is_error
    writer, _ = cluster.find_both()
    path = cluster.create(writer, "By a command")
    assert path is not None
    assert path not in cluster.list_paths()
    assert not add_task(writer, "alone.md", "Second").is_error
    assert path in cluster.list_paths()
    assert cluster.read_titles("alone.md") == ["Begin", "First", "Second"]


def test_node_whose_clone_has_another_commit_than_the_remote_writes_after_a_synchronization(
    cluster: Cluster,
) -> None:
    assert not add_task(cluster.nodes[0], "behind.md", "First").is_error
    writer, other = cluster.find_both()
    path = cluster.create(other, "Not published")
    assert path is not None
    assert not add_task(writer, "behind.md", "Second").is_error
    # The other node still forwards, and reports that its clone is not at the commit.
    forwarded = add_task(other, "behind.md", "Third")
    assert not forwarded.is_error, forwarded.text
    assert other.call("list_documents").data["sync"]["state"] == "diverged"
    assert path in other.clone.git("ls-tree", "-r", "--name-only", "main").split()
    writer.send_signal(signal.SIGTERM)
    writer.process.wait(60)
    refused = add_task(other, "behind.md", "Refused")
    assert refused.data["code"] == "UPSTREAM_DIVERGED", refused.text
    assert "docyard sync" in refused.data["fix"]
    cluster.synchronize(other)
    assert not add_task(other, "behind.md", "Fourth").is_error
    assert path in cluster.list_paths()
    assert cluster.read_titles("behind.md") == ["Begin", "First", "Second", "Third", "Fourth"]
    writer.restart()


def test_commands_in_both_clones_and_calls_at_once_lose_nothing(cluster: Cluster) -> None:
    assert not add_task(cluster.nodes[0], "both.md", "First").is_error
    created_paths: list[str | None] = []

    def create_documents(node: NodeProcess, name: str) -> None:
        created_paths.extend(cluster.create(node, f"{name} {number}") for number in range(3))

    commands = [
        threading.Thread(target=create_documents, args=(node, name))
        for node, name in zip(cluster.nodes, ("Heron", "Stork"), strict=True)
    ]
    for thread in commands:
        thread.start()
    titles = ["First"]
    for number in range(1_000):
        if not any(thread.is_alive() for thread in commands):
            break
        response = add_task(cluster.nodes[number % 2], "both.md", f"Task {number}")
        if response.is_error:
            assert response.data["code"] in ("UPSTREAM_DIVERGED", "BUSY"), response.text
            commands[0].join(0.2)
        else:
            titles.append(f"Task {number}")
    for thread in commands:
        thread.join()
    for node in (*cluster.nodes, cluster.nodes[0]):
        cluster.synchronize(node)
    paths = [path for path in created_paths if path is not None]
    assert paths
    assert set(paths) <= set(cluster.list_paths())
    assert cluster.read_titles("both.md") == ["Begin", *titles]
    for node in cluster.nodes:
        assert not add_task(node, "both.md", "Last").is_error
    assert cluster.remote_repo.fsck() == ""
