"""Commands on an artifact: search, eval and metadata; and a server of an artifact with malformed metadata."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests import fork_server
from tests.acceptance.server import ProtocolMode, build_user_environment, serve_artifact
from tests.repositories import Repo, create_repository

FILES = {
    "guides/login.md": "# Authentication\n\n## OAuth\n\nTokens.\n\n### Login\n\nA quagga logs in.\n",
    "cases.yaml": "- query: quagga\n  expected: guides/login.md\n",
}


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    return create_repository(tmp_path_factory.mktemp("sources") / "docs", FILES)


def run_docyard(home: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*fork_server.build_python_command(), "-m", "docyard", *map(str, arguments)],
        env=build_user_environment(home),
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def artifact(repo: Repo, home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    artifact_folder = tmp_path_factory.mktemp("artifact") / "site"
    assert run_docyard(home, "build", repo.path, "--out", artifact_folder).returncode == 0
    return artifact_folder


def test_artifact_with_malformed_source_commit_is_served(
    artifact: Path, home: Path, protocol: ProtocolMode
) -> None:
    metadata_file = artifact / "metadata.json"
    old_data = metadata_file.read_bytes()
    metadata = json.loads(old_data)
    assert metadata["corpus_description"] == "documentation of docs"
    try:
        metadata_file.write_text(
            json.dumps(metadata | {"stats": metadata["stats"] | {"source_commit": "unknown"}})
        )
        with serve_artifact(artifact, home, protocol=protocol) as server:
            response = server.call("search_docs", query="quagga")
        process = run_docyard(home, "metadata", artifact)
    finally:
        metadata_file.write_bytes(old_data)
    assert [hit["filepath"] for hit in response.data["hits"]] == ["guides/login.md"]
    assert response.data["commit"] is None
    assert process.returncode == 1
    assert "stats.source_commit" in process.stdout


def test_search_and_eval_read_artifact(artifact: Path, repo: Repo, home: Path) -> None:
    search_process = run_docyard(home, "search", "quagga", "--index", artifact, "--json")
    assert search_process.returncode == 0, search_process.stderr
    data = json.loads(search_process.stdout)
    assert data["commit"] == repo.head()
    assert data == json.loads(run_docyard(home, "search", "quagga", "-C", repo.path, "--json").stdout)
    process = run_docyard(home, "eval", repo.path / "cases.yaml", "--index", artifact, "--json")
    assert process.returncode == 0, process.stderr
    report = json.loads(process.stdout)
    assert (report["commit"], report["summary"]["page"]["mrr"]) == (repo.head(), 1)
    assert report["metadata"]["stats"]["source_commit"] == repo.head()


def test_artifact_and_repository_exclude_each_other(artifact: Path, repo: Repo, home: Path) -> None:
    for command in (("search", "quagga"), ("eval", repo.path / "cases.yaml")):
        process = run_docyard(home, *command, "--index", artifact, "-C", repo.path)
        assert (process.returncode, "--index and -C exclude each other" in process.stderr) == (
            2,
            True,
        )
        key_process = run_docyard(home, *command, "-C", repo.path, "--key", "site.key")
        assert (key_process.returncode, "--key belongs to --index" in key_process.stderr) == (2, True)
