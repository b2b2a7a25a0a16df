"""Descriptions of commits and of their changes.

`describe_blame` returns runs of adjacent lines with the same commit, and describes each commit once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.authors import name_author
from workspace.escapes import escape_invisible
from workspace.git.messages import MAX_CLIENT_NAME_LENGTH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.tool import Data
    from workspace.history.blame import BlamedLine
    from workspace.history.commits import CommitChange, CommitInfo
    from workspace.history.log import History

_MAX_DIFFED_BYTES = 1_000_000  # larger texts are not compared
_MAX_DIFF_CHARACTERS = 10_000  # of one diff
_MAX_SUBJECT_CHARACTERS = 300


def describe_commit(info: CommitInfo) -> Data:
    """Return the author, date and subject of a commit; client, tool and proposal may be null."""
    subject = escape_invisible(info.subject)
    name = escape_invisible(info.author_name)
    return {
        "by": name_author(name, _shorten(info.client)),
        "author": {"name": name, "email": escape_invisible(info.author_email)},
        "date": info.time.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "client": _shorten(info.client),
        "tool": _shorten(info.tool),
        "proposal": _shorten(info.proposal),
        "subject": subject
        if len(subject) <= _MAX_SUBJECT_CHARACTERS
        else subject[:_MAX_SUBJECT_CHARACTERS] + "…",
    }


def _shorten(trailer: str | None) -> str | None:
    """Return a trailer's value, truncated because any program may write a commit."""
    return None if trailer is None else escape_invisible(trailer[:MAX_CLIENT_NAME_LENGTH])


class DiffBudget:
    """The remaining budget for diffs on a page: characters to show, and bytes to compare."""

    def __init__(self, characters: int) -> None:
        self.characters = characters // 2  # the other half is reserved for JSON's escapes
        self.bytes = 4 * _MAX_DIFFED_BYTES


def describe_change(change: CommitChange, budget: DiffBudget | None) -> Data:
    """Return a change with its address after the commit, and the old address if it differs.

    With a budget the data have a unified `diff`, or a `hint` with the reason why the diff is missing.
    """
    data: Data = {"commit": change.commit, "kind": change.kind, **describe_commit(change.info)}
    data |= {"file": change.path, "slug": change.fragment}
    if change.old_path is not None and change.old_path != change.path:
        data["old_file"] = change.old_path
    if change.old_fragment is not None and change.old_fragment != change.fragment:
        data["old_slug"] = change.old_fragment
    return data if budget is None else data | _describe_diff_within_budget(budget, change)


def describe_change_diff(change: CommitChange, max_characters: int) -> dict[str, str]:
    """Return the `diff` of a change, or a `hint` if it is too large to compare."""
    from workspace.diff.unified import format_unified_diff

    if change.size > _MAX_DIFFED_BYTES:
        return {"hint": f"texts of over {_MAX_DIFFED_BYTES:,} bytes are not compared"}
    old_line, new_line = change.start_lines
    diff = format_unified_diff(
        change.before, change.after, old_line=old_line, new_line=new_line, max_chars=max_characters
    )
    return {"diff": diff}


def _describe_diff_within_budget(budget: DiffBudget, change: CommitChange) -> dict[str, str]:
    """Return the `diff` of a change if the budget permits it, else a `hint`."""
    if change.size <= _MAX_DIFFED_BYTES and (budget.characters <= 0 or budget.bytes < change.size):
        return {"hint": "this page is full: repeat the call with a smaller limit to see the diff"}
    data = describe_change_diff(change, min(budget.characters, _MAX_DIFF_CHARACTERS))
    if "diff" in data:
        budget.characters -= len(data["diff"])
        budget.bytes -= change.size
    return data


_MAX_RUNS = 500  # on a page, which also bounds the commits
_RUN_CHARACTERS, _COMMIT_CHARACTERS = 100, 200  # the approximate size of their fields, in addition to texts


def describe_blame(
    history: History, lines: Sequence[BlamedLine], first_index: int, max_characters: int
) -> tuple[Data, str | None]:
    """Return a page of runs of lines from `lines[first_index]`, and the position of the next page.

    A page has about `max_characters` characters; a run that does not fit is split between lines. A line that
    is longer than a page is `truncated`. `boundary` marks lines that may be older than their commit.
    """
    runs: list[Data] = []
    position, size = first_index, 0
    ids: dict[str, None] = {}
    while position < len(lines) and len(runs) < _MAX_RUNS and size < max_characters:
        run = _take_run(lines, position, max_characters - size)
        text = "".join(line.text.decode("utf-8", "replace") for line in run)
        data: Data = {"line": run[0].line, "end_line": run[-1].line, "text": text, "commit": run[0].commit}
        if len(text) > max_characters:
            data |= {"text": text[:max_characters], "truncated": True}
        runs.append(data | ({"boundary": True} if run[0].is_boundary else {}))
        commit_size = 0 if run[0].commit in ids else _COMMIT_CHARACTERS
        position, size = position + len(run), size + len(text) + _RUN_CHARACTERS + commit_size
        ids[run[0].commit] = None
    commits = {id: describe_commit(history.commit(id)) for id in ids}
    return {"lines": runs, "commits": commits}, str(position) if position < len(lines) else None


def _take_run(lines: Sequence[BlamedLine], first_index: int, max_characters: int) -> list[BlamedLine]:
    """Return the lines of one commit from `lines[first_index]`, at least one, within the character limit."""
    run = [lines[first_index]]
    remaining_characters = max_characters - len(lines[first_index].text)
    for line in lines[first_index + 1 :]:
        remaining_characters -= len(line.text)
        if remaining_characters < 0 or (line.commit, line.is_boundary) != (run[0].commit, run[0].is_boundary):
            break
        run.append(line)
    return run
