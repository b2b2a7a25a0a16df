"""get_doc: old ids and long chunks, as a client sees them."""

from __future__ import annotations

import re

import pytest

from index.service import SearchIndex
from tests.repositories import Repo
from tests.tools.conftest import Ask, client_of, next_call
from tools.registry import Toolbox
from workspace.config.config import Limits
from workspace.texts.tokens import count_tokens
from workspace.workspace import Workspace


def test_an_old_id_is_answered_with_the_new_one(ask: Ask, repo: Repo) -> None:
    assert "moved_to" not in ask("get_doc", chunk_id="api.md#tasks").data
    repo.git("mv", "api.md", "reference.md")
    moved = repo.commit({})
    repo.commit({"notes/other.md": "# Other\n"})
    answer = ask("get_doc", chunk_id="api.md#endpoints/search", context=1)
    assert answer.data["moved_to"] == {"chunk_id": "reference.md#endpoints/search", "commit": moved}
    assert answer.data["commit"] == repo.head()
    assert answer.data["next_step"].startswith("Use 'reference.md#endpoints/search' from now on")
    tool, arguments = next_call(ask("get_doc", chunk_id="api.md#endpoints"))
    assert not ask(tool, **arguments).is_error
    assert answer.text is not None
    assert answer.text.count("--- Chunk: reference.md#") == 3
    assert "--- Chunk: reference.md#endpoints/search (Chunk 3 of 4) (Target) ---\n### Search" in answer.text
    assert "api.md" not in answer.text


def test_a_section_that_was_renamed_by_a_person_is_found(ask: Ask, repo: Repo) -> None:
    text = (repo.path / "api.md").read_text()
    moved = repo.commit({"api.md": text.replace("### Search", "### Finding")})
    answer = ask("get_doc", chunk_id="api.md#endpoints/search")
    assert answer.data["moved_to"] == {"chunk_id": "api.md#endpoints/finding", "commit": moved}


def test_what_was_seen_at_an_old_address_may_be_overwritten(ask: Ask, repo: Repo) -> None:
    repo.git("mv", "api.md", "reference.md")
    repo.commit({})
    ask("get_doc", chunk_id="api.md#endpoints")
    written = ask(
        "edit_document",
        operation="update_content",
        file="reference.md",
        slug="endpoints",
        content="Other words.",
    )
    assert not written.is_error


@pytest.mark.parametrize("wanted", ["api.md#nowhere", "apis.md#tasks", "notes/plane.md"])
def test_what_never_was_is_answered_with_the_nearest(ask: Ask, wanted: str) -> None:
    answer = ask("get_doc", chunk_id=wanted)
    assert answer.is_error
    shown = f"Chunk ID '{wanted}' not found. Use search_docs to discover valid chunk IDs."
    assert answer.text == shown
    assert answer.data["nearest"]
    assert not ask("get_doc", **answer.data["example"]).is_error


BLOCK = "```\n" + "code\n" * 6 + "```\n\n"


def test_a_long_answer_is_cut_within_the_grammar(ask: Ask, repo: Repo) -> None:
    repo.commit({"long.md": f"# Long\n\nShort.\n\n## One\n\n{BLOCK * 3_000}\n## Two\n\n{BLOCK * 3_000}"})
    answer = ask("get_doc", chunk_id="long.md#one", context=1)
    assert answer.text is not None
    assert count_tokens(answer.text) <= Limits().text_tokens
    heads = re.findall(r"^--- Chunk: (\S+) \(Chunk \d of 3\) \((.*)\) ---$", answer.text, re.MULTILINE)
    assert heads == [
        ("long.md#_preamble", "Context: -1"),
        ("long.md#one", "Target"),
        ("long.md#two", "Context: +1"),
    ]
    fences = [line for line in answer.text.splitlines() if line == "```"]
    assert len(fences) % 2 == 0
    assert [chunk.get("truncated", False) for chunk in answer.data["chunks"]] == [False, True, True]
    assert answer.data["truncated"] is True
    source = (repo.path / "long.md").read_text()
    for chunk in answer.data["chunks"]:
        assert chunk["text"] in source
        assert chunk["text"].endswith("\n")


def test_the_rest_of_a_long_chunk_begins_where_it_was_cut(ask: Ask, repo: Repo) -> None:
    section = f"## One\n\n{BLOCK * 4_000}"
    read = repo.commit({"long.md": f"# Long\n\n{section}"})
    answer = ask("get_doc", chunk_id="long.md#one")
    tool, arguments = next_call(answer)
    assert (tool, arguments["ref"]) == ("get_doc", read)
    repo.commit({"long.md": "# Long\n\n## One\n\nChanged meanwhile.\n"})
    rest = ask(tool, **arguments)
    assert rest.data["chunks"][0]["start"] == arguments["offset"]
    shown = answer.data["chunks"][0]["text"] + rest.data["chunks"][0]["text"]
    assert section.startswith(shown)
    assert count_tokens(shown) > Limits().text_tokens


def test_a_chunk_that_was_read_in_parts_was_not_seen_whole(ask: Ask, repo: Repo) -> None:
    repo.commit({"long.md": f"# Long\n\n## One\n\n{BLOCK * 4_000}"})
    answer = ask("get_doc", chunk_id="long.md#one")
    while answer.data.get("truncated"):
        tool, arguments = next_call(answer)
        answer = ask(tool, **arguments)
    assert ask("remove_document", file="long.md", slug="one").data["code"] == "READ_FIRST"


def test_a_server_without_views_names_what_it_offers(repo: Repo) -> None:
    repo.commit({"long.md": f"# Long\n\n## One\n\n{BLOCK * 4_000}\n## Two\n\nText.\n"})
    workspace = Workspace.open(repo.path, read_only=True)
    ask = client_of(Toolbox(workspace, SearchIndex(workspace), ("search",), True))
    for context in (0, 1):
        answer = ask("get_doc", chunk_id="long.md#one", context=context)
        tool, arguments = next_call(answer)
        assert tool == "get_doc"
        assert not ask(tool, **arguments).is_error
