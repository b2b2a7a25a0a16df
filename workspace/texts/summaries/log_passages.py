"""The passages of a log: how it begins and ends, and the first line of each level of trouble."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.markdown.lines import LINE_END
from workspace.texts.summaries.passages import WORTH, Kind, Passage, clipped, counted

if TYPE_CHECKING:
    from collections.abc import Iterator

_LEVEL = re.compile(r"\b(?:FATAL|CRITICAL|ERROR|WARN(?:ING)?|Traceback|panic|Exception)\b")
_LOOKED_AT = 400
_ENDS = 3


def passages_of_log(text: str) -> Iterator[Passage]:
    """The first and the last lines of a log, and the first line of each level with the count of its lines."""
    lines = [line for line in LINE_END.split(text) if line.strip()]
    counts: dict[str, int] = {}
    first: dict[int, str] = {}
    for place, line in enumerate(lines):
        if found := _LEVEL.search(line[:_LOOKED_AT]):
            if found[0] not in counts:
                first[place] = found[0]
            counts[found[0]] = counts.get(found[0], 0) + 1
    ends = {*range(_ENDS), *range(len(lines) - _ENDS, len(lines))}
    for place, line in enumerate(lines):
        shown = clipped(" ".join(line.split()))
        if (level := first.get(place)) is not None:
            note = f"{counted(counts[level], 'line')} with {level}"
            yield Passage(Kind.LEVEL, shown, WORTH[Kind.LEVEL], note, is_first=place == 0)
        elif place in ends:
            yield Passage(Kind.LEAD, shown, WORTH[Kind.LEAD], is_first=place == 0)
        else:
            yield Passage(Kind.SENTENCE, shown, WORTH[Kind.ROW])
