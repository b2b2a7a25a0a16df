"""Words that differ, widened to the white space around them, so that marks beside them are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.diff.words import Edit

if TYPE_CHECKING:
    from workspace.diff.text import Step

_FAR = 40  # characters that an edit is widened at most


def widened(before: str, after: str, step: Step) -> list[Edit]:
    """The edits of a paragraph, each as far as the white space around it; those that meet are one."""
    found: list[Edit] = []
    floor = step.start
    for number, edit in enumerate(step.words):
        ceiling = step.words[number + 1].start if number + 1 < len(step.words) else step.end
        lead = _lead(before, after, edit, floor)
        tail = _tail(before, after, edit, ceiling)
        wide = Edit(edit.start - lead, edit.end + tail, edit.new_start - lead, edit.new_end + tail)
        if found and wide.start <= found[-1].end:
            found[-1] = Edit(found[-1].start, wide.end, found[-1].new_start, wide.new_end)
        else:
            found.append(wide)
        floor = edit.end
    return found


def _lead(before: str, after: str, edit: Edit, floor: int) -> int:
    old, new = before[edit.start : edit.end], after[edit.new_start : edit.new_end]
    if all(text[:1].isspace() for text in (old, new) if text):
        return 0
    at = edit.start
    while at > max(floor, edit.start - _FAR) and not before[at - 1].isspace():
        at -= 1
    return edit.start - at


def _tail(before: str, after: str, edit: Edit, ceiling: int) -> int:
    old, new = before[edit.start : edit.end], after[edit.new_start : edit.new_end]
    if all(text[-1:].isspace() for text in (old, new) if text):
        return 0
    at = edit.end
    while at < min(ceiling, edit.end + _FAR) and not before[at].isspace():
        at += 1
    return at - edit.end
