"""The statements of the contract about artifacts, tested with the command line and a client."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from index.artifacts.manifest import read_artifact_manifest, write_artifact_manifest
from index.storage.metadata import parse_metadata
from tests import fork_server
from tests.acceptance.server import Server, build_user_environment, serve_artifact
from tests.loops import loop_over
from tests.repositories import Repo, create_repository
from workspace.archive import Archive

RETRIES_TEXT = "---\nlanguage: go\n---\n# Retries\n\nText.\n\n## Backoff\n\nExponential, like a quagga.\n"
FILES = {
    "docyard.toml": '[taxonomy.language]\ndescription = "Filter by language."\n',
    "old.md": RETRIES_TEXT,
    "guides/limits.md": "# Limits\n\n## Rate\n\nTen a second.\n",
    "notes.txt": "A quagga that is no document.\n",
}


def run_docyard(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a user with an empty home."""
    return subprocess.run(
        [*fork_server.build_python_command(), "-m", "docyard", *arguments],
        env=build_user_environment(home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def build_artifact(home: Path, source: Path, artifact: Path, *options: str) -> dict[str, Any]:
    """Build an artifact and return its metadata.json."""
    process = run_docyard(home, "build", str(source), "--out", str(artifact), *options)
    assert process.returncode == 0, process.stderr
    metadata: dict[str, Any] = json.loads((artifact / "metadata.json").read_bytes())
    return metadata


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    repo = create_repository(tmp_path_factory.mktemp("source") / "docs", FILES)
    repo.git("mv", "old.md", "guides/retries.md")
    repo.commit({})
    repo.write({"guides/draft.md": "# Draft\n\nA quagga that is not committed.\n"})
    return repo


@pytest.fixture(scope="module")
def artifact(repo: Repo, home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    artifact = tmp_path_factory.mktemp("built") / "out"
    build_artifact(home, repo.path, artifact, "--description", "Acme handbook")
    return artifact


@pytest.fixture(scope="module")
def server(artifact: Path, home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield a server of a copy of the artifact, without its repository."""
    copy = tmp_path_factory.mktemp("elsewhere") / "copy"
    shutil.copytree(artifact, copy)
    with serve_artifact(copy, home) as server:
        server.call("search_docs", query="quagga")
        yield server


def test_artifact_contains_index_sources_metadata_and_checksums(artifact: Path) -> None:
    metadata = parse_metadata((artifact / "metadata.json").read_bytes())
    assert (metadata.stats.total_files, metadata.stats.total_chunks) == (2, 4)
    manifest = read_artifact_manifest(artifact, (artifact / "metadata.json").read_bytes())
    assert {name.split("/")[0] for name in manifest.files} >= {"index", "objects"}
    for name, file_sum in manifest.files.items():
        data = (artifact / name).read_bytes()
        assert file_sum == (len(data), hashlib.sha256(data).hexdigest())


def test_build_of_work_tree_uses_head(artifact: Path, repo: Repo, server: Server) -> None:
    metadata = parse_metadata((artifact / "metadata.json").read_bytes())
    assert metadata.stats.source_commit == repo.head()
    data = server.call("search_docs", query="quagga").data
    assert [hit["filepath"] for hit in data["hits"]] == ["guides/retries.md"]
    assert data["commit"] == repo.head()
    assert data["blobs"] == {"guides/retries.md": repo.git("rev-parse", "HEAD:guides/retries.md").strip()}


def test_description_and_schema_come_from_artifact(server: Server) -> None:
    tool = server.list_tools()["search_docs"]
    assert tool["description"].startswith("Search the Acme handbook. Use this")
    assert tool["inputSchema"]["properties"]["language"] == {
        "type": "string",
        "description": "Filter by language.",
        "enum": ["go"],
    }


def test_reading_tools_work_without_repository(server: Server, repo: Repo) -> None:
    hits = server.call("search_docs", query="exponential", language="go").data["hits"]
    assert [hit["chunk_id"] for hit in hits] == ["guides/retries.md#backoff"]
    chunk = server.call("get_doc", chunk_id=hits[0]["chunk_id"])
    assert chunk.text.endswith("## Backoff\n\nExponential, like a quagga.")
    assert chunk.data["commit"] == repo.head()
    documents = server.call("list_documents").data["documents"]
    assert [entry["path"] for entry in documents] == ["guides/limits.md", "guides/retries.md"]
    view = server.call("view_document", file="guides/limits.md", slug="rate")
    assert view.data["content"] == "## Rate\n\nTen a second.\n"
    assert set(server.list_tools()) >= {"search_docs", "get_doc", "list_documents", "view_document"}
    assert "edit_document" not in server.list_tools()


def test_old_address_in_artifact_returns_current_address(server: Server) -> None:
    response = server.call("get_doc", chunk_id="old.md#backoff")
    assert response.data["moved_to"] == {"chunk_id": "guides/retries.md#backoff", "commit": None}


def test_artifact_of_folder_has_no_source_commit(tmp_path: Path, home: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "guides").mkdir(parents=True)
    (folder / "guides/retries.md").write_text(RETRIES_TEXT)
    metadata = build_artifact(home, folder, tmp_path / "out", "--description", "A folder")
    assert metadata["stats"]["source_commit"] is None
    with serve_artifact(tmp_path / "out", tmp_path / "home") as server:
        search = server.call("search_docs", query="quagga").data
        assert search["commit"] is None
        assert [hit["filepath"] for hit in search["hits"]] == ["guides/retries.md"]


def test_build_of_ref_uses_its_commit(repo: Repo, tmp_path: Path, home: Path) -> None:
    first_commit = repo.git("rev-parse", "HEAD~1").strip()
    repo.git("tag", "v1", first_commit)
    metadata = build_artifact(home, repo.path, tmp_path / "out", "--ref", "v1", "--description", "Before")
    assert metadata["stats"]["source_commit"] == first_commit
    artifact = tmp_path / "out"
    tree = read_artifact_manifest(artifact, (artifact / "metadata.json").read_bytes()).tree
    assert list(Archive(artifact, tree).snapshot().documents) == ["guides/limits.md", "old.md"]


def rewrite_metadata(artifact: Path, copy: Path, **fields: Any) -> Path:
    """Return an artifact with a changed metadata.json, as another program may write the file."""
    shutil.copytree(artifact, copy)
    old_data = (copy / "metadata.json").read_bytes()
    new_data = json.dumps({**json.loads(old_data), **fields}).encode()
    write_artifact_manifest(copy, new_data, read_artifact_manifest(copy, old_data), None)
    (copy / "metadata.json").write_bytes(new_data)
    return copy


@loop_over(
    ("fields", "expected"),
    [
        ({"metadata_version": "2.0.0"}, "metadata_version"),
        ({"metadata_version": "1.1"}, "metadata_version"),
        ({"corpus_description": None}, "corpus_description"),
    ],
)
def test_unsupported_or_invalid_metadata_prevent_server_start(
    artifact: Path, tmp_path: Path, fields: dict[str, Any], expected: str
) -> None:
    copy = rewrite_metadata(artifact, tmp_path / "copy", **fields)
    process = run_docyard(tmp_path, "serve", "--index", str(copy), "--read-only")
    assert (process.returncode, process.stdout) == (3, "")
    assert expected in process.stderr


def test_unused_metadata_do_not_prevent_start(artifact: Path, tmp_path: Path) -> None:
    model = {"provider": "openai", "model": "text-embedding-3-large", "dimensions": 3072}
    stats = json.loads((artifact / "metadata.json").read_bytes())["stats"] | {"source_commit": "ab" * 20}
    copy = rewrite_metadata(artifact, tmp_path / "copy", embedding=model, stats=stats)
    with serve_artifact(copy, tmp_path / "home") as server:
        search = server.call("search_docs", query="exponential").data
        assert [hit["chunk_id"] for hit in search["hits"]] == ["guides/retries.md#backoff"]
        assert search["commit"] == "ab" * 20
