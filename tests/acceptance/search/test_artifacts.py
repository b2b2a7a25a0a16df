"""Artifacts: a server returns the same responses as for the repository, and refuses a damaged artifact."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests import fork_server
from tests.acceptance.server import Server, build_user_environment, serve_artifact, serve_repository
from tests.loops import loop_over
from tests.repositories import Repo, create_repository

WORDS = [
    "quagga",
    "okapi",
    "wombat",
    "lynx",
    "heron",
    "otter",
    "badger",
    "RateLimitError",
    "--dry-run",
    "/v1/search",
]
MANIFEST = '[metadata]\narea = "core"\n[[override]]\nmatch = "c/*"\nmetadata = { type = "guide" }\n'
SETTINGS = '[taxonomy.language]\ndescription = "Programming language"\n[taxonomy.area]\n'


def build_pages(page_count: int) -> dict[str, str]:
    """Return documents of random words, some with front matter, in folders with manifests."""
    rng = random.Random(page_count)
    files = {
        "docyard.toml": SETTINGS,
        ".taxonomy.toml": MANIFEST,
        "b/.taxonomy.toml": '[metadata]\nlanguage = "go"\n',
    }
    for page in range(page_count):
        front_matter = (
            f"---\ntype: {rng.choice(['runbook', 'api_spec'])}\ntags: [t{page % 3}]\n---\n"
            if page % 2
            else ""
        )
        sections = "".join(
            f"\n## {rng.choice(WORDS)} {section}\n\n{' '.join(rng.choices(WORDS, k=12))}\n"
            for section in range(rng.randrange(5))
        )
        files[f"{'abc'[page % 3]}/{page:02}.md"] = (
            f"{front_matter}# Page {page}\n\nOn {rng.choice(WORDS)}.\n{sections}"
        )
    return files


def build_queries(count: int) -> list[dict[str, Any]]:
    """Return random queries with random filters, as arguments of `search_docs`."""
    rng = random.Random(count)
    filters = [{}, {}, {"type": "guide"}, {"tags": "t1"}, {"language": "go"}, {"area": "core"}, {"path": "b"}]
    query_formats = ["{} {}", "{}", "{} -{}", '"{} {}"', "{} {} {}", "nothing {}x"]
    return [
        {
            "query": rng.choice(query_formats).format(*rng.choices(WORDS, k=3)),
            "limit": 30,
            **rng.choice(filters),
        }
        for _ in range(count)
    ]


def run_docyard(home: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*fork_server.build_python_command(), "-m", "docyard", *map(str, arguments)],
        env=build_user_environment(home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    return create_repository(tmp_path_factory.mktemp("source") / "site", build_pages(45))


@pytest.fixture(scope="module")
def key_file(home: Path) -> Path:
    return home / "site.key"


@pytest.fixture(scope="module")
def artifact(repo: Repo, key_file: Path, home: Path) -> Path:
    artifact = home / "out"
    process = run_docyard(home, "build", repo.path, "--out", artifact, "--key", key_file)
    assert process.returncode == 0, process.stderr
    return artifact


@pytest.fixture(scope="module")
def servers(
    repo: Repo, artifact: Path, key_file: Path, home: Path
) -> Iterator[tuple[Server, Server, Server]]:
    """Yield servers of the repository, of the artifact with its key, and of the artifact without the key."""
    with ExitStack() as stack:
        yield (
            stack.enter_context(serve_repository(repo.path, home, "--read-only")),
            stack.enter_context(serve_artifact(artifact, home, "--key", str(key_file))),
            stack.enter_context(serve_artifact(artifact, home)),
        )


def read_all_pages(server: Server, query: dict[str, Any]) -> list[object]:
    """Return the commit, the hint and the hits of each page of a search, in one list."""
    results: list[object] = []
    cursor: dict[str, str] = {}
    while True:
        data = server.call("search_docs", **query, **cursor).data
        results += [data["commit"], data["hint"], *data["hits"]]
        if not data["next_cursor"]:
            return results
        cursor = {"cursor": data["next_cursor"]}


@pytest.mark.parametrize("query_count", [50, pytest.param(200, marks=pytest.mark.slow)])
def test_artifact_returns_same_results_as_repository(
    servers: tuple[Server, Server, Server], query_count: int
) -> None:
    repository_server, sealed_server, keyless_server = servers
    count_with_hits = 0
    for query in build_queries(query_count):
        expected = read_all_pages(repository_server, query)
        assert read_all_pages(sealed_server, query) == expected, query
        assert read_all_pages(keyless_server, query) == expected, query
        count_with_hits += len(expected) > 2
    assert count_with_hits > query_count // 2


def test_artifact_has_same_tools_and_schemas(servers: tuple[Server, Server, Server]) -> None:
    repository_tools, sealed_tools, keyless_tools = (server.list_tools() for server in servers)
    assert repository_tools == sealed_tools == keyless_tools
    assert repository_tools["search_docs"]["inputSchema"]["properties"]["area"]["enum"] == ["core"]


@loop_over(
    ("tool", "arguments"),
    [
        ("list_documents", {}),
        ("list_documents", {"path": "b", "type": "runbook"}),
        ("view_document", {"file": "a/03.md"}),
        ("view_document", {"file": "a/99.md"}),
        ("get_doc", {"chunk_id": "a/03.md", "context": 5}),
        ("get_doc", {"chunk_id": "a/03.md#nowhere"}),
        ("search_docs", {"query": "quagga", "area": "none"}),
        ("search_docs", {"query": ""}),
    ],
)
def test_artifact_returns_same_responses_to_reads(
    servers: tuple[Server, Server, Server], tool: str, arguments: dict[str, Any]
) -> None:
    repository_response, sealed_response, keyless_response = (
        server.call(tool, **arguments) for server in servers
    )
    assert repository_response == sealed_response == keyless_response


def test_cursor_of_repository_is_refused_by_artifact(servers: tuple[Server, Server, Server]) -> None:
    repository_server, sealed_server, _ = servers
    cursor = repository_server.call("search_docs", query="quagga", limit=1).data["next_cursor"]
    response = sealed_server.call("search_docs", query="quagga", limit=1, cursor=cursor)
    assert response.is_error
    assert response.data["code"] == "CURSOR_STALE"


def test_truncated_artifact_file_is_named_in_error(artifact: Path, key_file: Path, tmp_path: Path) -> None:
    file_names = sorted(
        path.relative_to(artifact).as_posix() for path in artifact.rglob("*") if path.is_file()
    )
    assert len(file_names) == 5
    for number, file_name in enumerate(file_names):
        copy = tmp_path / str(number)
        shutil.copytree(artifact, copy)
        with (copy / file_name).open("r+b") as stream:
            stream.truncate(stream.seek(0, 2) // 2)
        process = run_docyard(tmp_path, "serve", "--index", copy, "--read-only", "--key", key_file)
        assert (process.returncode, process.stdout) == (3, "")
        assert file_name in process.stderr or file_name.endswith(".manifest")
        assert "fix:" in process.stderr
        assert str(tmp_path) not in process.stderr


def test_folder_that_is_not_an_artifact_is_refused(repo: Repo, tmp_path: Path) -> None:
    live_index = next((repo.path / ".git" / "docyard" / "index").iterdir())
    for folder in (tmp_path, tmp_path / "missing", repo.path, live_index):
        process = run_docyard(tmp_path, "serve", "--index", folder, "--read-only")
        assert (process.returncode, process.stdout) == (3, "")
        assert process.stderr.startswith("error: ")


def test_metadata_command_reports_damaged_pack(
    artifact: Path, key_file: Path, tmp_path: Path, home: Path
) -> None:
    assert run_docyard(home, "metadata", artifact).returncode == 0
    copy = tmp_path / "copy"
    shutil.copytree(artifact, copy)
    pack = next((copy / "objects" / "pack").glob("*.pack"))
    data = bytearray(pack.read_bytes())
    data[len(data) // 2] ^= 1
    pack.write_bytes(data)
    process = run_docyard(home, "metadata", copy)
    assert process.returncode == 1
    assert pack.name in process.stdout + process.stderr
