"""Summaries: what a text says, in its own words, within a budget, with the address of each section.

Which passages a summary keeps: the most worth for what they cost, with a fair share for each section.

How a summary names the sections of a text: as headings, as fully as the budget allows.

The passages of each section of a text, by the kind of text that it is.
"""

from __future__ import annotations

import math
from collections import Counter
from heapq import heapify, heappop, heapreplace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from workspace.errors import WorkspaceError
from workspace.markdown.lines import LINE_END
from workspace.markdown.slugs import make_heading_slug
from workspace.nearest import find_nearest
from workspace.texts.summaries.code import read_log_passages, read_source_passages
from workspace.texts.summaries.passages import AGAIN, CUT, WORTH, Passage, PassageKind
from workspace.texts.summaries.prose import read_prose_passages
from workspace.texts.text_file import TextKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from workspace.texts.headings import OutlineEntry, TextOutline
    from workspace.texts.summaries.passages import Passage
    from workspace.texts.text_file import TextFile

    Count = Callable[[str], int]

# Each line costs a reader's attention beside its tokens, and fewer tokens than this tell less.
_OVERHEAD = 6
_TELLING = 14


class PassageChoice(NamedTuple):
    """A passage that may be kept: where it stands, what it is worth, what its lines cost in tokens."""

    section: int
    place: int
    worth: float
    cost: int


def choose_passages(choices: Sequence[PassageChoice], sizes: Sequence[int], room: int) -> list[PassageChoice]:
    """Return the best choices that fit `room` tokens, best first; `sizes` are the tokens of each section.

    Greedy by worth for each token. What a section has been given lowers the worth of more from it, measured
    by its fair share: the room by the square roots of the sections' sizes, so that a long section gets more,
    but not all. Equal worths go by position, so the same text is always summarized alike.
    """
    by_section: dict[int, list[PassageChoice]] = {}
    for choice in choices:
        by_section.setdefault(choice.section, []).append(choice)
    for found in by_section.values():
        # The best is taken from the end.
        found.sort(key=lambda choice: (_density(choice), -choice.place))
    roots = {section: math.sqrt(sizes[section] + 1) for section in by_section}
    unit = max(room, 1) / (sum(roots.values()) or 1.0)
    spent = dict.fromkeys(by_section, 0)

    def rank(section: int) -> tuple[float, int]:
        share = unit * roots[section]
        return -_density(by_section[section][-1]) * share / (share + spent[section]), section

    heap = [rank(section) for section in by_section]
    heapify(heap)
    kept: list[PassageChoice] = []
    while heap and room > 0:
        section = heap[0][1]
        choice = by_section[section].pop()
        if choice.cost <= room:
            kept.append(choice)
            room -= choice.cost
            spent[section] += choice.cost
        if by_section[section]:
            heapreplace(heap, rank(section))
        else:
            heappop(heap)
    return kept


def _density(choice: PassageChoice) -> float:
    return choice.worth * min(1.0, choice.cost / _TELLING) / (choice.cost + _OVERHEAD)


_DEEPEST = 6
_TITLE = 200


class SectionName(NamedTuple):
    """The heading of a section in a summary: its line, the title in it ("" where the address tells it)."""

    line: str
    title: str
    tokens: int


def format_full_names(entries: Sequence[OutlineEntry], count: Count) -> list[SectionName]:
    """Title and address of each section: `## Title `address``."""
    return [_name(entry, format_one_line(entry.title), count) for entry in entries]


def format_short_names(entries: Sequence[OutlineEntry], count: Count) -> list[SectionName]:
    """Return the address alone where its last part is the title's slug; else both."""
    return [
        _name(entry, "" if _tells_title(entry) else format_one_line(entry.title), count) for entry in entries
    ]


def format_addresses(entries: Sequence[OutlineEntry], count: Count) -> list[SectionName]:
    """Return the address alone of each section."""
    return [_name(entry, "", count) for entry in entries]


def format_one_line(title: str) -> str:
    """Return a title on one line, of bounded length."""
    title = " ".join(title.split())
    return title if len(title) <= _TITLE else title[:_TITLE].rstrip() + " …"


def _tells_title(entry: OutlineEntry) -> bool:
    return entry.address.rpartition("/")[2] == make_heading_slug(entry.title)


def _name(entry: OutlineEntry, title: str, count: Count) -> SectionName:
    marks = "#" * max(1, min(entry.level, _DEEPEST))
    line = f"{marks} {title} `{entry.address}`" if title else f"{marks} `{entry.address}`"
    # The line's end costs a token at most.
    return SectionName(line, title, count(line) + 1)


# A book has some ten thousand; each costs up to 20 µs.
MAX_PASSAGES = 200_000

# The markups whose headings are lines of their sections.
_TITLED = (TextKind.RESTRUCTUREDTEXT, TextKind.ASCIIDOC)


def read_passages(text: TextFile, outline: TextOutline) -> list[list[Passage]]:
    """Return the passages of each section's own text, in order. A repeated passage has a lower weight.

    Those past the first MAX_PASSAGES are not read, which bounds what a hostile text may cost.
    """
    seen: set[str] = set()
    found: list[list[Passage]] = []
    room = MAX_PASSAGES
    for entry in outline.entries:
        passages: list[Passage] = []
        for passage in islice(_of_entry(text, entry), room):
            if passage.text in seen:
                passage = passage._replace(worth=passage.worth * AGAIN)
            elif passage.text:
                seen.add(passage.text)
            passages.append(passage)
        room -= len(passages)
        found.append(passages)
    return found


def _of_entry(text: TextFile, entry: OutlineEntry) -> Iterator[Passage]:
    body = read_body(text, entry)
    match text.kind:
        case TextKind.SOURCE:
            return read_source_passages(body, declares=entry.level > 0)
        case TextKind.LOG:
            return read_log_passages(body)
        case _:
            return read_prose_passages(body)


def read_body(text: TextFile, entry: OutlineEntry) -> str:
    """Return a section's own text without its heading; a declaration of source code is its own heading."""
    document = text.document
    section = document.section_by_key(entry.address) if document is not None else None
    if section is not None:
        return text.text(section.body, section.end)
    own = text.text(entry.start, entry.end)
    if not entry.title or text.kind not in _TITLED:
        return own
    # The line of the title goes; rules above and below it hold no words.
    lines = LINE_END.split(own)
    place = entry.line - entry.first_line
    del lines[place : place + 1]
    return "\n".join(lines)


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
    named: tuple[OutlineEntry, ...]
    sections: int
    kept: Mapping[PassageKind, int]
    total: Mapping[PassageKind, int]
    tokens: int
    original_tokens: int
    budget: int
    completeness: float
    is_cut: bool


def check_style(style: str) -> None:
    """Raise UnknownStyle for a style that there is not."""
    if style not in STYLES:
        near = find_nearest(style, STYLES)
        guess = f"Did you mean '{near[0]}'? " if near else ""
        raise UnknownStyle(
            f"no summary style '{style[:100]}'",
            fix=f"{guess}There are {', '.join(STYLES)}.",
            styles=list(STYLES),
            field="summary_style",
        )


def choose_default_budget(original: int, names: int) -> int:
    """Return the default token budget of a summary, for `original` tokens with names of `names` tokens."""
    part = max(_LEAST, min(original // _PART, _MOST))
    needed = min(int(names * _ROOM_BESIDE_NAMES), original // _MOST_OF_ORIGINAL)
    return max(MIN_BUDGET, min(MAX_BUDGET, max(part, needed)))


def summarize(
    text: TextFile,
    outline: TextOutline,
    *,
    style: str = "structured",
    budget: int | None = None,
    count: Count,
) -> Summary:
    """Return the summary of a text: every section is named, and what tells most of it is kept word for word.

    `count` tells the tokens of a text; `budget` is the most that the content has, by default by the text's
    size. Where not even the addresses of all sections fit, the shallowest are named. Raises UnknownStyle.
    """
    check_style(style)
    entries = outline.entries
    sizes = [count(text.text(entry.start, entry.end)) for entry in entries]
    original = count(text.text())
    full = format_full_names(entries, count)
    if budget is None:
        budget = choose_default_budget(original, sum(name.tokens for name in full))
    passages = read_passages(text, outline)
    if style == "outline":
        names = _with_sizes(entries, full, sizes, budget, count)
    else:
        names = _fit_names(entries, full, budget, count)
    named = _choose_named(entries, names, budget)
    room = budget - sum(names[position].tokens for position in named)
    chosen = choose_passages(_choices(passages, entries, named, style, count), sizes, room)
    draft = _fit_budget(budget, _Draft(names, passages, named, chosen), count)
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
    """A draft of a summary: the names of sections, and the passages that were selected."""

    names: Sequence[SectionName]
    passages: Sequence[Sequence[Passage]]
    named: list[int]
    chosen: list[PassageChoice]

    def content(self) -> str:
        """Return the Markdown: a heading for each section, below it a line for each passage."""
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
    """Return the lines of a passage: its words, and below them the note, which is not from the text."""
    words = f"- {passage.text}"
    return [words, f"> {passage.note}"] if passage.note else [words]


def _fit_names(
    entries: Sequence[OutlineEntry], full: list[SectionName], budget: int, count: Count
) -> list[SectionName]:
    """Return the names of sections as fully as the budget allows."""
    for names in (full, format_short_names(entries, count)):
        if sum(name.tokens for name in names) <= budget * _NAMES_SHARE:
            return names
    if sum(name.tokens for name in names) <= budget:
        return names
    return format_addresses(entries, count)


def _with_sizes(
    entries: Sequence[OutlineEntry], full: list[SectionName], sizes: Sequence[int], budget: int, count: Count
) -> list[SectionName]:
    """Return names with the lines and tokens of each section, subsections included, where they fit."""
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
    return full if sum(name.tokens for name in full) <= budget else _fit_names(entries, full, budget, count)


def _choose_named(entries: Sequence[OutlineEntry], names: Sequence[SectionName], budget: int) -> list[int]:
    """Return the positions of the sections that are named: all, else as many of the shallowest as fit."""
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
    entries: Sequence[OutlineEntry],
    named: Sequence[int],
    style: str,
    count: Count,
) -> list[PassageChoice]:
    """Return what may be kept of the sections that are named. A deep section is worth a little less."""
    choices: list[PassageChoice] = []
    for section in named:
        depth = 1.0 + max(entries[section].level - 1, 0) / 10
        for place, passage in enumerate(passages[section]):
            worth = _worth(passage, place, style)
            if worth > 0:
                cost = sum(count(line) + 1 for line in _lines(passage))
                choices.append(PassageChoice(section, place, worth / depth, cost))
    return choices


def _worth(passage: Passage, place: int, style: str) -> float:
    """Return the weight of a passage in a style: zero for an outline; in leads, only its place counts."""
    if style == "structured":
        return passage.worth
    if style == "outline" or passage.kind in (
        PassageKind.ROW,
        PassageKind.TABLE,
        PassageKind.CODE,
        PassageKind.TASK,
    ):
        return 0.0
    return WORTH[PassageKind.LEAD] if passage.is_first else WORTH[PassageKind.SENTENCE] / (place + 1)


def _fit_budget(budget: int, draft: _Draft, count: Count) -> _Draft:
    """Return a draft within the budget: the tokens of lines need not add up to those of the whole."""
    while (over := count(draft.content()) - budget) > 0 and (draft.chosen or draft.named):
        fewer = max(1, over // 20)
        if draft.chosen:
            draft = draft._replace(chosen=draft.chosen[:-fewer])
        else:
            draft = draft._replace(named=draft.named[:-fewer])
    return draft


def _without_cut(text: str) -> str:
    return text.removesuffix(CUT)
