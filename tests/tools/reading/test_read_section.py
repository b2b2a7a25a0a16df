"""read_section: exact sources, found in every way that a section is named."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from index.service import SearchIndex
from tests.loops import loop_over
from tests.repositories import Repo, normal
from tests.tools.conftest import Ask, client_of, next_call
from tools.registry import Toolbox
from tools.tool import Answer
from workspace.config.config import Limits
from workspace.texts.tokens import count_tokens
from workspace.workspace import Workspace

PAPER = (
    "---\ntype: design_doc\n---\n\n# Paper\n\nAbstract.\n\n## 1. Introduction\n\nText.\n\n"
    "## 2. Methods\n\nHow.\r\n\r\n### 2.1 Data\n\nNumbers.\n\n### 2.2 方法\n\n数字。\n\n## Results\n\n"
    "See.\n\nNotes\n-----\n\nOne.\n\n## Twice\n\nA.\n\n## 2. Methods again\n\n### Notes\n\nTwo.\n"
)
FILES: dict[str, str | bytes] = {
    "paper.md": PAPER,
    "guide.rst": "Guide\n=====\n\nText.\n\nSetup\n-----\n\nSteps.\n",
    "app.py": "import os\n\n\nclass App:\n    def run(self):\n        return 1\n",
    "notes.txt": "No heading at all.\n",
    "odd.md": b"\xef\xbb\xbf# Odd\n\n\xff\xfe text\n\n## Caf\xc3\xa9\n\nEnd",
    "c#.md": "# C\n\n## Setup\n\nText.\n",
    "logo.png": b"\x89PNG\r\n\x1a\n" + b"\0" * 50,
}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return normal(tmp_path / "docs", FILES)


@pytest.fixture
def ask(repo: Repo) -> Ask:
    workspace = Workspace.open(repo.path, durable=False)
    return client_of(Toolbox(workspace, SearchIndex(workspace), ["documents", "search", "reading"], False))


def read(ask: Ask, section: str, file: str = "paper.md", **fields: object) -> Answer:
    return ask("read_section", file_path=file, section_heading=section, **fields)


@loop_over("file", [name for name in FILES if name != "logo.png"])
def test_every_section_is_the_source_itself(ask: Ask, file: str) -> None:
    listed = ask("list_sections", file_path=file).data
    content = FILES[file]
    data = content.encode() if isinstance(content, str) else content
    text = data.decode("utf-8", "replace")
    lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", text)
    assert listed["sections"]
    for entry in listed["outline"]:
        answer = read(ask, entry["address"], file).data
        first, last = answer["start_line"], answer["end_line"]
        assert answer["content"].removeprefix("\ufeff") == "".join(lines[first - 1 : last]).removeprefix(
            "\ufeff"
        )
        assert (answer["section"], answer["tokens"]) == (entry["address"], entry["tokens"])
        assert answer["lines"] == entry["lines"] == [first, last]
        assert answer["heading_level"] == entry["level"]


@loop_over(
    ("wanted", "section"),
    [
        ("2-methods", "2-methods"),
        ("paper.md#2-methods", "2-methods"),
        ("2.1", "2-methods/21-data"),
        ("Data", "2-methods/21-data"),
        ("方法", "2-methods/22-方法"),
        ("results", "results"),
        ("## Results", "results"),
        ("Intro", "1-introduction"),
        ("_preamble", "_preamble"),
        ("TWICE", "twice"),
    ],
)
def test_a_section_is_found_by(ask: Ask, wanted: str, section: str) -> None:
    answer = read(ask, wanted)
    assert answer.data["section"] == section, answer.data
    assert answer.data["type"] == "section"


def test_subsections_belong_to_it_and_to_the_preamble_none(ask: Ask) -> None:
    methods = read(ask, "2-methods").data
    assert methods["content"].startswith("## 2. Methods\n\nHow.\r\n\r\n### 2.1")
    assert methods["content"].endswith("数字。\n\n")
    assert (methods["heading"], methods["heading_level"], methods["number"]) == ("2. Methods", 2, "2")
    preamble = read(ask, "_preamble").data
    assert preamble["content"].strip() == "# Paper\n\nAbstract."
    assert preamble["heading_level"] == 1


def test_of_several_all_are_named_with_their_lines(ask: Ask) -> None:
    answer = read(ask, "Notes")
    assert answer.is_error
    assert answer.data["code"] in ("AMBIGUOUS_SECTION", "AMBIGUOUS_ADDRESS")
    assert (answer.data["type"], answer.data["content"], answer.data["section"]) == ("error", "", "Notes")
    assert {item["slug"] for item in answer.data["candidates"]} == {"notes", "2-methods-again/notes"}
    assert all(item["line"] for item in answer.data["candidates"])
    assert not read(ask, **{"section": answer.data["example"]["section_heading"]}).is_error


@loop_over("wanted", ["Metods", "résultats", "nothing like it", "2.7", "9", "tasks[0]", ""])
def test_what_is_not_there_is_answered_with_what_is(ask: Ask, wanted: str) -> None:
    answer = read(ask, wanted)
    assert answer.is_error
    assert (answer.data["type"], answer.data["content"], answer.data["section"]) == ("error", "", wanted)
    assert isinstance(answer.data["error"], str)
    assert not ask("read_section", **answer.data["example"]).is_error, answer.data


@loop_over("file", ["papr.md", "logo.png", "none/at/all.md", "", "../x.md", "/etc/hosts"])
def test_a_file_that_cannot_be_read_has_an_example_that_can(ask: Ask, file: str) -> None:
    answer = read(ask, "results", file)
    assert answer.is_error
    assert answer.data["type"] == "error"
    assert "/etc" not in json.dumps(answer.data)
    assert not ask("read_section", **answer.data["example"]).is_error, answer.data


def test_paths_that_are_absolute_or_hold_a_number_sign(ask: Ask, repo: Repo) -> None:
    assert read(ask, "results", str(repo.path / "paper.md")).data["path"] == "paper.md"
    assert read(ask, "results", f"{repo.path}/paper.md#results").data["section"] == "results"
    assert read(ask, "setup", "c#.md").data["section"] == "setup"
    assert read(ask, "setup", "./c#.md#setup").data["section"] == "setup"
    repo.commit({"c": "A file whose name another begins with.\n"})
    twice = read(ask, "twice", "c#.md#setup").data
    assert (twice["code"], twice["example"]["file_path"]) == ("INVALID_ARGUMENTS", "c#.md")


def test_at_a_ref_everything_is_of_that_commit(ask: Ask, repo: Repo) -> None:
    old = repo.head()
    repo.commit({"paper.md": PAPER.replace("Numbers.", "Other numbers.")})
    answer = read(ask, "2.1", ref=old[:10])
    assert (answer.data["commit"], answer.data["ref"]) == (old, old[:10])
    assert "Numbers." in answer.data["content"]
    tool, arguments = next_call(answer)
    assert arguments["ref"] == old[:10]
    assert ask(tool, **arguments).data["commit"] == old
    assert "Other" in read(ask, "2.1").data["content"]
    bad = read(ask, "2.1", ref="never")
    assert (bad.data["code"], bad.data["type"]) == ("REF_NOT_FOUND", "error")
    assert not ask("read_section", **bad.data["example"]).is_error


def test_a_section_that_has_moved_is_answered_from_its_new_place(ask: Ask, repo: Repo) -> None:
    moved = repo.commit({"paper.md": PAPER.replace("## Results", "## Findings")})
    answer = read(ask, "results")
    assert answer.data["section"] == "findings"
    assert answer.data["moved_to"] == {"file": "paper.md", "slug": "findings", "commit": moved}
    assert answer.data["next_step"].startswith("Use 'paper.md#findings' from now on")
    repo.git("mv", "paper.md", "article.md")
    repo.commit({})
    answer = read(ask, "2-methods/21-data")
    assert answer.data["path"] == "article.md"
    assert answer.data["moved_to"]["file"] == "article.md"
    assert ask("list_sections", file_path="paper.md").data["moved_to"]["slug"] is None


def test_a_long_section_is_cut_between_subsections_and_read_on(ask: Ask, repo: Repo) -> None:
    below = "".join(f"### Part {n}\n\n" + f"Wörter {n}. " * 700 + "\n\n" for n in range(40))
    repo.commit({"long.md": f"# Long\n\n## All\n\n{below}## Next\n"})
    parts: list[str] = []
    arguments: dict[str, object] = {"file_path": "long.md", "section_heading": "all"}
    while True:
        answer = ask("read_section", **arguments)
        data = answer.data
        assert count_tokens(data["content"]) <= Limits().text_tokens
        assert data["content"].startswith("#")
        assert data["lines"] == [3, 3 + 2 + 40 * 4 - 1]
        assert data["start_line"] == 3 + sum(part.count("\n") for part in parts)
        parts.append(data["content"])
        tool, arguments = next_call(answer)
        if "truncated" not in data:
            break
        assert arguments["offset"] == data["offset"] == sum(map(len, parts))
    assert "".join(parts) == f"## All\n\n{below}"
    assert data["end_line"] == data["lines"][1]
    assert (tool, arguments["section_heading"]) == ("read_section", "next")


def test_an_offset_behind_the_end_is_an_error(ask: Ask) -> None:
    assert read(ask, "2.1", offset=5).data["content"] == ".1 Data\n\nNumbers.\n\n"
    assert read(ask, "2.1", offset=1_000).data["code"] == "INVALID_ARGUMENTS"


def test_what_was_read_may_be_overwritten_and_nothing_else(ask: Ask, repo: Repo) -> None:
    read(ask, "2.1")

    def write(slug: str) -> Answer:
        return ask("edit_document", operation="update_content", file="paper.md", slug=slug, content="New.")

    assert not write("2-methods/21-data").is_error
    assert write("results").is_error
