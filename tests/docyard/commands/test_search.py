"""`docyard search` on a terminal: addresses to copy, lines to open, and snippets with marked words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docyard.commands.conftest import CommitAll, RunInTerminal

ESCAPE = "\x1b["


@pytest.mark.process
def test_hit_is_address_line_and_snippet(run_in_terminal: RunInTerminal) -> None:
    run_in_terminal("search", "backoff")  # builds the index, which shows its progress if it takes long
    lines = run_in_terminal("search", "backoff", "--limit", "1").rstrip("\n").split("\n")
    assert lines[:3] == ["guide.md#retries", "  guide.md:10", "  Guide > Retries"]
    assert "backoff" in lines[3].casefold()
    assert lines[3].startswith("  ")


@pytest.mark.process
def test_words_of_query_are_marked_with_colours(
    run_in_terminal: RunInTerminal,
) -> None:
    assert f"{ESCAPE}1;33mbackoff{ESCAPE}0m" in run_in_terminal("search", "backoff", colours=True)


@pytest.mark.process
def test_hit_at_ref_names_no_file_of_work_tree(run_in_terminal: RunInTerminal) -> None:
    assert "guide.md:" not in run_in_terminal("search", "backoff", "--ref", "HEAD")


@pytest.mark.process
def test_control_characters_of_hit_are_escaped(
    run_in_terminal: RunInTerminal, commit: CommitAll, repo: Path
) -> None:
    (repo / "bad.md").write_text("# Bad\n\nA zebra \x1b[31mred\u202e.\n")
    commit(2, "Bad")
    output = run_in_terminal("search", "zebra", colours=True)
    assert "\x1b[31mred" not in output
    assert "\u202e" not in output
