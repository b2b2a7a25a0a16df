"""Summaries: what a text says, in its own words, within a budget, with the address of each section."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from workspace.document.addresses import nearest
from workspace.errors import WorkspaceError
from workspace.texts.summaries import naming
from workspace.texts.summaries.choosing import Choice, choose
from workspace.texts.summaries.passages import CUT, WORTH, Kind, Passage
from workspace.texts.summaries.reading import MAX_PASSAGES, read_passages

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from workspace.texts.outline import Entry, Outline
    from workspace.texts.summaries.naming import Name
    from workspace.texts.text_file import TextFile

    Count = Callable[[str], int]

STYLES = ("structured", "outline", "lead")
MIN_BUDGET, MAX_BUDGET = 100, 20_000

# The default budget: a part of the original, in bounds; more where the names of all sections need it.
_PART, _LEAST, _MOST = 8, 500, 4_000
_ROOM_BESIDE_NAMES = 2.5
_MOST_OF_ORIGINAL = 3

# Names may take so much of a budget in full before they are written shorter.
_NAMES_SHARE = 0.5


class UnknownStyle(WorkspaceError):
    """No summary is written in this style. `styles` are those that there are."""

    code = "UNKNOWN_STYLE"


class Summary(NamedTuple):
    """A summary: `content` is Markdown, `preamble` one sentence on what the file is and what was kept.

    `named` are the sections that the content names, of `sections` in all. `kept` and `total` count passages
    by kind, of those that were read: all, unless `is_cut`. `completeness` is the share of the original's
    tokens that the content keeps or names, 0 to 1.
    """

    content: str
    style: str
    named: tuple[Entry, ...]
    sections: int
    kept: Mapping[Kind, int]
    total: Mapping[Kind, int]
    tokens: int
    original_tokens: int
    budget: int
    completeness: float
    is_cut: bool


def check_style(style: str) -> None:
    """Raises UnknownStyle for a style that there is not."""
    if style not in STYLES:
        near = nearest(style, STYLES)
        guess = f"Did you mean '{near[0]}'? " if near else ""
        raise UnknownStyle(
            f"no summary style '{style[:100]}'",
            fix=f"{guess}There are {', '.join(STYLES)}.",
            styles=list(STYLES),
            field="summary_style",
        )


def default_budget(original: int, names: int) -> int:
    """The tokens of a summary where nobody says: of a text of `original` tokens whose names cost `names`."""
    part = max(_LEAST, min(original // _PART, _MOST))
    needed = min(int(names * _ROOM_BESIDE_NAMES), original // _MOST_OF_ORIGINAL)
    return max(MIN_BUDGET, min(MAX_BUDGET, max(part, needed)))


def summarize(
    text: TextFile, outline: Outline, *, style: str = "structured", budget: int | None = None, count: Count
) -> Summary:
    """The summary of a text: every section is named, and what tells most of it is kept word for word.

    `count` tells the tokens of a text; `budget` is the most that the content has, by default by the text's
    size. Where not even the addresses of all sections fit, the shallowest are named. Raises UnknownStyle.
    """
    check_style(style)
    entries = outline.entries
    sizes = [count(text.text(entry.start, entry.end)) for entry in entries]
    original = count(text.text())
    full = naming.full_names(entries, count)
    if budget is None:
        budget = default_budget(original, sum(name.tokens for name in full))
    passages = read_passages(text, outline)
    if style == "outline":
        names = _with_sizes(entries, full, sizes, budget, count)
    else:
        names = _fitting(entries, full, budget, count)
    named = _named(entries, names, budget)
    room = budget - sum(names[position].tokens for position in named)
    chosen = choose(_choices(passages, entries, named, style, count), sizes, room)
    draft = _within(budget, _Draft(names, passages, named, chosen), count)
    content = draft.content()
    kept = [passages[choice.section][choice.place] for choice in draft.chosen]
    words = [_without_cut(passage.text) for passage in kept]
    words += [_without_cut(names[position].title) for position in draft.named]
    return Summary(
        content,
        style,
        tuple(entries[position] for position in draft.named),
        len(entries),
        Counter(passage.kind for passage in kept),
        Counter(passage.kind for found in passages for passage in found),
        count(content),
        original,
        budget,
        round(min(1.0, sum(map(count, words)) / original), 4) if original else 1.0,
        sum(map(len, passages)) >= MAX_PASSAGES,
    )


class _Draft(NamedTuple):
    """What a summary is written from: the names of sections, and of passages those that are kept."""

    names: Sequence[Name]
    passages: Sequence[Sequence[Passage]]
    named: list[int]
    chosen: list[Choice]

    def content(self) -> str:
        """The Markdown: a heading for each section, below it a line for each passage."""
        kept: dict[int, list[int]] = {}
        for choice in self.chosen:
            kept.setdefault(choice.section, []).append(choice.place)
        lines: list[str] = []
        for position in sorted(self.named):
            lines.append(self.names[position].line)
            for place in sorted(kept.get(position, ())):
                lines += _lines(self.passages[position][place])
        return "".join(f"{line}\n" for line in lines)


def _lines(passage: Passage) -> list[str]:
    """The lines of a passage: its words, and below them what we say of it, which is not of the text."""
    words = f"- {passage.text}"
    return [words, f"> {passage.note}"] if passage.note else [words]


def _fitting(entries: Sequence[Entry], full: list[Name], budget: int, count: Count) -> list[Name]:
    """The names of sections as fully as the budget allows."""
    for names in (full, naming.short_names(entries, count)):
        if sum(name.tokens for name in names) <= budget * _NAMES_SHARE:
            return names
    if sum(name.tokens for name in names) <= budget:
        return names
    return naming.addresses(entries, count)


def _with_sizes(
    entries: Sequence[Entry], full: list[Name], sizes: Sequence[int], budget: int, count: Count
) -> list[Name]:
    """Names with the lines and the tokens of each section, those below it included, where they fit."""
    before = [0]
    for size in sizes:
        before.append(before[-1] + size)
    ends = [len(entries)] * len(entries)
    open_entries: list[int] = []
    for position, entry in enumerate(entries):
        while open_entries and entry.start >= entries[open_entries[-1]].tree_end:
            ends[open_entries.pop()] = position
        open_entries.append(position)
    names = []
    for position, (entry, name) in enumerate(zip(entries, full, strict=True)):
        tokens = before[ends[position]] - before[position]
        line = f"{name.line} lines {entry.line}-{entry.end_line}, ~{tokens} tokens"
        names.append(name._replace(line=line, tokens=count(line) + 1))
    if sum(name.tokens for name in names) <= budget:
        return names
    return full if sum(name.tokens for name in full) <= budget else _fitting(entries, full, budget, count)


def _named(entries: Sequence[Entry], names: Sequence[Name], budget: int) -> list[int]:
    """The positions of the sections that are named: all, else as many of the shallowest as fit."""
    if sum(name.tokens for name in names) <= budget:
        return list(range(len(entries)))
    named: list[int] = []
    room = budget
    for position in sorted(range(len(entries)), key=lambda position: (entries[position].level, position)):
        room -= names[position].tokens
        if room < 0:
            break
        named.append(position)
    return named


def _choices(
    passages: Sequence[Sequence[Passage]],
    entries: Sequence[Entry],
    named: Sequence[int],
    style: str,
    count: Count,
) -> list[Choice]:
    """What may be kept of the sections that are named. A deep section is worth a little less."""
    choices: list[Choice] = []
    for section in named:
        depth = 1.0 + max(entries[section].level - 1, 0) / 10
        for place, passage in enumerate(passages[section]):
            worth = _worth(passage, place, style)
            if worth > 0:
                cost = sum(count(line) + 1 for line in _lines(passage))
                choices.append(Choice(section, place, worth / depth, cost))
    return choices


def _worth(passage: Passage, place: int, style: str) -> float:
    """What a passage is worth in a style: an outline keeps none, and in leads the place alone counts."""
    if style == "structured":
        return passage.worth
    if style == "outline" or passage.kind in (Kind.ROW, Kind.TABLE, Kind.CODE, Kind.TASK):
        return 0.0
    return WORTH[Kind.LEAD] if passage.is_first else WORTH[Kind.SENTENCE] / (place + 1)


def _within(budget: int, draft: _Draft, count: Count) -> _Draft:
    """A draft whose content keeps to the budget: tokens of lines need not add up to those of the whole."""
    while (over := count(draft.content()) - budget) > 0 and (draft.chosen or draft.named):
        fewer = max(1, over // 20)
        if draft.chosen:
            draft = draft._replace(chosen=draft.chosen[:-fewer])
        else:
            draft = draft._replace(named=draft.named[:-fewer])
    return draft


def _without_cut(text: str) -> str:
    return text.removesuffix(CUT)
