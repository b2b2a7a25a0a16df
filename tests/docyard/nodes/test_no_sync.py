"""`docyard serve --no-sync` with the settings of a node: refused, unless the server only reads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from docyard.cli.main import main
from tests import repositories
from tests.acceptance.server import build_user_environment
from tests.databases import postgres  # noqa: F401
from tests.nodes import NodeProcess, run_nodes
from tests.postgres_server import PostgresServer
from tests.repositories import Repo


@pytest.fixture
def remote_repo(tmp_path: Path) -> Repo:
    files = {"page.md": "# Page\n\n## Tasks {#tasks}\n\n- [ ] Begin\n"}
    return repositories.create_bare_repository(tmp_path / "docs.git", files)


@pytest.mark.guarantee
def test_node_that_would_not_follow_the_others_is_refused_at_its_start(
    remote_repo: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would answer from old commits for ever, also with the `min_commit` of another node."""
    clone = repositories.clone_repository(remote_repo, tmp_path / "here")
    config = tmp_path / "server.toml"
    config.write_text(
        '[engine]\nurl = "postgresql://docyard@127.0.0.1:1/docyard"\nnode_url = "http://10.0.0.2:8000"\n'
    )
    options = ("--http", "127.0.0.1:0", "--no-token", "--config", str(config), "-C", str(clone.path))
    assert main(["serve", "--no-sync", *options]) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert "--no-sync and engine.node_url exclude each other" in error
    assert "--read-only" in error


@pytest.mark.process
def test_server_that_only_reads_and_does_not_synchronize_follows_the_fetches_of_a_command(
    remote_repo: Repo,
    tmp_path: Path,
    postgres: PostgresServer,  # noqa: F811
) -> None:
    url = postgres.create_database()
    clone = tmp_path / "reader.git"
    remote_repo.git("clone", "-q", "--bare", str(remote_repo.path), str(clone))
    with run_nodes(tmp_path, remote_repo, url, 1) as [writer]:
        reader = NodeProcess(tmp_path / "reader", clone, url, "--read-only", "--no-sync")
        try:
            reader.wait_until_ready()
            base = reader.call("search_docs", query="begin").data["commit"]
            fields = {"operation": "add_task", "file": "page.md", "slug": "tasks", "title": "An okapi"}
            written = writer.call("edit_document", **fields)
            assert not written.is_error, written.text
            commit = written.data["commit"]
            behind = reader.call("search_docs", query="begin", min_commit=commit).data
            assert (behind["commit"], behind["behind"]["code"]) == (base, "BEHIND_MIN_COMMIT")
            assert reader.clone.head() == base
            subprocess.run(
                [sys.executable, "-m", "docyard", "sync", "--fetch", "-C", str(clone)],
                env=build_user_environment(tmp_path),
                check=True,
            )
            found = reader.call("search_docs", query="okapi", min_commit=commit).data
            assert (found["commit"], "behind" in found) == (commit, False)
            assert [hit["filepath"] for hit in found["hits"]] == ["page.md"]
        finally:
            reader.end()
