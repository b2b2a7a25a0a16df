"""The query operators: every interface finds the same sections.

The interfaces are both protocol versions, both tools, a ref, a proposal, an artifact, the shell and the web.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests import fork_server
from tests.acceptance.server import Server, build_user_environment, serve_artifact, serve_repository
from tests.docyard.web.page_server import serve_pages
from tests.loops import loop_over
from tests.repositories import Repo, create_repository

FILES = {
    "docyard.toml": '[taxonomy.language]\ndescription = "Programming language"\n',
    "guides/retry.md": (
        "---\ntype: runbook\ntags: [sdk, network]\nlanguage: go\nupdated: 2026-01-15\n---\n"
        "# Retry guide\n\nClients authenticate, then retry.\n\n"
        "## Backoff\n\nWait with jitter, up to a limit.\n"
    ),
    "guides/limits.md": (
        "---\ntags: network\nlanguage: Python\nupdated: 2025-12-31T23:00:00Z\n---\n"
        "# Rate limits\n\nThe authorization has a legacy limit.\n"
    ),
    "notes/重試.md": "# 重試\n\n容器網絡的退避。 Draft of a retry.\n",
}

RETRY, BACKOFF, LIMITS, NOTE = (
    "guides/retry.md#_preamble",
    "guides/retry.md#backoff",
    "guides/limits.md#_preamble",
    "notes/重試.md#_preamble",
)

# The sections that each query finds, in any order.
EXPECTED_SECTIONS: Mapping[str, set[str]] = {
    "auth*": {RETRY, LIMITS},
    "authent*": {RETRY},
    "jitterr~1": {BACKOFF},
    "backof~2 nothing": {BACKOFF},
    "title:retry": {RETRY, BACKOFF},
    "title:ret* jitter": {BACKOFF},
    "heading:backoff": {BACKOFF},
    "path:guides legacy": {LIMITS},
    "path:*/re*": {RETRY, BACKOFF},
    "tag:sdk": {RETRY, BACKOFF},
    "tags:net* limit": {BACKOFF, LIMITS},
    "type:runbook authenticate": {RETRY},
    "language:python": {LIMITS},
    "updated:2026-01-15": {RETRY, BACKOFF},
    "updated:2025": {LIMITS},
    "updated:>=2026": {RETRY, BACKOFF},
    "updated:[2025-12-31 TO *] limit": {BACKOFF, LIMITS},
    "limit AND jitter": {BACKOFF},
    "limit NOT jitter": {LIMITS},
    "(jitter OR legacy) AND limit": {BACKOFF, LIMITS},
    'limit AND NOT ("legacy limit" OR title:guide)': set(),
    "retry AND NOT tag:sdk": {NOTE},
    "容器網絡 AND 退避": {NOTE},
    "retry -draft path:notes": set(),
    "nowhere:x legacy": {LIMITS},
    "legacy AND": {LIMITS},
    "Clients MUST NOT authenticate": {RETRY},
    "localhost:8080 legacy": {LIMITS},
}
NOTES = {
    "nowhere:x legacy": ["'nowhere:x' was searched as words: 'nowhere' is not a field "],
    "legacy AND": [
        "AND, OR and NOT were searched as words: AND, OR, NOT or a bracket has nothing next to it"
    ],
}


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """Return a repository with `FILES` at the tag `v1`, and with other settings and texts on the branch."""
    repo = create_repository(tmp_path_factory.mktemp("operators") / "docs", FILES)
    repo.git("tag", "v1")
    repo.commit(
        {
            "docyard.toml": "[taxonomy.level]\n",
            "guides/retry.md": FILES["guides/retry.md"].replace("updated", "changed").replace("jitter", "x"),
        }
    )
    repo.git("rm", "guides/limits.md")
    repo.commit({})
    return repo


@pytest.fixture(scope="module")
def tool_callers(repo: Repo, home: Path) -> Iterator[dict[str, Callable[..., Any]]]:
    """Yield functions that call a tool on `FILES`, by interface; `repo` contains `FILES` only at the tag."""
    files_repo = create_repository(repo.path.parent / "tip", FILES)
    artifact, key_file = home / "operators-out", home / "operators.key"
    build_arguments: list[str | Path] = ["build", files_repo.path, "--out", artifact, "--key", key_file]
    subprocess.run(
        [*fork_server.build_python_command(), "-m", "docyard", *build_arguments],
        env=build_user_environment(home),
        check=True,
        capture_output=True,
    )
    with ExitStack() as stack:
        auto_server: Server = stack.enter_context(serve_repository(files_repo.path, home))
        legacy_server = stack.enter_context(serve_repository(files_repo.path, home, protocol="legacy"))
        tag_server = stack.enter_context(
            serve_repository(repo.path, home, "--toolsets", "documents,search,history,proposals")
        )
        sealed_server = stack.enter_context(serve_artifact(artifact, home, "--key", str(key_file)))
        unsealed_server = stack.enter_context(serve_artifact(artifact, home, protocol="legacy"))
        proposal = _create_proposal(tag_server)
        yield {
            "auto": auto_server.call,
            "legacy": legacy_server.call,
            "ref": lambda tool, **fields: tag_server.call(tool, ref="v1", **fields),
            "proposal": lambda tool, **fields: tag_server.call(tool, ref=proposal, **fields),
            "sealed": sealed_server.call,
            "unsealed": unsealed_server.call,
        }


def _create_proposal(server: Server) -> str:
    """Open a proposal that restores the files of the tag, except the settings."""
    response = server.call("create_proposal", title="Restore the guides", description="Both.")
    assert not response.is_error, response.text
    proposal: str = response.data["proposal"]
    for file in ("guides/limits.md", "guides/retry.md", "guides/retry.md"):
        # The first call for a document that the client has not read returns its text.
        response = server.call("restore_document", file=file, ref="v1", proposal=proposal)
    assert not response.is_error, response.text
    return proposal


@pytest.mark.parametrize("interface", ["auto", "legacy", "ref", "proposal", "sealed", "unsealed"])
def test_operators_find_the_same_sections_with_each_interface(
    tool_callers: dict[str, Callable[..., Any]], interface: str
) -> None:
    call = tool_callers[interface]
    for query, expected in EXPECTED_SECTIONS.items():
        if interface == "proposal" and "language" in query:
            continue  # the settings of the proposal have another taxonomy key
        response = call("search_docs", query=query, limit=50)
        assert not response.is_error, (query, response.text)
        assert {hit["chunk_id"] for hit in response.data["hits"]} == expected, query
        assert (response.data["hint"] is None) == bool(expected)
        notes = response.data.get("query_notes", [])
        assert len(notes) == len(NOTES.get(query, [])), (query, notes)
        assert all(note.startswith(start) for note, start in zip(notes, NOTES.get(query, []), strict=True))


def test_search_documents_finds_the_same_sections(tool_callers: dict[str, Callable[..., Any]]) -> None:
    for interface in ("auto", "legacy", "ref"):
        for query, expected in EXPECTED_SECTIONS.items():
            data = tool_callers[interface]("search_documents", query=query, limit=50).data
            assert {f"{match['file']}#{match['slug']}" for match in data["matches"]} == expected, query
            assert len(data.get("query_notes", [])) == len(NOTES.get(query, []))


def test_taxonomy_keys_and_dates_in_queries_depend_on_the_commit(repo: Repo, home: Path) -> None:
    with serve_repository(repo.path, home) as server:
        notes = server.call("search_docs", query="language:go").data["query_notes"]
        assert "(title, heading, path, tag, level, type)" in notes[0]
        assert server.call("search_docs", query="updated:2026").data["hits"] == []
        assert server.call("search_docs", query="changed:2026").data["hits"]
        assert server.call("search_docs", query="updated:2026", ref="v1").data["hits"]
        assert server.call("search_docs", query="language:go", ref="v1").data["hits"]
        assert "query_notes" not in server.call("search_docs", query="level:x").data


def test_pages_of_a_query_with_operators_contain_all_results(
    tool_callers: dict[str, Callable[..., Any]],
) -> None:
    call = tool_callers["auto"]
    all_ids = [hit["chunk_id"] for hit in call("search_docs", query="limit OR retry OR 退避").data["hits"]]
    chunk_ids: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        data = call("search_docs", query="limit OR retry OR 退避", limit=1, **cursor).data
        chunk_ids += [hit["chunk_id"] for hit in data["hits"]]
        if data["next_cursor"] is None:
            break
        cursor = {"cursor": data["next_cursor"]}
    assert chunk_ids == all_ids
    assert len(all_ids) == 4


@loop_over(
    ("query", "part"),
    [
        ("limit AND " * 70 + "x1", "AND limit"),
        ("(" * 30 + "a1 OR b1" + ")" * 30, "("),
        ("path:" + "x" * 2_000, "path:x"),
    ],
)
@pytest.mark.parametrize("interface", ["auto", "legacy", "ref", "sealed"])
def test_query_over_a_limit_returns_error_that_names_its_part(
    tool_callers: dict[str, Callable[..., Any]], interface: str, query: str, part: str
) -> None:
    for tool in ("search_docs", "search_documents") if interface != "sealed" else ("search_docs",):
        response = tool_callers[interface](tool, query=query)
        assert response.is_error
        assert response.data["code"] == "QUERY_TOO_BROAD"
        assert response.data["part"].startswith(part)
        assert response.data["fix"]


def test_condition_without_results_is_named_in_the_hint(tool_callers: dict[str, Callable[..., Any]]) -> None:
    hint = tool_callers["auto"]("search_docs", query="retry tag:nothing").data["hint"]
    assert hint["message"].startswith("0 results found: no section satisfies 'tag:nothing'.")
    hint = tool_callers["auto"]("search_docs", query="limit AND jiter").data["hint"]
    assert hint["suggested_queries"] == ["limit AND jitter"]


def _run_docyard(home: Path, folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*fork_server.build_python_command(), "-m", "docyard", *map(str, arguments)],
        cwd=folder,
        env=build_user_environment(home),
        capture_output=True,
        text=True,
        check=False,
    )


def test_command_line_returns_the_same_sections_and_notes(
    repo: Repo, tool_callers: dict[str, Callable[..., Any]], home: Path
) -> None:
    options: list[list[str | Path]] = [
        ["-C", repo.path, "--ref", "v1"],
        ["--index", home / "operators-out", "--key", home / "operators.key"],
    ]
    for interface in options:
        for query in ("(jitter OR legacy) AND limit", "updated:>=2026", "nowhere:x legacy"):
            process = _run_docyard(home, home, "search", query, "--json", *interface)
            data = json.loads(process.stdout)
            assert {hit["chunk_id"] for hit in data["hits"]} == EXPECTED_SECTIONS[query]
            assert len(data["query_notes"]) == len(NOTES.get(query, []))
    process = _run_docyard(home, repo.path, "search", "--ref", "v1", "nowhere:x", "legacy")
    assert process.returncode == 0
    assert process.stdout.startswith(LIMITS)
    assert "Note: 'nowhere:x' was searched as words: 'nowhere' is not a field (title," in process.stderr
    process = _run_docyard(home, repo.path, "search", "(" * 30 + "a1 OR b1" + ")" * 30)
    assert process.returncode != 0
    assert "error: the brackets are nested more than 20 deep" in process.stderr
    assert "\n  fix: Use fewer brackets." in process.stderr


def test_web_page_shows_the_same_hits_and_notes(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    for name, value in build_user_environment(home).items():
        monkeypatch.setenv(name, value)
    with serve_pages(repo.path) as page_server:
        for query in (
            "(jitter OR legacy) AND limit",
            "title:ret* jitter",
            "updated:2025",
            "nowhere:x legacy",
        ):
            page = page_server.client.get("/search", params={"q": query, "ref": "v1"}).text
            for section in EXPECTED_SECTIONS[query]:
                path, _, slug = section.partition("#")
                anchor = "" if slug == "_preamble" else f"#{slug}"
                assert f'href="/doc/{path}?ref=v1{anchor}"' in page
            assert page.count('class="hit"') == len(EXPECTED_SECTIONS[query])
            for note in NOTES.get(query, []):
                assert f'<p class="note">{note}' in unescape(page)
        page = page_server.client.get("/search", params={"q": "auth*", "ref": "v1"}).text
        assert "<mark>authenticate</mark>" in page
        assert "<mark>authorization</mark>" in page
        page = page_server.client.get("/search", params={"q": "nowhere:zebra"}).text
        assert "Nothing found" in page
        assert "is not a field" in page
        page = page_server.client.get("/search", params={"q": "(" * 30 + "a1 OR b1" + ")" * 30}).text
        assert "The brackets are nested more than 20 deep" in page
