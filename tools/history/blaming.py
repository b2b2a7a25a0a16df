"""Blame as an answer: runs of lines that one commit wrote, and what is told of each commit once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.history.descriptions import commit_data

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.errors import Data
    from workspace.history import BlamedLine, History

_RUNS = 500  # runs, and so commits, on a page


def blame_data(
    history: History, lines: Sequence[BlamedLine], first: int, most: int
) -> tuple[Data, str | None]:
    """The lines of a text from one on, by the commits that wrote them, and where the next page begins.

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
    """The lines from one on that are of the same commit, at least one, and no more than there is room for."""
    found = [lines[first]]
    left = room - len(lines[first].text)
    for line in lines[first + 1 :]:
        left -= len(line.text)
        if left < 0 or (line.commit, line.is_boundary) != (found[0].commit, found[0].is_boundary):
            break
        found.append(line)
    return found
