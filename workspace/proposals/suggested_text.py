"""The text of a suggestion, and the Markdown that it replaces.

A suggestion replaces exactly its quote. So the quote is Markdown source that occurs once, and neither begins
nor ends inside a link, a code span or emphasis. The pages quote whole lines of the source, because a
selection of rendered text lacks its marks.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from workspace.errors import WorkspaceError
from workspace.markdown.inline import InlineBoundaries
from workspace.markdown.outline import find_fenced_texts
from workspace.proposals.comments import find_word_spans
from workspace.proposals.events import MAX_QUOTE_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Iterable

INFO = "suggestion"
"""The info string of the code fence of a suggestion."""


class SuggestionRefused(WorkspaceError):
    """An error: a comment has no suggestion, or its quoted words cannot be replaced."""

    code: ClassVar[str] = "SUGGESTION_REFUSED"


class Suggestion(NamedTuple):
    """The replacement of the quoted words, and the rest of the comment's text."""

    new_text: str
    other_text: str


def read_suggestion(text: str) -> Suggestion | None:
    """Return the suggestion of a comment; None unless the comment has exactly one."""
    fences = find_fenced_texts(text, INFO) if INFO in text else []
    if len(fences) != 1:
        return None
    [(start, end, content)] = fences
    lines = text.split("\n")
    other_text = "\n".join([*lines[:start], "", *lines[end:]]).strip()
    return Suggestion(content.removesuffix("\n"), other_text)


def find_replaced_text(text: str, quote: str, address: str) -> str:
    """Return the part of a text that a quote of its source repeats; white space may differ.

    Raises SuggestionRefused unless it occurs once and contains whole inline constructs.
    """
    spans = _find_source_spans(text, quote)
    if not spans and any(find_word_spans(text, quote)):
        raise SuggestionRefused(
            f"the quote lacks the Markdown marks of {address}",
            fix='Quote the source, such as **bold** and [a link](page.md): "Suggest a change" inserts it.',
            matches=0,
        )
    if len(spans) != 1:
        raise make_ambiguous_error(len(spans), address)
    [(start, end)] = spans
    boundaries = InlineBoundaries(text)
    if boundaries.is_inside(start) or boundaries.is_inside(end):
        raise SuggestionRefused(
            f"the quote begins or ends inside a link, a code span or emphasis of {address}",
            fix="Quote all of it, or the whole line.",
        )
    return text[start:end]


def find_source_lines(text: str, quote: str, address: str) -> str:
    """Return the whole lines of a text that contain a quote of its source or of its rendered text.

    A link, a code span or emphasis that continues on other lines includes these lines. If the lines are
    longer than a quote, return the quoted words with the whole inline Markdown around them. Raises
    SuggestionRefused for a quote that does not occur exactly once, or is too long.
    """
    spans = [*_find_source_spans(text, quote), *find_word_spans(text, quote)]
    line_spans = {(text.rfind("\n", 0, start) + 1, _find_line_end(text, end)) for start, end in spans}
    if len(line_spans) != 1:
        raise make_ambiguous_error(len(line_spans), address)
    boundaries = InlineBoundaries(text)
    start, end = _expand_to_lines(text, *line_spans.pop(), boundaries)
    lines = text[start:end].strip()
    if len(lines) > MAX_QUOTE_CHARACTERS:
        start, end = _expand_to_words(text, *spans[0], boundaries)
        lines = text[start:end].strip()
    if len(lines) > MAX_QUOTE_CHARACTERS:
        raise SuggestionRefused(
            f"the lines have {len(lines):,} characters; a suggestion replaces at most {MAX_QUOTE_CHARACTERS}",
            fix="Select less text, or edit the document.",
        )
    return find_replaced_text(text, lines, address)


def make_ambiguous_error(count: int, address: str) -> SuggestionRefused:
    """Return the error of quoted words that do not occur exactly once."""
    return SuggestionRefused(
        f"the quoted words occur {count} times in {address}",
        fix="Comment again, and quote more of the text around them; or edit the section yourself."
        if count
        else "Comment again, and quote the current text; or edit the section yourself.",
        matches=count,
    )


def _find_source_spans(text: str, quote: str) -> list[tuple[int, int]]:
    """Return the start and the end of each occurrence of a quote; its line breaks are ignored."""
    pattern = r"\s+".join(re.escape(word) for word in quote.split())
    # Occurrences that overlap are ambiguous, too.
    matches: Iterable[re.Match[str]] = re.finditer(f"(?=({pattern}))", text) if pattern else ()
    return [match.span(1) for match in matches]


def _expand_to_lines(text: str, start: int, end: int, boundaries: InlineBoundaries) -> tuple[int, int]:
    """Return the start and the end of lines, with the lines on which their inline Markdown continues."""
    for _ in range(_MAX_EXPANSIONS):
        if not start or not boundaries.is_inside(start):
            break
        start = text.rfind("\n", 0, start - 1) + 1
    for _ in range(_MAX_EXPANSIONS):
        if end >= len(text) or not boundaries.is_inside(end):
            break
        end = _find_line_end(text, end + 1)
    return start, end


def _find_line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def _expand_to_words(text: str, start: int, end: int, boundaries: InlineBoundaries) -> tuple[int, int]:
    """Return the start and the end of the words of a part of a text, with the inline Markdown around them."""
    words = [match.span() for match in re.finditer(r"\S+", text)]
    starts = [word_start for word_start, _ in words if word_start <= start][: -_MAX_EXPANSIONS - 1 : -1]
    ends = [word_end for _, word_end in words if word_end >= end][:_MAX_EXPANSIONS]
    return (
        next((item for item in starts if not boundaries.is_inside(item)), start),
        next((item for item in ends if not boundaries.is_inside(item)), end),
    )


_MAX_EXPANSIONS = 60  # a quote of more lines or words is usually too long
