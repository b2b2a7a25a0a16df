"""Search for a part of a text by address, else by number, words, or the beginning of either."""

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
from workspace.errors import HintKind, SuggestionSource, WorkspaceError
from workspace.markdown.slugs import PREAMBLE, make_file_slug, make_heading_slug
from workspace.nearest import find_nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workspace.texts.headings import OutlineEntry, TextOutline
    from workspace.texts.text_file import TextFile

_SHOWN = 200
_CANDIDATES = 5
_LISTED = 100
_LINES = 20

# Transliterating takes time, and a text may have a hundred thousand headings.
_TRANSLITERATED = 2000

# What nobody means as a heading is not compared with headings.
_LONGEST = 2000

_WORD = r"(?:section|sec\.|chapter|part|appendix|§)"
_PARTS = r"\d{1,9}(?:\.\d{1,9}){0,20}"
_WANTED = re.compile(rf"{_WORD}? ?({_PARTS})[.):]?(?: (.*))?", re.IGNORECASE | re.DOTALL)
_WRITTEN = re.compile(rf"(?:{_WORD} ?)?({_PARTS})[.):]?(?= |$)", re.IGNORECASE)
_MARKS = re.compile(r"^#{1,6} | #+$|[`*]|\{(?::|/\*)?[ \t]*#[^{}]*\}$")


class AmbiguousSection(WorkspaceError):
    """Several parts of a text answer to what was asked for. `candidates` are their addresses and lines."""

    code: ClassVar[str] = "AMBIGUOUS_SECTION"


class _SectionQuery(NamedTuple):
    """A query: its text, its words folded for comparison, its number, and the words after the number."""

    name: str
    words: str
    number: tuple[int, ...]
    rest: str


def find_entry(text: TextFile, outline: TextOutline, wanted: str) -> OutlineEntry:
    """Return the part of a text that is meant; the first of these that names any, and it must name one alone.

    Its address (also another name of it: an HTML id, the slug of its own heading); its number as a heading
    says it, else as its position in the outline; the words of its heading, whatever their case and marks;
    then the beginning of those or of an address.

    Raises AmbiguousSection, SectionNotFound, and InvalidAddress for a task's address.
    """
    asked = _read(wanted)
    for step in (_by_address, _by_number, _by_words, _by_letters, _by_words_alone, _by_beginning):
        found = step(text, outline, asked)
        if len(found) == 1:
            return found[0]
        if found:
            raise _ambiguous(text, outline, asked, found)
    if text.document is not None and read_fragment(asked.name).task is not None:
        resolve_section(text.document, asked.name)
    raise _not_found(text, outline, asked)


def _read(wanted: str) -> _SectionQuery:
    name = wanted.strip()
    words = fold_text(_MARKS.sub("", name[: _LONGEST + 1]))
    found = _WANTED.fullmatch(words)
    return _SectionQuery(name, words, _number(found[1]) if found else (), (found[2] or "") if found else "")


def fold_text(words: str) -> str:
    """Return words folded for comparison: compatible forms, case and spaces (Unicode, NFKC_Casefold)."""
    once = unicodedata.normalize("NFKC", words).casefold()
    return " ".join(unicodedata.normalize("NFKC", once).split())


def _number(parts: str) -> tuple[int, ...]:
    return tuple(int(part) for part in parts.split("."))


def _by_address(text: TextFile, outline: TextOutline, asked: _SectionQuery) -> Sequence[OutlineEntry]:
    for name in dict.fromkeys((asked.name, asked.name.removeprefix("#"))):
        found = _addressed(text, outline, name)
        if found:
            return found
    return ()


def _addressed(text: TextFile, outline: TextOutline, name: str) -> Sequence[OutlineEntry]:
    """Return the parts with an address or another name; those of a document by its resolver."""
    document = text.document
    if document is not None and document.sections:
        return [outline.entries[section.position] for section in find_sections_by_name(document, name)]
    entry = outline.by_address(name)
    return (entry,) if entry else [item for item in outline.entries if _last(item) == name]


def _last(entry: OutlineEntry) -> str:
    """Return the last name of an address: a part's own."""
    return entry.address.rpartition("/")[2]


def _by_number(text: TextFile, outline: TextOutline, asked: _SectionQuery) -> Sequence[OutlineEntry]:
    if not asked.number:
        return ()
    written = [entry for entry in outline.entries if _read_heading_number(entry) == asked.number]
    if asked.rest:
        return [entry for entry in written if fold_text(entry.title).endswith(asked.rest)] or [
            entry
            for entry in outline.entries
            if entry.number and _number(entry.number) == asked.number and fold_text(entry.title) == asked.rest
        ]
    position = ".".join(str(part) for part in asked.number)
    return written or [entry for entry in outline.entries if entry.number == position]


def _read_heading_number(entry: OutlineEntry) -> tuple[int, ...]:
    """Return the number with which a heading begins."""
    found = _WRITTEN.match(fold_text(entry.title[:_SHOWN]))
    return _number(found[1]) if found else ()


def _by_words(text: TextFile, outline: TextOutline, asked: _SectionQuery) -> Sequence[OutlineEntry]:
    return _where(outline, asked.words, fold_text)


def _by_letters(text: TextFile, outline: TextOutline, asked: _SectionQuery) -> Sequence[OutlineEntry]:
    """Return matches by letters and digits alone, without punctuation, symbols and spaces."""
    return _where(outline, _letters(asked.words), _letters)


def _by_words_alone(text: TextFile, outline: TextOutline, asked: _SectionQuery) -> Sequence[OutlineEntry]:
    """Return matches by the words after the number that begins a heading."""
    return _where(outline, asked.words, _without_number)


def _without_number(words: str) -> str:
    words = fold_text(words)
    found = _WRITTEN.match(words)
    return words[found.end() :].lstrip(" -\u2013\u2014") if found else ""


def _where(outline: TextOutline, wanted: str, form: Callable[[str], str]) -> Sequence[OutlineEntry]:
    if not wanted or len(wanted) > _LONGEST:
        return ()
    return [entry for entry in outline.entries if form(entry.title[:_LONGEST]) == wanted]


def _letters(words: str) -> str:
    return "".join(character for character in fold_text(words) if character.isalnum())


def _by_beginning(text: TextFile, outline: TextOutline, asked: _SectionQuery) -> Sequence[OutlineEntry]:
    """Return matches by the beginning of the words or of the last part of the address."""
    if not asked.words or len(asked.words) > _LONGEST:
        return ()
    return [entry for entry in outline.entries if _begins(outline, entry, asked)]


def _begins(outline: TextOutline, entry: OutlineEntry, asked: _SectionQuery) -> bool:
    title = entry.title[:_LONGEST]
    if fold_text(title).startswith(asked.words) or _without_number(title).startswith(asked.words):
        return True
    above = "" if entry.parent is None else outline.entries[entry.parent].address
    return entry.address.startswith(asked.name) and not above.startswith(asked.name)


def _ambiguous(
    text: TextFile, outline: TextOutline, asked: _SectionQuery, found: Sequence[OutlineEntry]
) -> AmbiguousSection:
    lines = ", ".join(str(entry.line) for entry in found[:_LINES])
    more = ", …" if len(found) > _LINES else ""
    candidates = [
        {
            "slug": entry.address,
            "title": entry.title,
            "line": entry.line,
            "parent": None if entry.parent is None else outline.entries[entry.parent].address,
        }
        for entry in found[:_LISTED]
    ]
    return AmbiguousSection(
        f"'{_display(asked)}' names {len(found):,} sections of {text.path}, on lines {lines}{more}",
        fix=f"Use the whole address of one, such as '{found[0].address}'.",
        candidates=candidates,
        total=len(found),
        wanted=_display(asked),
    )


def _not_found(text: TextFile, outline: TextOutline, asked: _SectionQuery) -> SectionNotFound:
    close = _nearest(outline, asked)
    known = [entry.address for entry in outline.entries]
    among = None
    if close:
        fix = f"Did you mean '{close[0]}'?"
    elif known == [PREAMBLE]:
        fix = f"It has no sections: read it whole, or as '{PREAMBLE}'."
    else:
        fix = "Name a section that it has."
        among = SuggestionSource(HintKind.SECTIONS, text.path)
    return SectionNotFound(
        f"no section '{_display(asked)}' in {text.path}",
        fix=fix,
        among=among,
        candidates=close or known[:_CANDIDATES],
        wanted=_display(asked),
    )


def _display(asked: _SectionQuery) -> str:
    return asked.name if len(asked.name) <= _SHOWN else asked.name[:_SHOWN] + "…"


def _nearest(outline: TextOutline, asked: _SectionQuery) -> list[str]:
    """Return the addresses most similar to the query: by words, spelling, or sound in another script."""
    if not asked.name or len(asked.name) > _SHOWN:
        return []
    by_words: dict[str, str] = {}
    for entry in outline.entries:
        by_words.setdefault(fold_text(entry.title[:_SHOWN]), entry.address)
    by_words.pop("", None)
    found = [by_words[words] for words in find_nearest(asked.words, by_words)]
    found += find_nearest(make_heading_slug(asked.words), [entry.address for entry in outline.entries])
    if not found:
        by_sound: dict[str, str] = {}
        for entry in outline.entries[:_TRANSLITERATED]:
            by_sound.setdefault(make_file_slug(entry.title[:_SHOWN]), entry.address)
        by_sound.pop("", None)
        found = [
            by_sound[sound] for sound in find_nearest(make_file_slug(asked.name) or asked.name, by_sound)
        ]
    return list(dict.fromkeys(found))[:_CANDIDATES]
