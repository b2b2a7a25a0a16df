"""list_sections: addresses in order, a page at a time."""

from __future__ import annotations

from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from index.service import SearchIndex
from tests.repositories import Repo, normal
from tests.tools.conftest import Ask, client_of, next_call
from tools.registry import Toolbox
from workspace.workspace import Workspace

MANY = 1_203
FILES: dict[str, str | bytes] = {
    "api.md": "# API\n\nText.\n\n## Endpoints\n\n### Search\n\n### Add {#add}\n\n## Errors\n",
    "many.md": "# Many\n\n" + "".join(f"## Part {number}\n\n" for number in range(MANY)),
    "bare.md": "## First\n\nText.\n",
    "empty.md": "",
    "notes.txt": "Words.\n",
}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return normal(tmp_path / "docs", FILES)


@pytest.fixture
def ask(repo: Repo) -> Ask:
    workspace = Workspace.open(repo.path, durable=False)
    return client_of(Toolbox(workspace, SearchIndex(workspace), None, True))


def test_addresses_in_order_with_what_they_stand_for(ask: Ask, repo: Repo) -> None:
    data = ask("list_sections", file_path="api.md").data
    assert data["sections"] == ["_preamble", "endpoints", "endpoints/search", "add", "errors"]
    assert (data["count"], data["type"], data["path"]) == (5, "toc", "api.md")
    assert data["commit"] == repo.head()
    assert [(item["title"], item["level"], item["number"], item["lines"]) for item in data["outline"]] == [
        ("API", 1, "", [1, 4]),
        ("Endpoints", 2, "1", [5, 10]),
        ("Search", 3, "1.1", [7, 8]),
        ("Add", 3, "1.2", [9, 10]),
        ("Errors", 2, "2", [11, 11]),
    ]
    assert "cursor" not in data


def test_of_one_section(ask: Ask) -> None:
    data = ask("list_sections", file_path="api.md#endpoints").data
    assert (data["sections"], data["count"]) == (["endpoints", "endpoints/search", "add"], 3)


def test_pages_follow_one_another_to_the_end(ask: Ask) -> None:
    found: list[str] = []
    answer = ask("list_sections", file_path="many.md", limit=400)
    while True:
        assert answer.data["count"] == MANY + 1
        assert f"of {MANY + 1:,}" in answer.data["note"]
        found += answer.data["sections"]
        tool, arguments = next_call(answer)
        if "cursor" not in answer.data:
            break
        assert tool == "list_sections"
        answer = ask(tool, **arguments)
    assert found == ["_preamble", *(f"part-{number}" for number in range(MANY))]
    assert tool == "read_section"


def test_a_cursor_belongs_to_its_list(ask: Ask, repo: Repo) -> None:
    cursor = ask("list_sections", file_path="many.md").data["cursor"]
    other = ask("list_sections", file_path="api.md", cursor=cursor)
    assert (other.data["code"], other.data["type"]) == ("INVALID_CURSOR", "error")
    repo.commit({"unrelated.md": "# New\n"})
    assert not ask("list_sections", file_path="many.md", cursor=cursor).is_error
    repo.commit({"many.md": "# Many\n"})
    assert ask("list_sections", file_path="many.md", cursor=cursor).data["code"] == "CURSOR_STALE"


@pytest.mark.parametrize("file", list(FILES))
def test_the_next_step_works(ask: Ask, file: str) -> None:
    answer = ask("list_sections", file_path=file)
    tool, arguments = next_call(answer)
    assert not ask(tool, **arguments).is_error
    assert answer.data["count"] >= 1


@pytest.mark.parametrize(
    "fields",
    [{"file_path": "apy.md"}, {}, {"file_path": "api.md", "limit": 0}, {"file_path": "api.md", "depth": 2}],
)
def test_an_error_has_the_fields_of_the_contract(ask: Ask, fields: dict[str, object]) -> None:
    answer = ask("list_sections", **fields)
    assert answer.is_error
    assert answer.data["type"] == "error"
    assert isinstance(answer.data["error"], str)
    assert not ask("list_sections", **answer.data["example"]).is_error


TRICKY = (
    "Before.\n\n# Title *one* {#top}\n\n```\n# fenced\n```\n\n    # indented\n\nSetext `x`\n---\n\n"
    "> ## quoted\n\n- ## in a list\n\n<!--\n## commented\n-->\n\n####### seven\n\n#no space\n\n"
    "## Closed ##\n\n\\## escaped\n\ntext\n# Interrupts\n\n***\n\n| a |\n|---|\n\n"
    "Two\nlines\n===\n\n#\n\n###### Deep\n"
)


def test_it_agrees_with_the_parser_on_every_heading(ask: Ask, repo: Repo) -> None:
    repo.commit({"tricky.md": TRICKY})
    tokens = MarkdownIt("commonmark").enable("table").parse(TRICKY)
    parsed = [
        (int(opening.tag[1]), opening.map[0] + 1)
        for opening in tokens
        if opening.type == "heading_open" and opening.level == 0 and opening.map
    ]
    listed = ask("list_sections", file_path="tricky.md").data["outline"]
    # The first heading of all, where it is an H1, is the title, and stands in the preamble.
    assert (listed[0]["address"], listed[0]["title"]) == ("_preamble", "Title one")
    assert [(item["level"], item["lines"][0]) for item in listed[1:]] == parsed[1:]
    titles = ["Setext x", "Closed", "Interrupts", "Two lines", "", "Deep"]
    assert [item["title"] for item in listed[1:]] == titles


def test_an_answer_is_bounded_whatever_the_headings_hold(ask: Ask, repo: Repo) -> None:
    wide = "# " + "title " * 5_000 + "\n\n## " + "far " * 5_000 + "\n\nText.\n\n"
    wide += "".join(f"## {'long' * 200} {number}\n\n" for number in range(200))
    repo.commit({"wide.md": wide})
    answer = ask("list_sections", file_path="wide.md")
    assert len(str(answer.data)) < 200_000
    addresses = answer.data["sections"]
    while "cursor" in answer.data:
        tool, arguments = next_call(answer)
        answer = ask(tool, **arguments)
        addresses += answer.data["sections"]
    assert len(addresses) == answer.data["count"] == 202
    # The number stands for an address that is far too long.
    assert addresses[:2] == ["_preamble", "1"]
    found = ask("read_section", file_path="wide.md", section_heading="1").data
    assert (found["section"], found["heading"][:7]) == ("1", "far far")
    assert len(str(found)) < 2 * len("far " * 5_000)
    preamble = ask("smart_read", file_path="wide.md", mode="summary").data["_preamble"]
    assert len(preamble) < 1_000
