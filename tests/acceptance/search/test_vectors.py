"""Searches by meaning through a client: a provider that fails under load, an edit, and an artifact."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.acceptance.server import (
    ProtocolMode,
    Server,
    run_docyard,
    serve_artifact,
    serve_repository,
)
from tests.docyard.embedding.embedding_server import Answer, EmbeddingServer, run_embedding_server
from tests.repositories import Repo, create_repository

FILES = {
    f"guides/{name}.md": f"# The {name}\n\nHow to use the {name}.\n\n## Faults\n\nWhat breaks a {name}.\n"
    for name in ("engine", "wheel", "brake", "lamp", "door", "seat")
}
CLIENT_COUNT = 8


def get_options(provider: EmbeddingServer) -> tuple[str, ...]:
    return (
        "--embedding-provider",
        "http",
        "--embedding-url",
        provider.url,
        "--embedding-model",
        "test",
        "--embedding-timeout",
        "0.2",
    )


def wait_for_type(server: Server, search_type: str, timeout_s: float = 20) -> dict[str, Any]:
    """Search until an answer has a search type, and return the answer."""
    deadline = time.monotonic() + timeout_s
    number = 0
    while True:
        number += 1
        answer = server.call("search_docs", query=f"question {number} about a broken lamp").data
        if answer["search_type"] == search_type:
            return answer
        assert time.monotonic() < deadline, answer
        time.sleep(0.1)


def run_clients(search: Callable[[int], None], seconds: float) -> None:
    """Let several clients search at the same time until the time is over; raise their first error."""
    errors: list[BaseException] = []
    deadline = time.monotonic() + seconds

    def run(number: int) -> None:
        try:
            while time.monotonic() < deadline and not errors:
                search(number)
        except BaseException as error:  # reported by the test
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(CLIENT_COUNT)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_failures_of_the_provider_under_load_fail_no_search(
    tmp_path: Path, home: Path, protocol: ProtocolMode
) -> None:
    repo = create_repository(tmp_path / "docs", FILES)
    with (
        run_embedding_server() as provider,
        serve_repository(repo.path, home, *get_options(provider), protocol=protocol) as server,
    ):
        wait_for_type(server, "hybrid")
        release = threading.Event()
        failures = [
            [Answer({"error": "down"}, 500) for _ in range(5)],
            [Answer({"error": "limit"}, 429, {"Retry-After": "0"}) for _ in range(5)],
            [Answer({}, start=release) for _ in range(3)],
            [Answer(b"<html>", 200) for _ in range(5)],
        ]
        used_types: set[str] = set()
        lock = threading.Lock()
        counter = 0

        def search(number: int) -> None:
            nonlocal counter
            with lock:
                counter += 1
                query = f"lamp or wheel that breaks {counter}"
            response = server.call("search_docs", query=query, limit=3)
            assert not response.is_error, response.text
            assert len(response.data["hits"]) == 3
            used_type = response.data["search_type"]
            assert used_type == "hybrid" or response.data["embedding"]["note"], response.data
            used_types.add(used_type)

        for answers in failures:
            provider.answers[:] = answers
            run_clients(search, 0.7)
        release.set()
        provider.answers.clear()
        wait_for_type(server, "hybrid")
        assert used_types == {"bm25", "hybrid"}


def test_edit_of_one_section_sends_one_text(tmp_path: Path, home: Path) -> None:
    repo = create_repository(tmp_path / "docs", FILES)
    with (
        run_embedding_server() as provider,
        serve_repository(repo.path, home, *get_options(provider)) as server,
    ):
        wait_for_type(server, "hybrid")
        provider.requests.clear()
        edit = {"operation": "append_content", "file": "guides/lamp.md", "slug": "faults"}
        assert not server.call("edit_document", **edit, content="And what repairs it.").is_error
        answer = server.call("search_docs", query="lamp repairs").data
        assert "guides/lamp.md#faults" in [hit["chunk_id"] for hit in answer["hits"]]
        deadline = time.monotonic() + 10
        expected = ["The lamp > Faults\n\nWhat breaks a lamp.\n\nAnd what repairs it."]
        while expected not in (inputs := [request.body["input"] for request in provider.requests]):
            assert time.monotonic() < deadline, inputs
            time.sleep(0.05)
        documents = [texts for texts in inputs if texts != ["lamp repairs"]]
        assert documents == [expected]


def test_artifact_has_the_vectors_of_its_sections(tmp_path: Path, home: Path, repo: Repo) -> None:
    artifact, key = tmp_path / "out", tmp_path / "key"
    with run_embedding_server() as provider:
        build = run_docyard(
            ["build", str(repo.path), "--out", str(artifact), "--key", str(key), *get_options(provider)], home
        )
        assert build.returncode == 0, build.stderr
        assert build.stdout.endswith("Embedding: http test, 4 dimensions.\n")
        provider.requests.clear()
        with serve_artifact(artifact, home, "--key", str(key), *get_options(provider)) as server:
            wait_for_type(server, "hybrid")
        assert all(len(request.body["input"]) == 1 for request in provider.requests)
        with serve_artifact(artifact, home, "--key", str(key), "--embedding-provider", "hash") as server:
            answer = server.call("search_docs", query="what breaks a lamp").data
            assert answer["search_type"] == "bm25"
        with serve_artifact(artifact, home, "--key", str(key)) as server:
            assert "search_type" not in server.call("search_docs", query="what breaks a lamp").data
