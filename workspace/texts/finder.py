"""Find a part of a text by its address, its number, or the words of its heading."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from workspace.document.addresses import (
    SectionNotFound,
    find_sections_by_name,
    read_fragment,
    resolve_section,
)
from workspace.errors import SuggestionKind, SuggestionSource, WorkspaceError
from workspace.markdown.slugs import PREAMBLE, make_file_slug, make_heading_slug
from workspace.nearest import find_nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workspace.texts.headings import OutlineEntry, TextOutline
    from workspace.texts.text_file import TextFile

_MAX_DISPLAYED_LENGTH = 200
_MAX_CANDIDATES = 5
_MAX_AMBIGUOUS_CANDIDATES = 100
_MAX_LISTED_LINES = 20

# Transliteration is slow, and a text may have a hundred thousand headings.
_MAX_TRANSLITERATED_HEADINGS = 2000

# Only so many characters of a heading are compared; a longer query is not compared with headings.
_MAX_COMPARED_LENGTH = 2000

_SECTION_WORD = r"(?:section|sec\.|chapter|part|appendix|§)"
_NUMBER = r"\d{1,9}(?:\.\d{1,9}){0,20}"
_QUERY_NUMBER = re.compile(rf"{_SECTION_WORD}? ?({_NUMBER})[.):]?(?: (.*))?", re.IGNORECASE | re.DOTALL)
_HEADING_NUMBER = re.compile(rf"(?:{_SECTION_WORD} ?)?({_NUMBER})[.):]?(?= |$)", re.IGNORECASE)
_HEADING_MARKS = re.compile(r"^#{1,6} | #+$|[`*]|\{(?::|/\*)?[ \t]*#[^{}]*\}$")


class AmbiguousSection(WorkspaceError):
    """An error: a query matches several parts of a text.

    `candidates` are their addresses, titles, lines and parents, for at most 100 parts.
    """

    code: ClassVar[str] = "AMBIGUOUS_SECTION"


class _SectionQuery(NamedTuple):
    """A query: its text, its words folded for comparison, its number, and the words after the number."""

    text: str
    words: str
    number: tuple[int, ...]
    words_after_number: str


def find_entry(text: TextFile, outline: TextOutline, query_text: str) -> OutlineEntry:
    """Return the part of a text that a query matches; it must be the only match.

    The first criterion with a match determines the result:

    - the address, or another name of the part, such as an HTML id or the slug of its heading
    - the number in a heading, then the number in the outline; words after the number must also match
    - the words of the heading, without case
    - the letters and digits of the heading
    - the words of the heading without its number
    - the beginning of the words, with or without the number, or of the address

    Raises AmbiguousSection, SectionNotFound, and InvalidAddress for a task's address.
    """
    query = _parse_query(query_text)
    for criterion in (
        _find_by_address,
        _find_by_number,
        _find_by_words,
        _find_by_letters,
        _find_by_title_without_number,
        _find_by_prefix,
    ):
        matches = criterion(text, outline, query)
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise _make_ambiguous_error(text, outline, query, matches)
    if text.document is not None and read_fragment(query.text).task is not None:
        resolve_section(text.document, query.text)
    raise _make_not_found_error(text, outline, query)


def _parse_query(query_text: str) -> _SectionQuery:
    name = query_text.strip()
    words = fold_text(_HEADING_MARKS.sub("", name[: _MAX_COMPARED_LENGTH + 1]))
    match = _QUERY_NUMBER.fullmatch(words)
    return _SectionQuery(
        name, words, _parse_number(match[1]) if match else (), (match[2] or "") if match else ""
    )


def fold_text(text: str) -> str:
    """Return text folded for comparison: NFKC, case-folded, with single spaces."""
    folded_text = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded_text).split())


def _parse_number(dotted_number: str) -> tuple[int, ...]:
    return tuple(map(int, dotted_number.split(".")))


def _find_by_address(text: TextFile, outline: TextOutline, query: _SectionQuery) -> Sequence[OutlineEntry]:
    for name in dict.fromkeys((query.text, query.text.removeprefix("#"))):
        matches = _find_by_name(text, outline, name)
        if matches:
            return matches
    return ()


def _find_by_name(text: TextFile, outline: TextOutline, name: str) -> Sequence[OutlineEntry]:
    """Return the parts whose address or other name is `name`. In a document, names resolve as in a link."""
    document = text.document
    if document is not None and document.sections:
        return [outline.entries[section.position] for section in find_sections_by_name(document, name)]
    entry = outline.find_by_address(name)
    return (entry,) if entry else [item for item in outline.entries if _get_last_name(item) == name]


def _get_last_name(entry: OutlineEntry) -> str:
    """Return the last part of an address, which is the part's own name."""
    return entry.address.rpartition("/")[2]


def _find_by_number(text: TextFile, outline: TextOutline, query: _SectionQuery) -> Sequence[OutlineEntry]:
    if not query.number:
        return ()
    matches = [entry for entry in outline.entries if _read_heading_number(entry) == query.number]
    if query.words_after_number:
        return [entry for entry in matches if fold_text(entry.title).endswith(query.words_after_number)] or [
            entry
            for entry in outline.entries
            if entry.number
            and _parse_number(entry.number) == query.number
            and fold_text(entry.title) == query.words_after_number
        ]
    dotted_number = ".".join(map(str, query.number))
    return matches or [entry for entry in outline.entries if entry.number == dotted_number]


def _read_heading_number(entry: OutlineEntry) -> tuple[int, ...]:
    """Return the number at the beginning of a heading; return () without a number."""
    match = _HEADING_NUMBER.match(fold_text(entry.title[:_MAX_DISPLAYED_LENGTH]))
    return _parse_number(match[1]) if match else ()


def _find_by_words(text: TextFile, outline: TextOutline, query: _SectionQuery) -> Sequence[OutlineEntry]:
    return _match_titles(outline, query.words, fold_text)


def _find_by_letters(text: TextFile, outline: TextOutline, query: _SectionQuery) -> Sequence[OutlineEntry]:
    """Return matches by letters and digits only, without punctuation, symbols and spaces."""
    return _match_titles(outline, _keep_letters_and_digits(query.words), _keep_letters_and_digits)


def _find_by_title_without_number(
    text: TextFile, outline: TextOutline, query: _SectionQuery
) -> Sequence[OutlineEntry]:
    """Return matches by the words after the number at the beginning of a heading."""
    return _match_titles(outline, query.words, _strip_heading_number)


def _strip_heading_number(title: str) -> str:
    folded_title = fold_text(title)
    match = _HEADING_NUMBER.match(folded_title)
    return folded_title[match.end() :].lstrip(" -\u2013\u2014") if match else ""


def _match_titles(
    outline: TextOutline, folded_query: str, fold: Callable[[str], str]
) -> Sequence[OutlineEntry]:
    if not folded_query or len(folded_query) > _MAX_COMPARED_LENGTH:
        return ()
    return [entry for entry in outline.entries if fold(entry.title[:_MAX_COMPARED_LENGTH]) == folded_query]


def _keep_letters_and_digits(words: str) -> str:
    return "".join(character for character in fold_text(words) if character.isalnum())


def _find_by_prefix(text: TextFile, outline: TextOutline, query: _SectionQuery) -> Sequence[OutlineEntry]:
    """Return matches by the beginning of the words, with or without their number, or of the address.

    A part whose parent's address also matches is not a match by address.
    """
    if not query.words or len(query.words) > _MAX_COMPARED_LENGTH:
        return ()
    return [entry for entry in outline.entries if _has_prefix(outline, entry, query)]


def _has_prefix(outline: TextOutline, entry: OutlineEntry, query: _SectionQuery) -> bool:
    title = entry.title[:_MAX_COMPARED_LENGTH]
    if fold_text(title).startswith(query.words) or _strip_heading_number(title).startswith(query.words):
        return True
    parent_address = "" if entry.parent is None else outline.entries[entry.parent].address
    return entry.address.startswith(query.text) and not parent_address.startswith(query.text)


def _make_ambiguous_error(
    text: TextFile, outline: TextOutline, query: _SectionQuery, matches: Sequence[OutlineEntry]
) -> AmbiguousSection:
    lines = ", ".join(str(entry.line) for entry in matches[:_MAX_LISTED_LINES])
    ellipsis = ", …" if len(matches) > _MAX_LISTED_LINES else ""
    candidates = [
        {
            "slug": entry.address,
            "title": entry.title,
            "line": entry.line,
            "parent": None if entry.parent is None else outline.entries[entry.parent].address,
        }
        for entry in matches[:_MAX_AMBIGUOUS_CANDIDATES]
    ]
    return AmbiguousSection(
        f"'{_shorten_name(query)}' names {len(matches):,} sections of {text.path}, "
        f"on lines {lines}{ellipsis}",
        fix=f"Use the full address of one, such as '{matches[0].address}'.",
        candidates=candidates,
        total=len(matches),
        wanted=_shorten_name(query),
    )


def _make_not_found_error(text: TextFile, outline: TextOutline, query: _SectionQuery) -> SectionNotFound:
    nearest = _find_nearest_addresses(outline, query)
    addresses = [entry.address for entry in outline.entries]
    suggestion_source = None
    if nearest:
        fix = f"Did you mean '{nearest[0]}'?"
    elif addresses == [PREAMBLE]:
        fix = f"The text has no sections: read the full text, or '{PREAMBLE}'."
    else:
        fix = "Name a section of the text."
        suggestion_source = SuggestionSource(SuggestionKind.SECTIONS, text.path)
    return SectionNotFound(
        f"no section '{_shorten_name(query)}' in {text.path}",
        fix=fix,
        suggestion_source=suggestion_source,
        candidates=nearest or addresses[:_MAX_CANDIDATES],
        wanted=_shorten_name(query),
    )


def _shorten_name(query: _SectionQuery) -> str:
    return (
        query.text if len(query.text) <= _MAX_DISPLAYED_LENGTH else query.text[:_MAX_DISPLAYED_LENGTH] + "…"
    )


def _find_nearest_addresses(outline: TextOutline, query: _SectionQuery) -> list[str]:
    """Return the addresses most similar to the query, by words and by slug, else by transliteration."""
    if not query.text or len(query.text) > _MAX_DISPLAYED_LENGTH:
        return []
    address_by_words: dict[str, str] = {}
    for entry in outline.entries:
        address_by_words.setdefault(fold_text(entry.title[:_MAX_DISPLAYED_LENGTH]), entry.address)
    address_by_words.pop("", None)
    results = [address_by_words[words] for words in find_nearest(query.words, address_by_words)]
    results += find_nearest(make_heading_slug(query.words), [entry.address for entry in outline.entries])
    if not results:
        address_by_slug: dict[str, str] = {}
        for entry in outline.entries[:_MAX_TRANSLITERATED_HEADINGS]:
            address_by_slug.setdefault(make_file_slug(entry.title[:_MAX_DISPLAYED_LENGTH]), entry.address)
        address_by_slug.pop("", None)
        results = [
            address_by_slug[slug]
            for slug in find_nearest(make_file_slug(query.text) or query.text, address_by_slug)
        ]
    return list(dict.fromkeys(results))[:_MAX_CANDIDATES]
