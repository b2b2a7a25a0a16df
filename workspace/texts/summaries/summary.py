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
from workspace.texts.summaries.passages import CUT_MARK, REPETITION_FACTOR, WEIGHTS, Passage, PassageKind
from workspace.texts.summaries.prose import read_prose_passages
from workspace.texts.text_file import TextKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from workspace.texts.headings import OutlineEntry, TextOutline
    from workspace.texts.summaries.passages import Passage
    from workspace.texts.text_file import TextFile

    TokenCounter = Callable[[str], int]

# The cost of a line in addition to its tokens, and the number of tokens below which a passage has a lower
# weight.
_LINE_OVERHEAD_TOKENS = 6
_MIN_FULL_WEIGHT_TOKENS = 14


class PassageCandidate(NamedTuple):
    """A candidate passage: its section, its position there, its weight, and its cost in tokens."""

    section: int
    position: int
    weight: float
    cost: int


def choose_passages(
    candidates: Sequence[PassageCandidate], sizes: Sequence[int], remaining_tokens: int
) -> list[PassageCandidate]:
    """Return the best candidates that fit in `remaining_tokens`, best first.

    `sizes` are the numbers of tokens of the sections.

    The choice is greedy by weight per token. Each chosen passage lowers the weight of the other passages of
    its section, relative to the section's fair share. Shares are proportional to the square roots of the
    sizes, so that a long section gets more, but not all. Equal weights are ordered by position, so that the
    result is deterministic.
    """
    candidates_by_section: dict[int, list[PassageCandidate]] = {}
    for candidate in candidates:
        candidates_by_section.setdefault(candidate.section, []).append(candidate)
    for section_candidates in candidates_by_section.values():
        # The best candidate is the last one, because it is removed from the end.
        section_candidates.sort(key=lambda item: (_compute_weight_per_token(item), -item.position))
    size_roots = {section: math.sqrt(sizes[section] + 1) for section in candidates_by_section}
    fair_tokens_per_root = max(remaining_tokens, 1) / (sum(size_roots.values()) or 1.0)
    spent_tokens = dict.fromkeys(candidates_by_section, 0)

    def rank(section: int) -> tuple[float, int]:
        fair_tokens = fair_tokens_per_root * size_roots[section]
        weight = _compute_weight_per_token(candidates_by_section[section][-1])
        return -weight * fair_tokens / (fair_tokens + spent_tokens[section]), section

    heap = [rank(section) for section in candidates_by_section]
    heapify(heap)
    selection: list[PassageCandidate] = []
    while heap and remaining_tokens > 0:
        section = heap[0][1]
        candidate = candidates_by_section[section].pop()
        if candidate.cost <= remaining_tokens:
            selection.append(candidate)
            remaining_tokens -= candidate.cost
            spent_tokens[section] += candidate.cost
        if candidates_by_section[section]:
            heapreplace(heap, rank(section))
        else:
            heappop(heap)
    return selection


def _compute_weight_per_token(candidate: PassageCandidate) -> float:
    return (
        candidate.weight
        * min(1.0, candidate.cost / _MIN_FULL_WEIGHT_TOKENS)
        / (candidate.cost + _LINE_OVERHEAD_TOKENS)
    )


_MAX_HEADING_LEVEL = 6
_MAX_TITLE_LENGTH = 200


class SectionName(NamedTuple):
    """The heading of a section in a summary: its line, and its title ("" if the line has only the address).

    `tokens` is the number of tokens of the line with its line end.
    """

    line: str
    title: str
    tokens: int


def format_full_names(entries: Sequence[OutlineEntry], count_tokens: TokenCounter) -> list[SectionName]:
    """Return the title and the address of each section: `## Title `address``."""
    return [_make_name(entry, format_one_line(entry.title), count_tokens) for entry in entries]


def format_short_names(entries: Sequence[OutlineEntry], count_tokens: TokenCounter) -> list[SectionName]:
    """Return the address of each section, with the title, unless the address ends in the title's slug."""
    return [
        _make_name(entry, "" if _has_title_as_slug(entry) else format_one_line(entry.title), count_tokens)
        for entry in entries
    ]


def format_addresses(entries: Sequence[OutlineEntry], count_tokens: TokenCounter) -> list[SectionName]:
    """Return the address of each section, without titles."""
    return [_make_name(entry, "", count_tokens) for entry in entries]


def format_one_line(title: str) -> str:
    """Return a title on one line, of limited length."""
    title = " ".join(title.split())
    return title if len(title) <= _MAX_TITLE_LENGTH else title[:_MAX_TITLE_LENGTH].rstrip() + " …"


def _has_title_as_slug(entry: OutlineEntry) -> bool:
    return entry.address.rpartition("/")[2] == make_heading_slug(entry.title)


def _make_name(entry: OutlineEntry, title: str, count_tokens: TokenCounter) -> SectionName:
    marks = "#" * max(1, min(entry.level, _MAX_HEADING_LEVEL))
    line = f"{marks} {title} `{entry.address}`" if title else f"{marks} `{entry.address}`"
    # The line end costs at most one token.
    return SectionName(line, title, count_tokens(line) + 1)


# A book has some ten thousand passages; reading one takes up to 20 µs.
MAX_PASSAGES = 200_000

# The markups in which a heading is a line of its section.
_MARKUPS_WITH_TITLE_LINES = (TextKind.RESTRUCTUREDTEXT, TextKind.ASCIIDOC)


def read_passages(text: TextFile, outline: TextOutline) -> list[list[Passage]]:
    """Return the passages of each section's own text, in order; repeated passages have a lower weight.

    At most MAX_PASSAGES are read, which limits the time for an adversarial text.
    """
    seen_texts: set[str] = set()
    passages_by_section: list[list[Passage]] = []
    remaining_passages = MAX_PASSAGES
    for entry in outline.entries:
        passages: list[Passage] = []
        for passage in islice(_read_entry_passages(text, entry), remaining_passages):
            if passage.text in seen_texts:
                passage = passage._replace(weight=passage.weight * REPETITION_FACTOR)
            elif passage.text:
                seen_texts.add(passage.text)
            passages.append(passage)
        remaining_passages -= len(passages)
        passages_by_section.append(passages)
    return passages_by_section


def _read_entry_passages(text: TextFile, entry: OutlineEntry) -> Iterator[Passage]:
    body = read_body(text, entry)
    match text.kind:
        case TextKind.SOURCE:
            return read_source_passages(body, has_declaration=entry.level > 0)
        case TextKind.LOG:
            return read_log_passages(body)
        case _:
            return read_prose_passages(body)


def read_body(text: TextFile, entry: OutlineEntry) -> str:
    """Return a section's own text without its heading; the declaration of source code is part of it."""
    document = text.document
    section = document.section_by_key(entry.address) if document is not None else None
    if section is not None:
        return text.text(section.body_start, section.end)
    own_text = text.text(entry.start, entry.end)
    if not entry.title or text.kind not in _MARKUPS_WITH_TITLE_LINES:
        return own_text
    # Only the line of the title is removed; rules above and below it contain no words.
    lines = LINE_END.split(own_text)
    title_index = entry.line - entry.first_line
    del lines[title_index : title_index + 1]
    return "\n".join(lines)


STYLES = ("structured", "outline", "lead")
MIN_BUDGET, MAX_BUDGET = 100, 20_000
"""The minimum and the maximum budget of a summary, in tokens."""

# The default budget: a fraction of the original's tokens, within limits; more if the names of all sections
# need more.
_DEFAULT_BUDGET_DIVISOR, _MIN_DEFAULT_BUDGET, _MAX_DEFAULT_BUDGET = 8, 500, 4_000
_NAMES_FACTOR = 2.5
_MAX_BUDGET_DIVISOR = 3

# The maximum fraction of a budget for full names; above it, names are shortened.
_MAX_NAMES_FRACTION = 0.5


class UnknownStyle(WorkspaceError):
    """An error: a summary style is unknown. `styles` are the known styles."""

    code = "UNKNOWN_STYLE"


class Summary(NamedTuple):
    """A summary of a text; `content` is Markdown.

    `named_entries` are the sections that the content names, of `section_count` in total. `included_counts`
    and `total_counts` count passages by kind. If `is_cut` is True, only the first MAX_PASSAGES were read.
    `tokens` and `original_tokens` count the tokens of the content and of the text; `budget` is the maximum of
    `tokens`. `completeness` is the share of the text's tokens that the passages and titles in the content
    have, from 0 to 1.
    """

    content: str
    style: str
    named_entries: tuple[OutlineEntry, ...]
    section_count: int
    included_counts: Mapping[PassageKind, int]
    total_counts: Mapping[PassageKind, int]
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


def choose_default_budget(original_tokens: int, name_tokens: int) -> int:
    """Return the default token budget of a summary.

    `original_tokens` counts the tokens of the text, and `name_tokens` those of its section names.
    """
    default_budget = max(
        _MIN_DEFAULT_BUDGET, min(original_tokens // _DEFAULT_BUDGET_DIVISOR, _MAX_DEFAULT_BUDGET)
    )
    needed_budget = min(int(name_tokens * _NAMES_FACTOR), original_tokens // _MAX_BUDGET_DIVISOR)
    return max(MIN_BUDGET, min(MAX_BUDGET, max(default_budget, needed_budget)))


def summarize(
    text: TextFile,
    outline: TextOutline,
    *,
    style: str = "structured",
    budget: int | None = None,
    count_tokens: TokenCounter,
) -> Summary:
    """Return the summary of a text: all sections are named, and the most important passages are included.

    `count_tokens` returns the number of tokens of a text. `budget` is the maximum for the content; by default
    it depends on the text's size. If not even the addresses of all sections fit, only the sections at the
    highest levels are named. Raises UnknownStyle.
    """
    check_style(style)
    entries = outline.entries
    sizes = [count_tokens(text.text(entry.start, entry.end)) for entry in entries]
    original_tokens = count_tokens(text.text())
    full_names = format_full_names(entries, count_tokens)
    if budget is None:
        budget = choose_default_budget(original_tokens, sum(name.tokens for name in full_names))
    passages = read_passages(text, outline)
    if style == "outline":
        names = _add_sizes(entries, full_names, sizes, budget, count_tokens)
    else:
        names = _fit_names(entries, full_names, budget, count_tokens)
    named_positions = _choose_sections(entries, names, budget)
    remaining_tokens = budget - sum(names[position].tokens for position in named_positions)
    selection = choose_passages(
        _list_candidates(passages, entries, named_positions, style, count_tokens), sizes, remaining_tokens
    )
    draft = _fit_budget(budget, _Draft(names, passages, named_positions, selection), count_tokens)
    content = draft.format_content()
    chosen_passages = [passages[candidate.section][candidate.position] for candidate in draft.selection]
    chosen_texts = [_strip_cut_mark(passage.text) for passage in chosen_passages]
    chosen_texts += [_strip_cut_mark(names[position].title) for position in draft.named_positions]
    return Summary(
        content,
        style,
        tuple(entries[position] for position in draft.named_positions),
        len(entries),
        Counter(passage.kind for passage in chosen_passages),
        Counter(passage.kind for section_passages in passages for passage in section_passages),
        count_tokens(content),
        original_tokens,
        budget,
        round(min(1.0, sum(map(count_tokens, chosen_texts)) / original_tokens), 4)
        if original_tokens
        else 1.0,
        sum(map(len, passages)) >= MAX_PASSAGES,
    )


class _Draft(NamedTuple):
    """A draft of a summary: the names of sections, and the selected passages."""

    names: Sequence[SectionName]
    passages: Sequence[Sequence[Passage]]
    named_positions: list[int]
    selection: list[PassageCandidate]

    def format_content(self) -> str:
        """Return the Markdown: a heading for each section, then a line for each of its passages."""
        indexes_by_section: dict[int, list[int]] = {}
        for candidate in self.selection:
            indexes_by_section.setdefault(candidate.section, []).append(candidate.position)
        lines: list[str] = []
        for position in sorted(self.named_positions):
            lines.append(self.names[position].line)
            for index in sorted(indexes_by_section.get(position, ())):
                lines += _format_passage(self.passages[position][index])
        return "".join(f"{line}\n" for line in lines)


def _format_passage(passage: Passage) -> list[str]:
    """Return the lines of a passage: its text, then the note, which is not part of the text."""
    text = f"- {passage.text}"
    return [text, f"> {passage.note}"] if passage.note else [text]


def _fit_names(
    entries: Sequence[OutlineEntry], full_names: list[SectionName], budget: int, count_tokens: TokenCounter
) -> list[SectionName]:
    """Return the names of sections as fully as the budget allows."""
    for names in (full_names, format_short_names(entries, count_tokens)):
        if sum(name.tokens for name in names) <= budget * _MAX_NAMES_FRACTION:
            return names
    if sum(name.tokens for name in names) <= budget:
        return names
    return format_addresses(entries, count_tokens)


def _add_sizes(
    entries: Sequence[OutlineEntry],
    full_names: list[SectionName],
    sizes: Sequence[int],
    budget: int,
    count_tokens: TokenCounter,
) -> list[SectionName]:
    """Return names with the lines and tokens of each section with its subsections, or names that fit."""
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
        names.append(name._replace(line=line, tokens=count_tokens(line) + 1))
    if sum(name.tokens for name in names) <= budget:
        return names
    return (
        full_names
        if sum(name.tokens for name in full_names) <= budget
        else _fit_names(entries, full_names, budget, count_tokens)
    )


def _choose_sections(entries: Sequence[OutlineEntry], names: Sequence[SectionName], budget: int) -> list[int]:
    """Return the positions of the sections to name: all, or as many as fit, highest levels first."""
    if sum(name.tokens for name in names) <= budget:
        return list(range(len(entries)))
    named_positions: list[int] = []
    remaining_tokens = budget
    for position in sorted(range(len(entries)), key=lambda position: (entries[position].level, position)):
        remaining_tokens -= names[position].tokens
        if remaining_tokens < 0:
            break
        named_positions.append(position)
    return named_positions


def _list_candidates(
    passages: Sequence[Sequence[Passage]],
    entries: Sequence[OutlineEntry],
    named_positions: Sequence[int],
    style: str,
    count_tokens: TokenCounter,
) -> list[PassageCandidate]:
    """Return the passages of the named sections with their weights, which are lower in deeper sections."""
    candidates: list[PassageCandidate] = []
    for section in named_positions:
        depth_divisor = 1.0 + max(entries[section].level - 1, 0) / 10
        for index, passage in enumerate(passages[section]):
            weight = _weigh(passage, index, style)
            if weight > 0:
                cost = sum(count_tokens(line) + 1 for line in _format_passage(passage))
                candidates.append(PassageCandidate(section, index, weight / depth_divisor, cost))
    return candidates


def _weigh(passage: Passage, index: int, style: str) -> float:
    """Return the weight of a passage in a style.

    It is the passage's own weight in "structured", and 0 in "outline". In "lead", it decreases with the
    position in the section, and is 0 for tables, code and tasks.
    """
    if style == "structured":
        return passage.weight
    if style == "outline" or passage.kind in (
        PassageKind.ROW,
        PassageKind.TABLE,
        PassageKind.CODE,
        PassageKind.TASK,
    ):
        return 0.0
    return WEIGHTS[PassageKind.LEAD] if passage.is_first else WEIGHTS[PassageKind.SENTENCE] / (index + 1)


def _fit_budget(budget: int, draft: _Draft, count_tokens: TokenCounter) -> _Draft:
    """Return a draft within the budget.

    The number of tokens of the content can differ from the sum over its lines. So passages, and then names,
    are removed until the content fits.
    """
    while (excess := count_tokens(draft.format_content()) - budget) > 0 and (
        draft.selection or draft.named_positions
    ):
        removed_count = max(1, excess // 20)
        if draft.selection:
            draft = draft._replace(selection=draft.selection[:-removed_count])
        else:
            draft = draft._replace(named_positions=draft.named_positions[:-removed_count])
    return draft


def _strip_cut_mark(text: str) -> str:
    return text.removesuffix(CUT_MARK)
