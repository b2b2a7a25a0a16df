"""`docyard links`: outgoing links, backlinks and broken links of the committed text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docyard.cli.main import main
from tests.docyard.conftest import Git
from tests.loops import loop_over

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def repo_with_links(repo: Path, git: Git) -> Path:
    """Return a repository in which each commit adds a document with a link to the guide."""
    for name, text in (
        ("a.md", "# A\n\n[retries](guide.md#retries) [lost](lost.md)\n"),
        ("docs/b.md", "# B\n\n<a href='../guide.md'>all</a>\n\n[top]: /a.md\n\n[top][]\n"),
    ):
        (repo / name).parent.mkdir(exist_ok=True)
        (repo / name).write_text(text)
        git("add", ".")
        git("commit", "--quiet", "--message", name)
    return repo


def test_outgoing_links_and_backlinks_are_listed(repo_with_links: Path, capsys: Capture) -> None:
    assert main(["links", "a.md", "-C", str(repo_with_links)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "a.md#_preamble:3\tguide.md#retries\tinline",
        "a.md#_preamble:3\tlost.md\tbroken",
        "docs/b.md#_preamble:7\ta.md\treference",
    ]


def test_backlinks_of_section_are_printed_as_json(repo_with_links: Path, git: Git, capsys: Capture) -> None:
    assert main(["links", "guide.md#retries", "--backlinks", "--json", "-C", str(repo_with_links)]) == 0
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


def test_links_at_date_are_those_of_its_commit(repo_with_links: Path, git: Git, capsys: Capture) -> None:
    assert main(["links", "a.md", "--json", "--ref", "@{2099-12-31}", "-C", str(repo_with_links)]) == 0
    assert json.loads(capsys.readouterr().out)["commit"] == git("rev-parse", "HEAD")
    assert main(["links", "a.md", "--ref", "@{2001-01-31}", "-C", str(repo_with_links)]) == 3
    assert "is before the history" in capsys.readouterr().err
    assert main(["links", "a.md", "--ref", "mian", "-C", str(repo_with_links)]) == 3
    assert "Did you mean 'main'?" in capsys.readouterr().err


def test_links_at_ref_are_those_of_its_commit(repo_with_links: Path, git: Git, capsys: Capture) -> None:
    assert main(["links", "guide.md", "--backlinks", "--json", "-C", str(repo_with_links)]) == 0
    assert json.loads(capsys.readouterr().out)["backlinks_total"] == 2
    older_commit = git("rev-parse", "HEAD~1")
    assert (
        main(
            ["links", "guide.md", "--backlinks", "--json", "--ref", older_commit, "-C", str(repo_with_links)]
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out)["backlinks_total"] == 1


def test_backlinks_at_ref_are_read_without_link_graph(
    repo_with_links: Path, git: Git, capsys: Capture
) -> None:
    older_commit = git("rev-parse", "HEAD~1")
    assert (
        main(
            ["links", "guide.md", "--backlinks", "--json", "-C", str(repo_with_links), "--ref", older_commit]
        )
        == 0
    )
    data = json.loads(capsys.readouterr().out)
    assert data["commit"] == older_commit
    assert [link["from"] for link in data["backlinks"]] == ["a.md#_preamble"]


def test_all_broken_links_are_listed(repo_with_links: Path, capsys: Capture) -> None:
    assert main(["links", "--broken", "-C", str(repo_with_links)]) == 0
    assert capsys.readouterr().out == "a.md#_preamble:3\tlost.md\tbroken\n"


def test_link_out_of_repository_is_broken(repo_with_links: Path, git: Git, capsys: Capture) -> None:
    (repo_with_links / "a.md").write_text("# A\n\n[out](../elsewhere.md) [web](https://example.org)\n")
    git("commit", "--quiet", "--all", "--message", "Out")
    assert main(["links", "a.md", "--broken", "-C", str(repo_with_links)]) == 0
    assert capsys.readouterr().out == "a.md#_preamble:3\t../elsewhere.md\tbroken\n"
    assert main(["validate", "a.md", "-C", str(repo_with_links)]) == 1


def test_path_may_be_relative_to_current_folder(
    repo_with_links: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repo_with_links / "docs")
    for address in ("b.md", "./b.md", "../docs/b.md", "docs/b.md", str(repo_with_links / "docs" / "b.md")):
        assert main(["links", address, "--outgoing"]) == 0
        assert capsys.readouterr().out.count("docs/b.md#_preamble:") == 2
    assert main(["links", "../guide.md#retries", "--backlinks"]) == 0
    assert capsys.readouterr().out == "a.md#_preamble:3\tguide.md#retries\tinline\n"


def test_moved_document_is_reported_with_new_path(
    repo_with_links: Path, git: Git, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    git("mv", "docs/b.md", "docs/c.md")
    git("commit", "--quiet", "--message", "Rename")
    monkeypatch.chdir(repo_with_links / "docs")
    for address in ("docs/b.md", "b.md"):
        assert main(["links", address, "--outgoing"]) == 0
        captured = capsys.readouterr()
        assert captured.out.startswith("docs/c.md#_preamble:3\tguide.md")
        assert captured.err == "The address has moved to docs/c.md.\n"
    assert main(["links", "b.md", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    expected = {"file": "docs/c.md", "slug": None, "commit": git("rev-parse", "HEAD")}
    assert (data["file"], data["slug"], data["moved_to"]) == ("docs/c.md", None, expected)


def test_task_address_lists_links_of_its_section(repo_with_links: Path, git: Git, capsys: Capture) -> None:
    (repo_with_links / "plan.md").write_text("# Plan\n\n## Tasks\n\n- [ ] Read [this](guide.md)\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "Plan")
    assert main(["links", "plan.md#tasks[0]", "-C", str(repo_with_links)]) == 0
    assert capsys.readouterr().out == "plan.md#tasks:5\tguide.md\tinline\n"


@loop_over(
    ("arguments", "code", "expected_text"),
    [
        (["guide.md#zzz"], 3, "`docyard read guide.md --sections` lists the sections."),
        (["zzz"], 3, "`docyard search WORDS` finds documents."),
        (["--backlinks"], 2, "--backlinks needs a FILE"),
        (["guid.md"], 3, "guide.md"),
        (["guide.md#retry"], 3, "retries"),
        (["guide.md", "--ref", "never"], 3, "never"),
        (["guide.md", "--sideways"], 2, "--sideways"),
    ],
)
def test_invalid_address_or_option_returns_error(
    repo_with_links: Path, capsys: Capture, arguments: list[str], code: int, expected_text: str
) -> None:
    assert main(["links", "-C", str(repo_with_links), *arguments]) == code
    assert expected_text in capsys.readouterr().err.replace(f" -C {repo_with_links}", "")
