"""`docyard links` lists what links where, as it is committed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docyard.cli.main import main
from tests.docyard.conftest import Git
from tests.loops import loop_over

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def linked(repo: Path, git: Git) -> Path:
    """A repository of which each commit adds a document that links to the guide."""
    for name, text in (
        ("a.md", "# A\n\n[retries](guide.md#retries) [lost](lost.md)\n"),
        ("docs/b.md", "# B\n\n<a href='../guide.md'>all</a>\n\n[top]: /a.md\n\n[top][]\n"),
    ):
        (repo / name).parent.mkdir(exist_ok=True)
        (repo / name).write_text(text)
        git("add", ".")
        git("commit", "--quiet", "--message", name)
    return repo


def test_both_ways_of_a_document(linked: Path, capsys: Capture) -> None:
    assert main(["links", "a.md", "-C", str(linked)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "a.md#_preamble:3\tguide.md#retries\tinline",
        "a.md#_preamble:3\tlost.md\tbroken",
        "docs/b.md#_preamble:7\ta.md\treference",
    ]


def test_of_a_section_as_json(linked: Path, git: Git, capsys: Capture) -> None:
    assert main(["links", "guide.md#retries", "--backlinks", "--json", "-C", str(linked)]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "commit": git("rev-parse", "HEAD"),
        "file": "guide.md",
        "slug": "retries",
        "backlinks": [
            {
                "from": "a.md#_preamble",
                "line": 3,
                "kind": "inline",
                "image": False,
                "destination": "guide.md#retries",
                "to": "guide.md#retries",
                "status": "ok",
            }
        ],
        "backlinks_total": 1,
    }


def test_at_a_date(linked: Path, git: Git, capsys: Capture) -> None:
    assert main(["links", "a.md", "--json", "--ref", "@{2099-12-31}", "-C", str(linked)]) == 0
    assert json.loads(capsys.readouterr().out)["commit"] == git("rev-parse", "HEAD")
    assert main(["links", "a.md", "--ref", "@{2001-01-31}", "-C", str(linked)]) == 3
    assert "is before the history" in capsys.readouterr().err
    assert main(["links", "a.md", "--ref", "mian", "-C", str(linked)]) == 3
    assert "Did you mean 'main'?" in capsys.readouterr().err


def test_at_another_commit(linked: Path, git: Git, capsys: Capture) -> None:
    assert main(["links", "guide.md", "--backlinks", "--json", "-C", str(linked)]) == 0
    assert json.loads(capsys.readouterr().out)["backlinks_total"] == 2
    older = git("rev-parse", "HEAD~1")
    assert main(["links", "guide.md", "--backlinks", "--json", "--ref", older, "-C", str(linked)]) == 0
    assert json.loads(capsys.readouterr().out)["backlinks_total"] == 1


def test_of_an_older_commit_before_there_is_a_graph(linked: Path, git: Git, capsys: Capture) -> None:
    older = git("rev-parse", "HEAD~1")
    assert main(["links", "guide.md", "--backlinks", "--json", "-C", str(linked), "--ref", older]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["commit"] == older
    assert [link["from"] for link in told["backlinks"]] == ["a.md#_preamble"]


def test_all_broken_links(linked: Path, capsys: Capture) -> None:
    assert main(["links", "--broken", "-C", str(linked)]) == 0
    assert capsys.readouterr().out == "a.md#_preamble:3\tlost.md\tbroken\n"


def test_a_link_out_of_the_repository_leads_nowhere(linked: Path, git: Git, capsys: Capture) -> None:
    (linked / "a.md").write_text("# A\n\n[out](../elsewhere.md) [web](https://example.org)\n")
    git("commit", "--quiet", "--all", "--message", "Out")
    assert main(["links", "a.md", "--broken", "-C", str(linked)]) == 0
    assert capsys.readouterr().out == "a.md#_preamble:3\t../elsewhere.md\tbroken\n"
    assert main(["validate", "a.md", "-C", str(linked)]) == 1


def test_a_path_may_count_from_the_current_folder(
    linked: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(linked / "docs")
    for address in ("b.md", "./b.md", "../docs/b.md", "docs/b.md", str(linked / "docs" / "b.md")):
        assert main(["links", address, "--outgoing"]) == 0
        assert capsys.readouterr().out.count("docs/b.md#_preamble:") == 2
    assert main(["links", "../guide.md#retries", "--backlinks"]) == 0
    assert capsys.readouterr().out == "a.md#_preamble:3\tguide.md#retries\tinline\n"


def test_what_has_moved_is_told_of(
    linked: Path, git: Git, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    git("mv", "docs/b.md", "docs/c.md")
    git("commit", "--quiet", "--message", "Rename")
    monkeypatch.chdir(linked / "docs")
    for address in ("docs/b.md", "b.md"):
        assert main(["links", address, "--outgoing"]) == 0
        captured = capsys.readouterr()
        assert captured.out.startswith("docs/c.md#_preamble:3\tguide.md")
        assert captured.err == "This has moved to docs/c.md.\n"
    assert main(["links", "b.md", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    moved = {"file": "docs/c.md", "slug": None, "commit": git("rev-parse", "HEAD")}
    assert (data["file"], data["slug"], data["moved_to"]) == ("docs/c.md", None, moved)


def test_a_task_stands_for_its_section(linked: Path, git: Git, capsys: Capture) -> None:
    (linked / "plan.md").write_text("# Plan\n\n## Tasks\n\n- [ ] Read [this](guide.md)\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "Plan")
    assert main(["links", "plan.md#tasks[0]", "-C", str(linked)]) == 0
    assert capsys.readouterr().out == "plan.md#tasks:5\tguide.md\tinline\n"


@loop_over(
    ("arguments", "code", "word"),
    [
        (["guide.md#zzz"], 3, "`docyard read guide.md --sections` lists its sections."),
        (["zzz"], 3, "`docyard search WORDS` finds documents."),
        (["--backlinks"], 2, "--backlinks needs a FILE"),
        (["guid.md"], 3, "guide.md"),
        (["guide.md#retry"], 3, "retries"),
        (["guide.md", "--ref", "never"], 3, "never"),
        (["guide.md", "--sideways"], 2, "--sideways"),
    ],
)
def test_what_is_not_there_is_said(
    linked: Path, capsys: Capture, arguments: list[str], code: int, word: str
) -> None:
    assert main(["links", "-C", str(linked), *arguments]) == code
    assert word in capsys.readouterr().err
