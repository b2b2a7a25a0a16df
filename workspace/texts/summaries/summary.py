"""Summaries: the most important passages of a text within a budget, with the address of each section.

Passages are selected by weight and cost in tokens, with a fair share for each section. Sections are named by
headings, as fully as the budget allows. The kind of the text determines how its passages are read.
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
from workspace.texts.summaries.passages import CUT, REPEATED_SHARE, WORTH, Passage, PassageKind
from workspace.texts.summaries.prose import read_prose_passages
from workspace.texts.text_file import TextKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from workspace.texts.headings import OutlineEntry, TextOutline
    from workspace.texts.summaries.passages import Passage
    from workspace.texts.text_file import TextFile

    Count = Callable[[str], int]

# The cost of a line in addition to its tokens, and the number of tokens below which a passage has a lower
# weight.
_LINE_OVERHEAD = 6
_FULL_WEIGHT_TOKENS = 14


class PassageChoice(NamedTuple):
    """A candidate passage: its section and index, its weight, and the cost of its lines in tokens."""

    section: int
    place: int
    worth: float
    cost: int


def choose_passages(
    choices: Sequence[PassageChoice], sizes: Sequence[int], remaining: int
) -> list[PassageChoice]:
    """Return the best choices that fit `remaining` tokens, best first.

    `sizes` are the tokens of each section.

    The choice is greedy by weight per token. Each choice lowers the weight of more passages of its section,
    relative to the section's fair share. Shares are proportional to the square roots of the sizes, so that a
    long section gets more, but not all. Equal weights are ordered by position, so that the result is
    deterministic.
    """
    by_section: dict[int, list[PassageChoice]] = {}
    for choice in choices:
        by_section.setdefault(choice.section, []).append(choice)
    for section_choices in by_section.values():
        # The best choice is the last one, because it is removed from the end.
        section_choices.sort(key=lambda choice: (_compute_weight_per_token(choice), -choice.place))
    roots = {section: math.sqrt(sizes[section] + 1) for section in by_section}
    share_unit = max(remaining, 1) / (sum(roots.values()) or 1.0)
    spent = dict.fromkeys(by_section, 0)

    def rank(section: int) -> tuple[float, int]:
        share = share_unit * roots[section]
        return -_compute_weight_per_token(by_section[section][-1]) * share / (share + spent[section]), section

    heap = [rank(section) for section in by_section]
    heapify(heap)
    chosen: list[PassageChoice] = []
    while heap and remaining > 0:
        section = heap[0][1]
        choice = by_section[section].pop()
        if choice.cost <= remaining:
            chosen.append(choice)
            remaining -= choice.cost
            spent[section] += choice.cost
        if by_section[section]:
            heapreplace(heap, rank(section))
        else:
            heappop(heap)
    return chosen


def _compute_weight_per_token(choice: PassageChoice) -> float:
    return choice.worth * min(1.0, choice.cost / _FULL_WEIGHT_TOKENS) / (choice.cost + _LINE_OVERHEAD)


_MAX_HEADING_LEVEL = 6
_MAX_TITLE_LENGTH = 200


class SectionName(NamedTuple):
    """The heading of a section in a summary: its line, and its title ("" if the address contains it)."""

    line: str
    title: str
    tokens: int


def format_full_names(entries: Sequence[OutlineEntry], count: Count) -> list[SectionName]:
    """Return the title and the address of each section: `## Title `address``."""
    return [_make_name(entry, format_one_line(entry.title), count) for entry in entries]


def format_short_names(entries: Sequence[OutlineEntry], count: Count) -> list[SectionName]:
    """Return the address of each section, with the title unless the last part is the title's slug."""
    return [
        _make_name(entry, "" if _has_title_as_slug(entry) else format_one_line(entry.title), count)
        for entry in entries
    ]


def format_addresses(entries: Sequence[OutlineEntry], count: Count) -> list[SectionName]:
    """Return the address of each section, without titles."""
    return [_make_name(entry, "", count) for entry in entries]


def format_one_line(title: str) -> str:
    """Return a title on one line, of limited length."""
    title = " ".join(title.split())
    return title if len(title) <= _MAX_TITLE_LENGTH else title[:_MAX_TITLE_LENGTH].rstrip() + " …"


def _has_title_as_slug(entry: OutlineEntry) -> bool:
    return entry.address.rpartition("/")[2] == make_heading_slug(entry.title)


def _make_name(entry: OutlineEntry, title: str, count: Count) -> SectionName:
    marks = "#" * max(1, min(entry.level, _MAX_HEADING_LEVEL))
    line = f"{marks} {title} `{entry.address}`" if title else f"{marks} `{entry.address}`"
    # The line end costs at most one token.
    return SectionName(line, title, count(line) + 1)


# A book has some ten thousand passages; reading one takes up to 20 µs.
MAX_PASSAGES = 200_000

# The markups in which a heading is a line of its section.
_MARKUPS_WITH_TITLE_LINES = (TextKind.RESTRUCTUREDTEXT, TextKind.ASCIIDOC)


def read_passages(text: TextFile, outline: TextOutline) -> list[list[Passage]]:
    """Return the passages of each section's own text, in order; repeated passages have a lower weight.

    At most MAX_PASSAGES are read, which limits the time for an adversarial text.
    """
    seen: set[str] = set()
    passages_by_section: list[list[Passage]] = []
    remaining = MAX_PASSAGES
    for entry in outline.entries:
        passages: list[Passage] = []
        for passage in islice(_read_entry_passages(text, entry), remaining):
            if passage.text in seen:
                passage = passage._replace(worth=passage.worth * REPEATED_SHARE)
            elif passage.text:
                seen.add(passage.text)
            passages.append(passage)
        remaining -= len(passages)
        passages_by_section.append(passages)
    return passages_by_section


def _read_entry_passages(text: TextFile, entry: OutlineEntry) -> Iterator[Passage]:
    body = read_body(text, entry)
    match text.kind:
        case TextKind.SOURCE:
            return read_source_passages(body, declares=entry.level > 0)
        case TextKind.LOG:
            return read_log_passages(body)
        case _:
            return read_prose_passages(body)


def read_body(text: TextFile, entry: OutlineEntry) -> str:
    """Return a section's own text without its heading; the declaration of source code is part of it."""
    document = text.document
    section = document.section_by_key(entry.address) if document is not None else None
    if section is not None:
        return text.text(section.body, section.end)
    own = text.text(entry.start, entry.end)
    if not entry.title or text.kind not in _MARKUPS_WITH_TITLE_LINES:
        return own
    # Only the line of the title is removed; rules above and below it contain no words.
    lines = LINE_END.split(own)
    title_index = entry.line - entry.first_line
    del lines[title_index : title_index + 1]
    return "\n".join(lines)


STYLES = ("structured", "outline", "lead")
MIN_BUDGET, MAX_BUDGET = 100, 20_000

# The default budget: a fraction of the original, within limits; more if the names of all sections need it.
_DEFAULT_DIVISOR, _MIN_DEFAULT, _MAX_DEFAULT = 8, 500, 4_000
_NAMES_FACTOR = 2.5
_MIN_DIVISOR = 3

# The share of a budget that full names may take; above it names are shortened.
_MAX_NAMES_SHARE = 0.5


class UnknownStyle(WorkspaceError):
    """Raised for an unknown style of summaries; `styles` are the known ones."""

    code = "UNKNOWN_STYLE"


class Summary(NamedTuple):
    """A summary of a text; `content` is Markdown.

    `named` are the sections that the content names, of `sections` in total. `included` and `total` count
    passages by kind. If `is_cut` is True, only the first MAX_PASSAGES were read. `completeness` is the share
    of the original's tokens that the content includes or names, from 0 to 1.
    """

    content: str
    style: str
    named: tuple[OutlineEntry, ...]
    sections: int
    included: Mapping[PassageKind, int]
    total: Mapping[PassageKind, int]
    tokens: int
    original_tokens: int
    budget: int
    completeness: float
    is_cut: bool


def check_style(style: str) -> None:
    """Raise UnknownStyle if the style is unknown."""
    if style not in STYLES:
        nearest = find_nearest(style, STYLES)
        suggestion = f"Did you mean '{nearest[0]}'? " if nearest else ""
        raise UnknownStyle(
            f"no summary style '{style[:100]}'",
            fix=f"{suggestion}Use one of: {', '.join(STYLES)}.",
            styles=list(STYLES),
            field="summary_style",
        )


def choose_default_budget(original: int, names: int) -> int:
    """Return the default token budget of a summary.

    `original` is the number of tokens of the text. `names` is the number of tokens of its section names.
    """
    default = max(_MIN_DEFAULT, min(original // _DEFAULT_DIVISOR, _MAX_DEFAULT))
    needed = min(int(names * _NAMES_FACTOR), original // _MIN_DIVISOR)
    return max(MIN_BUDGET, min(MAX_BUDGET, max(default, needed)))


def summarize(
    text: TextFile,
    outline: TextOutline,
    *,
    style: str = "structured",
    budget: int | None = None,
    count: Count,
) -> Summary:
    """Return the summary of a text: all sections are named, and the most important passages are included.

    `count` returns the number of tokens of a text. `budget` is the maximum for the content; by default it
    depends on the text's size. If not even the addresses of all sections fit, only the sections at the
    highest levels are named. Raises UnknownStyle.
    """
    check_style(style)
    entries = outline.entries
    sizes = [count(text.text(entry.start, entry.end)) for entry in entries]
    original_tokens = count(text.text())
    full_names = format_full_names(entries, count)
    if budget is None:
        budget = choose_default_budget(original_tokens, sum(name.tokens for name in full_names))
    passages = read_passages(text, outline)
    if style == "outline":
        names = _add_sizes(entries, full_names, sizes, budget, count)
    else:
        names = _fit_names(entries, full_names, budget, count)
    named = _choose_sections(entries, names, budget)
    remaining = budget - sum(names[position].tokens for position in named)
    choices = choose_passages(_list_choices(passages, entries, named, style, count), sizes, remaining)
    draft = _fit_budget(budget, _Draft(names, passages, named, choices), count)
    content = draft.content()
    chosen_passages = [passages[choice.section][choice.place] for choice in draft.chosen]
    chosen_texts = [_strip_cut(passage.text) for passage in chosen_passages]
    chosen_texts += [_strip_cut(names[position].title) for position in draft.named]
    return Summary(
        content,
        style,
        tuple(entries[position] for position in draft.named),
        len(entries),
        Counter(passage.kind for passage in chosen_passages),
        Counter(passage.kind for section_passages in passages for passage in section_passages),
        count(content),
        original_tokens,
        budget,
        round(min(1.0, sum(map(count, chosen_texts)) / original_tokens), 4) if original_tokens else 1.0,
        sum(map(len, passages)) >= MAX_PASSAGES,
    )


class _Draft(NamedTuple):
    """A draft of a summary: the names of sections, and the selected passages."""

    names: Sequence[SectionName]
    passages: Sequence[Sequence[Passage]]
    named: list[int]
    chosen: list[PassageChoice]

    def content(self) -> str:
        """Return the Markdown: a heading for each section, then a line for each of its passages."""
        places_by_section: dict[int, list[int]] = {}
        for choice in self.chosen:
            places_by_section.setdefault(choice.section, []).append(choice.place)
        lines: list[str] = []
        for position in sorted(self.named):
            lines.append(self.names[position].line)
            for index in sorted(places_by_section.get(position, ())):
                lines += _format_passage(self.passages[position][index])
        return "".join(f"{line}\n" for line in lines)


def _format_passage(passage: Passage) -> list[str]:
    """Return the lines of a passage: its text, then the note, which is not part of the text."""
    text = f"- {passage.text}"
    return [text, f"> {passage.note}"] if passage.note else [text]


def _fit_names(
    entries: Sequence[OutlineEntry], full_names: list[SectionName], budget: int, count: Count
) -> list[SectionName]:
    """Return the names of sections as fully as the budget allows."""
    for names in (full_names, format_short_names(entries, count)):
        if sum(name.tokens for name in names) <= budget * _MAX_NAMES_SHARE:
            return names
    if sum(name.tokens for name in names) <= budget:
        return names
    return format_addresses(entries, count)


def _add_sizes(
    entries: Sequence[OutlineEntry],
    full_names: list[SectionName],
    sizes: Sequence[int],
    budget: int,
    count: Count,
) -> list[SectionName]:
    """Return names with the lines and tokens of each section, subsections included, if they fit."""
    offsets = [0]
    for size in sizes:
        offsets.append(offsets[-1] + size)
    ends = [len(entries)] * len(entries)
    open_entries: list[int] = []
    for position, entry in enumerate(entries):
        while open_entries and entry.start >= entries[open_entries[-1]].tree_end:
            ends[open_entries.pop()] = position
        open_entries.append(position)
    names = []
    for position, (entry, name) in enumerate(zip(entries, full_names, strict=True)):
        tokens = offsets[ends[position]] - offsets[position]
        line = f"{name.line} lines {entry.line}-{entry.end_line}, ~{tokens} tokens"
        names.append(name._replace(line=line, tokens=count(line) + 1))
    if sum(name.tokens for name in names) <= budget:
        return names
    return (
        full_names
        if sum(name.tokens for name in full_names) <= budget
        else _fit_names(entries, full_names, budget, count)
    )


def _choose_sections(entries: Sequence[OutlineEntry], names: Sequence[SectionName], budget: int) -> list[int]:
    """Return the positions of the sections to name: all, or as many as fit, highest levels first."""
    if sum(name.tokens for name in names) <= budget:
        return list(range(len(entries)))
    named: list[int] = []
    remaining = budget
    for position in sorted(range(len(entries)), key=lambda position: (entries[position].level, position)):
        remaining -= names[position].tokens
        if remaining < 0:
            break
        named.append(position)
    return named


def _list_choices(
    passages: Sequence[Sequence[Passage]],
    entries: Sequence[OutlineEntry],
    named: Sequence[int],
    style: str,
    count: Count,
) -> list[PassageChoice]:
    """Return the possible choices from the named sections; deeper sections have slightly lower weights."""
    choices: list[PassageChoice] = []
    for section in named:
        depth = 1.0 + max(entries[section].level - 1, 0) / 10
        for index, passage in enumerate(passages[section]):
            weight = _weigh(passage, index, style)
            if weight > 0:
                cost = sum(count(line) + 1 for line in _format_passage(passage))
                choices.append(PassageChoice(section, index, weight / depth, cost))
    return choices


def _weigh(passage: Passage, index: int, style: str) -> float:
    """Return the weight of a passage in a style: 0 in an outline; in leads only its position counts."""
    if style == "structured":
        return passage.worth
    if style == "outline" or passage.kind in (
        PassageKind.ROW,
        PassageKind.TABLE,
        PassageKind.CODE,
        PassageKind.TASK,
    ):
        return 0.0
    return WORTH[PassageKind.LEAD] if passage.is_first else WORTH[PassageKind.SENTENCE] / (index + 1)


def _fit_budget(budget: int, draft: _Draft, count: Count) -> _Draft:
    """Return a draft within the budget.

    The tokens of the content can differ from the sum over its lines, so passages are removed until it fits.
    """
    while (excess := count(draft.content()) - budget) > 0 and (draft.chosen or draft.named):
        removed = max(1, excess // 20)
        if draft.chosen:
            draft = draft._replace(chosen=draft.chosen[:-removed])
        else:
            draft = draft._replace(named=draft.named[:-removed])
    return draft


def _strip_cut(text: str) -> str:
    return text.removesuffix(CUT)
