"""`docyard proposals` in a terminal: colours, narrow windows, long titles, and control characters."""

from __future__ import annotations

from pathlib import Path

import pytest

from docyard.cli.proposals.changes import PagePrinter, StyledText
from docyard.wording import format_count, join_words
from tests.docyard.commands.conftest import ANSI_SEQUENCE, RunInTerminal
from tests.docyard.conftest import Git
from workspace.proposals.actions.repository import Actor
from workspace.proposals.events import Author, IdentitySource, ReviewDecision
from workspace.workspace import Workspace

pytestmark = pytest.mark.process

LONG_TITLE = "A title 🦆 with עברית that goes on " + "and on " * 25 + "to its end"


@pytest.fixture
def proposal_id(repo: Path, git: Git) -> str:
    """Return the id of a proposal with control characters in its text and documents."""
    workspace = Workspace.open(repo, durable=False)
    actor = Actor(Author("Ann\x1b]0;x", "ann@example.com", IdentitySource.GIT), "test", "test")
    proposal = workspace.proposal_actions().open(
        LONG_TITLE, "# Why\n\n\u202eTurned &#x202e; *words*", actor, submit=True
    )
    git("switch", "--quiet", proposal.content.branch)
    text = (repo / "guide.md").read_text()
    (repo / "guide.md").write_text(
        text.replace("with jitter", "that \x1b[2J\u202e doubles, " + "doubly " * 20)
    )
    (repo / "a\u202eb.md").write_text("# Evil \x1b[31m name\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "Evil \u202e words")
    git("switch", "--quiet", "main")
    return proposal.id


@pytest.mark.parametrize("columns", [40, 80])
def test_no_line_is_wider_than_the_terminal(
    run_in_terminal: RunInTerminal, proposal_id: str, columns: int
) -> None:
    from rich.cells import cell_len

    for arguments in (["list"], ["show", proposal_id]):
        output = run_in_terminal("proposals", *arguments, columns=columns)
        # Commands are never wrapped, so that a user can copy a whole command.
        command_starts = ("next: ", "git switch ")
        lines = [line for line in output.splitlines() if not line.strip().startswith(command_starts)]
        assert max(map(cell_len, lines)) <= columns
        assert "to its end" in " ".join(output.split())
        assert "עברית" in output


def test_list_entry_fits_eighty_columns(
    run_in_terminal: RunInTerminal, repo: Path, git: Git, proposal_id: str
) -> None:
    workspace = Workspace.open(repo, durable=False)
    actor = Actor(Author("Bea", "bea@example.com", IdentitySource.GIT), "test", "test")
    workspace.proposal_actions().review(proposal_id, actor, ReviewDecision.REQUEST_CHANGES, "Say why.")
    workspace.proposal_actions().comment(proposal_id, actor, "See this, @ann and @bea.")
    (repo / "guide.md").write_text("# Guide\n")
    git("commit", "--quiet", "--all", "--message", "Conflict")
    output = run_in_terminal("proposals", "list", columns=80)
    assert [" ".join(line.split()) for line in output.splitlines() if "·" in line] == [
        "changes requested · Ann ]0;x, opened just now",
        "conflicts with main · 2 documents · 1 open comment",
        "changes requested by Bea · mentions Ann ]0;x",
    ]


def test_control_characters_are_escaped(run_in_terminal: RunInTerminal, proposal_id: str) -> None:
    for arguments in (["list"], ["show", proposal_id], ["diff", proposal_id]):
        output = run_in_terminal("proposals", *arguments, colours=True)
        assert "\u202e" not in output
        assert "\x1b" not in ANSI_SEQUENCE.sub("", output)
        assert "\x1b[2J" not in output
        assert "\x1b]" not in output


def test_removed_and_added_words_are_coloured(run_in_terminal: RunInTerminal, proposal_id: str) -> None:
    output = run_in_terminal("proposals", "diff", proposal_id, "guide.md", colours=True)
    assert "\x1b[31mwith jitter" in output
    assert "\x1b[32mthat" in output
    copied_text = ANSI_SEQUENCE.sub("", output)
    assert "[-" not in copied_text
    assert "with jitter. → that" in copied_text


def test_continuation_lines_are_indented(capsys: pytest.CaptureFixture[str]) -> None:
    printer = PagePrinter()
    printer.print_line(StyledText("a\tb", "bold"), "c\nd\x07", indent=2, hang=4)
    printer.print_text("one\n\n\x1b[0m\nfour", indent=2, max_lines=3)
    assert capsys.readouterr().out == "  a       bc d\\u0007\n  one\n\n  \\u001b[0m\n  … 1 more line\n"
    printer.print_text("one\ntwo\nthree", max_lines=1, suffix="; --json prints all of them")
    assert capsys.readouterr().out == "one\n… 2 more lines; --json prints all of them\n"
    assert [format_count(number, "line") for number in (0, 1, 1_000)] == ["0 lines", "1 line", "1,000 lines"]
    assert [join_words(words) for words in ((), ("a",), ("a", "b"), ("a", "b", "c"))] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]
