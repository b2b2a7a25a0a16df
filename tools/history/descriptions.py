"""Descriptions of commits and of the changes that they made.

`blame_data` returns runs of lines that one commit wrote, and describes each commit once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.errors import escape_invisible
from workspace.git.messages import MAX_CLIENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.tool import Data
    from workspace.history.blame import BlamedLine
    from workspace.history.commits import CommitChange, CommitInfo
    from workspace.history.log import History

_MOST_DIFFED = 1_000_000  # bytes of a text that is compared with another
_MOST_SHOWN = 10_000  # characters of one diff
_MOST_SUBJECT = 300


def commit_data(told: CommitInfo) -> Data:
    """Return the author, date and message of a commit; client, tool and proposal are null for a person's."""
    subject = escape_invisible(told.subject)
    return {
        "author": {"name": escape_invisible(told.author_name), "email": escape_invisible(told.author_email)},
        "date": told.time.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "client": _shorten(told.client),
        "tool": _shorten(told.tool),
        "proposal": _shorten(told.proposal),
        "subject": subject if len(subject) <= _MOST_SUBJECT else subject[:_MOST_SUBJECT] + "…",
    }


def _shorten(trailer: str | None) -> str | None:
    """Return a trailer's value as far as one of ours goes: anybody may write a commit."""
    return None if trailer is None else escape_invisible(trailer[:MAX_CLIENT])


class DiffBudget:
    """The space left for diffs on a page: characters to show, and bytes to compare."""

    def __init__(self, characters: int) -> None:
        self.characters = characters // 2  # JSON's escapes are left out
        self.bytes = 4 * _MOST_DIFFED


def change_data(change: CommitChange, room: DiffBudget | None) -> Data:
    """Return a change, with its address after the commit and, where they differ, the one before it.

    `diff` is a unified diff, for which `room` is taken; where there is none, `hint` says why.
    """
    data: Data = {"commit": change.commit, "kind": change.kind, **commit_data(change.told)}
    data |= {"file": change.path, "slug": change.fragment}
    if change.old_path is not None and change.old_path != change.path:
        data["old_file"] = change.old_path
    if change.old_fragment is not None and change.old_fragment != change.fragment:
        data["old_slug"] = change.old_fragment
    return data if room is None else data | _diff_in(room, change)


def diff_data(change: CommitChange, most: int) -> dict[str, str]:
    """Return the diff of a change as `diff`, of at most `most` characters, or the reason as `hint`."""
    from workspace.diff.unified import format_section_diff

    if change.size > _MOST_DIFFED:
        return {"hint": f"texts of over {_MOST_DIFFED:,} bytes are not compared"}
    old_line, new_line = change.lines
    diff = format_section_diff(change.before, change.after, old_line=old_line, new_line=new_line, most=most)
    return {"diff": diff}


def _diff_in(room: DiffBudget, change: CommitChange) -> dict[str, str]:
    """Return the same as far as there is room for it."""
    if change.size <= _MOST_DIFFED and (room.characters <= 0 or room.bytes < change.size):
        return {"hint": "this page is full: ask with a smaller limit to see the diff"}
    data = diff_data(change, min(room.characters, _MOST_SHOWN))
    if "diff" in data:
        room.characters -= len(data["diff"])
        room.bytes -= change.size
    return data


_RUNS = 500  # runs, and so commits, on a page


def blame_data(
    history: History, lines: Sequence[BlamedLine], first: int, most: int
) -> tuple[Data, str | None]:
    """Return the lines of a text from one on, by the commits that wrote them, and where the next page begins.

    A page has at most `most` characters of lines. It ends between runs, but for one that is longer than a
    page; a line that is longer is cut, which `truncated` says. `boundary` stands at lines that may be older
    than the commit says.
    """
    shown: list[Data] = []
    at, size = first, 0
    while at < len(lines) and len(shown) < _RUNS and size < most:
        run = _run(lines, at, most - size)
        text = "".join(line.text.decode("utf-8", "replace") for line in run)
        data: Data = {"line": run[0].line, "end_line": run[-1].line, "text": text, "commit": run[0].commit}
        if len(text) > most:
            data |= {"text": text[:most], "truncated": True}
        shown.append(data | ({"boundary": True} if run[0].is_boundary else {}))
        at, size = at + len(run), size + len(text)
    ids = dict.fromkeys(data["commit"] for data in shown)
    commits = {id: commit_data(history.commit(id)) for id in ids}
    return {"lines": shown, "commits": commits}, str(at) if at < len(lines) else None


def _run(lines: Sequence[BlamedLine], first: int, room: int) -> list[BlamedLine]:
    """Return the following lines of the same commit, at least one, within the character limit."""
    found = [lines[first]]
    left = room - len(lines[first].text)
    for line in lines[first + 1 :]:
        left -= len(line.text)
        if left < 0 or (line.commit, line.is_boundary) != (found[0].commit, found[0].is_boundary):
            break
        found.append(line)
    return found
