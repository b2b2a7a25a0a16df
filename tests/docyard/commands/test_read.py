"""`docyard read`: it writes the source to a pipe, and a rendered page to a terminal."""

from __future__ import annotations

import io
import json
import shlex
from pathlib import Path

import pytest

from docyard.cli.main import main
from docyard.commands import read
from docyard.terminal import console
from tests.docyard.conftest import Git
from tests.loops import loop_over
from workspace.document.document import Document
from workspace.texts.text_file import TextFile, TextKind

Capture = pytest.CaptureFixture[bytes]

GUIDE_SOURCE = (
    b"---\ntype: runbook\n---\n\n# Guide {#guide}\n\nHow *to* begin.\r\n\r\n"
    b'<a id="old"></a>\n## 1. Retries <#retry>\n\nA \x1b[31mbackoff\x1b[0m with &#x202e; jitter \xff.\n\n'
    b"### Limits\n\n- [ ] Raise them\n  - Note: soon\n- [x] Write them down\n\n"
    b"<details>\nIn HTML.\n</details>\n\n<!-- unsaid -->\n\n## Tests\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
)
RETRY_SOURCE = GUIDE_SOURCE[GUIDE_SOURCE.index(b"<a id") : GUIDE_SOURCE.index(b"## Tests")]
LIMITS_SOURCE = RETRY_SOURCE[RETRY_SOURCE.index(b"### Limits") :]


@pytest.fixture
def guide_repo(repo: Path, git: Git) -> Path:
    """Return a repository with a document that has all kinds of special syntax, and two other files."""
    (repo / "guide.md").write_bytes(GUIDE_SOURCE)
    (repo / "docs").mkdir()
    (repo / "docs" / "c#.md").write_text("# C#\n\n## Setup\n\nText.\n")
    (repo / "docs" / "app.py").write_text("class App:\n    '''\x1b[31m'''\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "Guide")
    git("tag", "v1.0")
    return repo


@pytest.mark.parametrize(
    ("address", "source"),
    [
        ("guide.md", GUIDE_SOURCE),
        ("guide.md#retry", RETRY_SOURCE),
        ("guide.md#retry/limits", LIMITS_SOURCE),
        ("guide.md#1", RETRY_SOURCE),
        ("guide.md#Limits", LIMITS_SOURCE),
        ("guide.md#old", RETRY_SOURCE),
        ("guide.md#retry/limits[0]", b"- [ ] Raise them\n  - Note: soon\n"),
        ("guide.md#tes", GUIDE_SOURCE[GUIDE_SOURCE.index(b"## Tests") :]),
        ("docs/c#.md#setup", b"## Setup\n\nText.\n"),
    ],
)
@pytest.mark.parametrize("options", [[], ["--raw"]])
def test_pipe_gets_exact_bytes(
    guide_repo: Path, capfdbinary: Capture, address: str, source: bytes, options: list[str]
) -> None:
    assert main(["read", address, "-C", str(guide_repo), *options]) == 0
    assert capfdbinary.readouterr().out == source


def test_path_may_be_relative_to_current_folder(
    guide_repo: Path, capfdbinary: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(guide_repo / "docs")
    for address in ("c#.md#setup", "./c#.md#setup", "docs/c#.md#setup", f"{guide_repo}/docs/c#.md#setup"):
        assert main(["read", address]) == 0
        assert capfdbinary.readouterr().out == b"## Setup\n\nText.\n"
    assert main(["read", "../guide.md#limits"]) == 0
    assert capfdbinary.readouterr().out == LIMITS_SOURCE


def test_source_at_ref_is_read(guide_repo: Path, git: Git, capfdbinary: Capture) -> None:
    (guide_repo / "guide.md").write_text("# Guide\n")
    git("commit", "--quiet", "--all", "--message", "Less")
    assert main(["read", "guide.md", "-C", str(guide_repo)]) == 0
    assert capfdbinary.readouterr().out == b"# Guide\n"
    assert main(["read", "guide.md#limits", "--ref", "v1.0", "-C", str(guide_repo)]) == 0
    assert capfdbinary.readouterr().out == LIMITS_SOURCE


def test_moved_address_is_read_and_reported(guide_repo: Path, git: Git, capfdbinary: Capture) -> None:
    git("mv", "guide.md", "handbook.md")
    git("commit", "--quiet", "--message", "Rename")
    assert main(["read", "guide.md#retry", "-C", str(guide_repo)]) == 0
    captured = capfdbinary.readouterr()
    assert captured.out == RETRY_SOURCE
    assert captured.err == b"The address has moved to handbook.md#retry.\n"
    assert main(["read", "guide.md#retry/limits[1]", "-C", str(guide_repo)]) == 0
    captured = capfdbinary.readouterr()
    assert captured.out == b"- [x] Write them down\n"
    assert captured.err == b"The address has moved to handbook.md#retry/limits[1].\n"
    assert main(["read", "guide.md", "--sections", "-C", str(guide_repo)]) == 0
    assert capfdbinary.readouterr().err == b"The address has moved to handbook.md.\n"


def test_old_path_may_be_relative_to_current_folder(
    guide_repo: Path, git: Git, capfdbinary: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    git("mv", "guide.md", "docs/guide.md")
    git("commit", "--quiet", "--message", "Into a folder")
    git("mv", "docs/guide.md", "docs/handbook.md")
    git("commit", "--quiet", "--message", "Rename")
    monkeypatch.chdir(guide_repo / "docs")
    for address in ("guide.md", "docs/guide.md", "../guide.md"):
        assert main(["read", address]) == 0
        captured = capfdbinary.readouterr()
        assert captured.out == GUIDE_SOURCE
        assert captured.err == b"The address has moved to docs/handbook.md.\n"
    assert main(["read", "handbok.md"]) == 3
    assert b"Did you mean 'docs/handbook.md'?" in capfdbinary.readouterr().err


def test_every_section_is_listed(guide_repo: Path, git: Git, capfdbinary: Capture) -> None:
    (guide_repo / "long.md").write_text("# Long\n" + "".join(f"\n## S{n}\n" for n in range(1200)))
    git("add", ".")
    git("commit", "--quiet", "--message", "Long")
    assert main(["read", "long.md", "--sections", "-C", str(guide_repo)]) == 0
    assert capfdbinary.readouterr().out.count(b"\n") == 1201
    assert main(["read", "long.md", "--sections", "--json", "-C", str(guide_repo)]) == 0
    data = json.loads(capfdbinary.readouterr().out)
    assert data["sections"] == ["_preamble", *(f"s{n}" for n in range(1200))]
    assert [entry["address"] for entry in data["outline"]] == data["sections"]
    assert "cursor" not in data


def test_truncated_json_is_reported(guide_repo: Path, git: Git, capfdbinary: Capture) -> None:
    (guide_repo / "long.md").write_text("# Long\n" + "\n## Part\n\nWords.\n" * 10_000)
    git("add", ".")
    git("commit", "--quiet", "--message", "Long")
    assert main(["read", "long.md", "--json", "-C", str(guide_repo)]) == 0
    captured = capfdbinary.readouterr()
    assert json.loads(captured.out)["truncated"] is True
    assert captured.err == b"'content' is truncated; --raw prints all of it.\n"


def test_json_equals_response_of_tool(guide_repo: Path, git: Git, capfdbinary: Capture) -> None:
    assert main(["read", "guide.md#retry", "--json", "-C", str(guide_repo), "--ref", "v1.0"]) == 0
    data = json.loads(capfdbinary.readouterr().out)
    assert data["content"] == RETRY_SOURCE.decode("utf-8", "replace")
    assert (data["type"], data["section"], data["ref"]) == ("section", "retry", "v1.0")
    assert data["commit"] == git("rev-parse", "HEAD")
    assert main(["read", "guide.md", "--json", "-C", str(guide_repo)]) == 0
    assert json.loads(capfdbinary.readouterr().out)["type"] == "full"
    assert main(["read", "guide.md#retry/limits[1]", "--json", "-C", str(guide_repo)]) == 0
    assert json.loads(capfdbinary.readouterr().out)["task"]["completed"] is True
    assert main(["read", "guide.md", "--summary", "--json", "-C", str(guide_repo)]) == 0
    assert json.loads(capfdbinary.readouterr().out)["type"] == "summary"


def test_sections_and_summary_are_printed(guide_repo: Path, capfdbinary: Capture) -> None:
    assert main(["read", "guide.md", "--sections", "-C", str(guide_repo)]) == 0
    rows = [line.split(b"\t") for line in capfdbinary.readouterr().out.splitlines()]
    assert [row[:3] for row in rows] == [
        [b"_preamble", b"Guide", b"4-8"],
        [b"retry", b"1. Retries", b"9-25"],
        [b"retry/limits", b"Limits", b"14-25"],
        [b"tests", b"Tests", b"26-30"],
    ]
    assert main(["read", "guide.md", "--summary", "-C", str(guide_repo)]) == 0
    assert b"retry" in capfdbinary.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "expected_text"),
    [
        ([], 2, b"FILE"),
        (["guid.md"], 3, b"guide.md"),
        (["guide.md#limitz"], 3, b"limits"),
        (["guide.md#limitz", "--json"], 3, b"limits"),
        (["guide.md#retry/limits[7]"], 3, b"[7]"),
        (["guide.md#retry/limits[7]"], 3, b"`docyard read 'guide.md#retry/limits'` shows the tasks."),
        (["guide.md#zzz"], 3, b"`docyard read guide.md --sections` lists the sections."),
        (["guide.md#zzz", "--json"], 3, b"`docyard read guide.md --sections` lists the sections."),
        (["zzz"], 3, b"`docyard search WORDS` finds documents."),
        (["docs"], 3, b"'docs' is a folder"),
        (["."], 3, b"'.' is a folder"),
        (["guide.md", "--ref", "never"], 3, b"never"),
        (["guide.md", "--raw", "--json"], 2, b"--raw"),
        (["/etc/hosts"], 3, b"absolute"),
    ],
)
def test_unreadable_address_returns_error(
    guide_repo: Path, capfdbinary: Capture, arguments: list[str], code: int, expected_text: bytes
) -> None:
    assert main(["read", "-C", str(guide_repo), *arguments]) == code
    captured = capfdbinary.readouterr()
    assert captured.out == b""
    assert expected_text in captured.err.replace(f" -C {guide_repo}".encode(), b"")


@pytest.fixture
def terminal_output(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Replace the terminal with a terminal of 80 columns, and return its output."""
    from rich.console import Console

    output = io.StringIO()
    terminal = Console(file=output, force_terminal=True, width=80, no_color=True, emoji=False, markup=False)
    monkeypatch.setattr(console, "create_console", lambda: terminal)
    monkeypatch.setattr(read, "is_terminal", lambda stream: True)
    return output


def strip_styles(output: io.StringIO) -> str:
    """Return the output without control sequences for styles."""
    from rich.text import Text

    return Text.from_ansi(output.getvalue()).plain


def test_terminal_shows_rendered_page(guide_repo: Path, terminal_output: io.StringIO) -> None:
    assert main(["read", "guide.md", "-C", str(guide_repo)]) == 0
    page = strip_styles(terminal_output)
    for text in ("How to begin.", "1. Retries", "Limits", "[ ] Raise them", "In HTML.", "Tests"):
        assert text in page
    for omitted_text in ("type: runbook", "{#guide}", "<#retry>", "<a id", "unsaid", "##", "|---|"):
        assert omitted_text not in page


def test_control_characters_are_escaped(guide_repo: Path, terminal_output: io.StringIO) -> None:
    for address in ("guide.md", "docs/app.py"):
        assert main(["read", address, "-C", str(guide_repo)]) == 0
    output = terminal_output.getvalue()
    assert "\x1b[31m" not in output
    assert "\u202e" not in output
    assert output.count(r"\u001b[31m") == 2
    assert r"\u202e" in output


def test_no_colour_variable_disables_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert console.create_console().no_color


@loop_over(
    ("source", "expected"),
    [
        ("# A {#a}\n\nText {#b}\n", "# A\n\nText {#b}\n"),
        ("## B <#b> ##\n", "## B ##\n"),
        ("A {#a}\n===\n\nB <a name='b'></a>\n---\n", "A\n===\n\nB \n---\n"),
        ("---\ntitle: X\n---\nText\n", "Text\n"),
        ("```\n## C {#c}\n```\n", "```\n## C {#c}\n```\n"),
        ("", ""),
    ],
)
def test_anchors_and_front_matter_are_omitted(source: str, expected: str) -> None:
    document = Document.parse(source.encode())
    text = console.strip_anchors(document, 0, len(document.data))
    assert [line.rstrip() for line in text.splitlines()] == [line.rstrip() for line in expected.splitlines()]


def test_alerts_images_lists_and_tables_are_rendered(terminal_output: io.StringIO) -> None:
    source = (
        b"> [!NOTE]\n> [![image](a.png)](b.md)\n\n1. *a* `b`\n   - c\n\n| [x](y) |\n|---|\n| z |\n\n* * *\n"
    )
    console.print_text(TextFile("a.md", "0" * 40, source, TextKind.MARKDOWN), 0, len(source))
    for word in ("[!NOTE]", "image", "b.md", "x", "z"):
        assert word in strip_styles(terminal_output)


def test_attribute_lists_are_omitted() -> None:
    text = b"# T { #t }\n\n## A {: #a .wide }\n\nOne.\n\n## B\n{: #b }\n\nTwo { #c }.\n"
    document = Document.parse(text, "a.md")
    assert console.strip_anchors(document, 0, len(text)) == "# T\n\n## A\n\nOne.\n\n## B\n\nTwo { #c }.\n"


def test_document_of_a_proposal_is_found_by_the_error(repo: Path, git: Git, capfdbinary: Capture) -> None:
    assert main(["proposals", "create", "New page", "-C", str(repo), "--json"]) == 0
    proposal = json.loads(capfdbinary.readouterr().out)
    git("switch", "--quiet", proposal["branch"])
    (repo / "new.md").write_text("# New\n\n## Part\n\nWords.\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "New")
    git("switch", "--quiet", "main")
    assert main(["read", "new.md#part", "-C", str(repo)]) == 3
    command = f"docyard read -C {repo} 'new.md#part' --ref {proposal['proposal']}"
    assert f"The document is in the proposal {proposal['proposal']}: `{command}` reads it." in (
        capfdbinary.readouterr().err.decode()
    )
    assert main(shlex.split(command)[1:]) == 0
    assert capfdbinary.readouterr().out.startswith(b"## Part")
    assert main(["read", "new.md", "--ref", "main", "-C", str(repo)]) == 3
    assert b"is in the proposal" not in capfdbinary.readouterr().err
