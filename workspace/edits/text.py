"""update_content: replace a section's own text, and its subsections on request.

append_content: add text at the end of a section's own text, before its first subsection.

replace_text: replace exact text, exactly as often as the caller requests.

The caller quotes the text, which proves that the caller has read it. All line endings are equal: a quotation
has LF, and matches the endings of the document.

rewrite_text: write a text as a person edited it. Unchanged lines keep their bytes and line endings.

The request contains the text before the edit, which must still be the text of the document.
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from workspace.document.addresses import read_fragment, resolve_section
from workspace.document.document import Document
from workspace.document.splices import (
    Edit,
    EditContext,
    Splice,
    StructureChanged,
    apply_edit,
    apply_splices,
    check_same_sections,
    find_needed_blank_line,
    find_text_end,
    find_text_start,
    insert_block,
)
from workspace.edits.content import (
    InvalidContent,
    check_text,
    drop_own_heading,
    prepare_content,
    strip_blank_lines,
)
from workspace.edits.operation import DocumentOperation
from workspace.errors import ConcurrentChange, WorkspaceError
from workspace.markdown.lines import BOM, decode_with_newlines, encode_with_ending, find_content_end
from workspace.markdown.slugs import PREAMBLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.document.document import Document
    from workspace.document.sections import Section

PREAMBLE_LEVEL = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateContent(DocumentOperation):
    """Replaces the text of a section; with `include_subsections`, also its subsections."""

    name: ClassVar[str] = "update_content"
    implied_by: ClassVar[frozenset[str]] = frozenset({"content", "slug"})

    file: str
    slug: str
    content: str
    include_subsections: bool = False

    def list_overwritten(self, document: Document) -> Sequence[Section]:
        """Return the section, and with `include_subsections` all below it."""
        if document.preamble is None and read_fragment(self.slug).section == PREAMBLE:
            return ()
        section = resolve_section(document, self.slug)
        return (section, *(document.descendants(section) if self.include_subsections else ()))

    def edit(self, document: Document, context: EditContext) -> Edit:
        """Return the edit; none where that is the text.

        Raises SectionNotFound, LevelConflict, SectionExists.
        """
        text = strip_blank_lines(check_text(self.content, "content"))
        if document.preamble is None and read_fragment(self.slug).section == PREAMBLE:
            return write_first_preamble(document, text, context, self.file)
        section = resolve_section(document, self.slug)
        text = drop_own_heading(text, section, document)
        replaced = document.descendants(section) if self.include_subsections else ()
        end = section.tree_end if self.include_subsections else section.end
        heading_end = find_text_end(document.data, section.start, section.body)
        start = find_text_start(document.data, section.body, end)
        stop = find_text_end(document.data, section.body, end)
        answer: dict[str, object] = {"slug": section.key}
        summary = f"Update {section.key} of {self.file}"
        if strip_blank_lines(decode_with_newlines(document.text(section.body, end))) == text:
            return Edit((), answer, summary)
        content = prepare_content(
            document,
            text,
            below=section,
            level=section.level or PREAMBLE_LEVEL,
            address=None if section.is_preamble else section.address,
            form=document.form or context.form,
            replaced=replaced,
        )
        if content.addresses:
            answer["subsections"] = list(content.addresses)
        if start >= stop:
            splice = insert_block(document, end, content.text)
        elif not content.text:
            splice = Splice(heading_end, stop, b"")
        else:
            after = find_needed_blank_line(document, content.text, stop, end)
            splice = Splice(start, stop, encode_with_ending(content.text, document.ending) + after)
        return Edit((splice,), answer, summary, content.hints)


def write_first_preamble(document: Document, text: str, context: EditContext, file: str) -> Edit:
    """Return text before the first section of a document that has none there."""
    form = document.form or context.form
    content = prepare_content(document, text, below=None, level=PREAMBLE_LEVEL, address=None, form=form)
    first: Section | None = document.sections[0] if document.sections else None
    offset = first.start if first else len(document.data)
    answer: dict[str, object] = {"slug": PREAMBLE}
    if content.addresses:
        answer["subsections"] = list(content.addresses)
    splices = (insert_block(document, offset, content.text),) if content.text else ()
    return Edit(splices, answer, f"Write the introduction of {file}", content.hints)


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendContent(DocumentOperation):
    """Adds text after a section's own text; a further list item or table row joins the list or table."""

    name: ClassVar[str] = "append_content"
    implied_by: ClassVar[frozenset[str]] = frozenset()

    file: str
    slug: str
    content: str

    def edit(self, document: Document, context: EditContext) -> Edit:
        """Return the edit. Raises InvalidContent, SectionNotFound, LevelConflict, SectionExists."""
        text = strip_blank_lines(check_text(self.content, "content"))
        if not text:
            raise InvalidContent("'content' is empty", fix="Give the text that is to be added.")
        if document.preamble is None and read_fragment(self.slug).section == PREAMBLE:
            return write_first_preamble(document, text, context, self.file)
        section = resolve_section(document, self.slug)
        content = prepare_content(
            document,
            text,
            below=section,
            level=section.level or PREAMBLE_LEVEL,
            address=None if section.is_preamble else section.address,
            form=document.form or context.form,
        )
        answer: dict[str, object] = {"slug": section.key}
        if content.addresses:
            answer["subsections"] = list(content.addresses)
        splice = insert_block(document, section.end, content.text)
        return Edit((splice,), answer, f"Append to {section.key} of {self.file}", content.hints)


_SHOWN = 50
_NAMED = 5

# Comparing spellings takes time that grows with both.
_COMPARED_LINES = 2000
_COMPARED_LENGTH = 200


class MatchCount(WorkspaceError):
    """The text occurs more or fewer times than the caller requested.

    `matches` is the number of matches, `lines` the first 50 lines (from 1) on which one begins. Without a
    match, `near` names similar lines.
    """

    code = "MATCH_COUNT"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceText(DocumentOperation):
    """Replaces exact text that occurs `count` times (1 unless given), below the front matter.

    With `slug` only the section's own text is searched, without its subsections. Sections stay as they are: a
    heading may change its words if it keeps its address, and none may come or go.
    """

    name: ClassVar[str] = "replace_text"
    implied_by: ClassVar[frozenset[str]] = frozenset({"old", "new"})

    file: str
    old: str
    new: str
    slug: str | None = None
    count: int = 1

    def edit(self, document: Document, context: EditContext) -> Edit:
        """Return the edit; none where the new text is the old. Raises MatchCount, InvalidContent."""
        old, new = check_text(self.old, "old"), check_text(self.new, "new")
        if not old:
            raise InvalidContent(
                "'old' is empty", fix="Quote the text that is to be replaced; append_content adds text."
            )
        section = resolve_section(document, self.slug) if self.slug else None
        start, end = (section.start, section.end) if section else (document.front_matter_end, None)
        text = _Text(document, start, len(document.data) if end is None else end)
        matches = text.find(old.encode())
        if len(matches) != self.count or self.count < 1:
            raise self._match_error(document, text, old, matches)
        lines = [document.lines.line_at(text.offset(place)) + 1 for place in matches]
        answer: dict[str, object] = {"replaced": len(matches), "lines": lines[:_SHOWN]}
        places = [text.offset(place) for place in matches]
        named = section or document.section_at(places[0])
        if named is not None:
            answer["slug"] = named.key
        summary = f"Replace text in {f'{named.key} of ' if named else ''}{self.file}"
        if old == new:
            return Edit((), answer, summary)
        before, after = _common_ends(old, new)
        written = encode_with_ending(new[before : len(new) - after], document.ending)
        first, last = len(old[:before].encode()), len(old[: len(old) - after].encode())
        splices = tuple(
            Splice(text.offset(place + first), text.offset(place + last), written) for place in matches
        )
        return Edit(splices, answer, summary)

    def revise(self, document: Document, context: EditContext) -> tuple[Document, Edit]:
        """Return the document as the edit leaves it. Raises what `edit` does, and StructureChanged."""
        edit = self.edit(document, context)
        if not edit.splices:
            return document, edit
        changed = Document.parse(apply_splices(document.data, edit.splices), document.path)
        try:
            check_same_sections(document, changed, edit.splices)
        except StructureChanged as error:
            raise StructureChanged(
                f"replacing this text would change the sections of {document.path}: {error.message}",
                fix="Retitle with rename_section, which keeps the address; add with add_section, and take "
                "out with remove_document.",
                section=error.details.get("section"),
            ) from error
        return changed, edit

    def _match_error(self, document: Document, text: _Text, old: str, matches: Sequence[int]) -> MatchCount:
        """Return the error for a text that does not occur as often as requested."""
        lines = [document.lines.line_at(text.offset(place)) + 1 for place in matches[:_SHOWN]]
        where = f"'{self.slug}' of {document.path}" if self.slug else document.path
        details: dict[str, Any] = {"matches": len(matches), "lines": lines, "count": self.count}
        if self.count < 1:
            return MatchCount("'count' is below 1", fix="Leave it out, or give a number from 1.", **details)
        if not matches:
            fix, near = _advice(document, text, old, self.slug)
            return MatchCount(f"'old' was not found in {where}", fix=fix, **details, near=near)
        times, wanted = _times(len(matches)), _times(self.count)
        named = ", ".join(str(line) for line in lines[:_NAMED]) + (", …" if len(matches) > _NAMED else "")
        wider = "Quote more of the text around it, name the section in 'slug', or set count"
        return MatchCount(
            f"'old' occurs {times} in {where}, not {wanted}: line{'s' * (len(matches) > 1)} {named}",
            fix=f"{wider if len(matches) > self.count else 'Set count'} to {len(matches)}.",
            **details,
        )


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


class _Text:
    """A part of a document with LF line ends, and the offset of each of its bytes in the document."""

    def __init__(self, document: Document, start: int, end: int) -> None:
        data = document.data[start:end]
        self._start = start
        self._starts: Sequence[int] | None = None
        if b"\r" in data:
            lines = document.lines
            self._first = bisect_right(lines.starts, start) - 1
            normalized = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            self._starts = [0, *(found.end() for found in re.finditer(b"\n", normalized))]
            self._lines = lines
            data = normalized
        self.data = data

    def find(self, wanted: bytes) -> list[int]:
        """Return the places of a text, none of which overlap, from the left."""
        places: list[int] = []
        place = self.data.find(wanted)
        while place >= 0:
            places.append(place)
            place = self.data.find(wanted, place + len(wanted))
        return places

    def offset(self, place: int) -> int:
        """Return the offset in the document of a place in this text."""
        if self._starts is None:
            return self._start + place
        line = bisect_right(self._starts, place) - 1
        begin = max(self._start, self._lines.offset(self._first + line))
        return begin + place - self._starts[line]


def _common_ends(old: str, new: str) -> tuple[int, int]:
    """Return how many characters two texts share at their beginning, and how many at their end."""
    shortest = min(len(old), len(new))
    before = next((i for i in range(shortest) if old[i] != new[i]), shortest)
    rest = shortest - before
    after = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
    return before, after


def _advice(document: Document, text: _Text, old: str, slug: str | None) -> tuple[str, list[int]]:
    """Return a fix for a text that was not found, and similar lines."""
    if slug:
        whole = _Text(document, document.front_matter_end, len(document.data))
        places = [whole.offset(place) for place in whole.find(old.encode())]
        if places:
            lines = [document.lines.line_at(place) + 1 for place in places[:_SHOWN]]
            found = document.section_at(places[0])
            named = f"'{found.key}'" if found else "the document"
            return f"'old' is in {named}, on line {lines[0]}: name that section, or leave 'slug' out.", lines
    front = decode_with_newlines(document.text(0, document.front_matter_end))
    if old in front:
        return "'old' is in the front matter: use set_metadata.", []
    line = _find_folded(document, text, old)
    if line is not None:
        fix = f"'old' is on line {line} with other white space or in other case: quote it exactly."
        return fix, [line]
    line = _find_similar_line(document, text, old)
    if line is not None:
        return f"Line {line} is most like it: view the section again and quote it exactly.", [line]
    return "View the document again and quote the text exactly.", []


def _find_folded(document: Document, text: _Text, old: str) -> int | None:
    """Return the line of the text, without regard to white space and case."""
    words = [(found.start(), found.group()) for found in re.finditer(rb"\S+", text.data)]
    folded = [word.decode("utf-8", "replace").casefold() for _, word in words]
    wanted = " ".join(old.split()).casefold()
    place = " ".join(folded).find(wanted) if wanted else -1
    if place < 0:
        return None
    starts = list(accumulate((len(word) + 1 for word in folded), initial=0))
    word = words[bisect_right(starts, place) - 1][0]
    return document.lines.line_at(text.offset(word)) + 1


def _find_similar_line(document: Document, text: _Text, old: str) -> int | None:
    """Return the line that is spelled most like the first one of a text."""
    wanted = next((line.strip() for line in old.split("\n") if line.strip()), "")
    lines = text.data.split(b"\n", _COMPARED_LINES)[:_COMPARED_LINES]
    known = [line[: 4 * _COMPARED_LENGTH].decode("utf-8", "replace").strip() for line in lines]
    close = difflib.get_close_matches(
        wanted[:_COMPARED_LENGTH], [line[:_COMPARED_LENGTH] for line in known if line], n=1, cutoff=0.75
    )
    if not close:
        return None
    at = next(place for place, line in enumerate(known) if line[:_COMPARED_LENGTH] == close[0])
    return document.lines.line_at(text.offset(sum(len(line) + 1 for line in lines[:at]))) + 1


class _Span(NamedTuple):
    """The bytes [start, stop) of a text without the blank lines around it, within [floor, end)."""

    floor: int
    start: int
    stop: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteText(DocumentOperation):
    """Replaces the text of a section below its heading, without its subsections; without `slug`, all text.

    `seen` is the text before the edit, as `read_editable_text` returned it, `text` the text after it. The
    edit may add and remove headings, which are written as given.
    """

    name: ClassVar[str] = "rewrite_text"

    file: str
    seen: str
    text: str
    slug: str | None = None

    def edit(self, document: Document, context: EditContext) -> Edit:
        """Return the edit; none where the text stays. Raises Conflict, InvalidContent, SectionNotFound."""
        return self._edit(document, is_whole=False)

    def revise(self, document: Document, context: EditContext) -> tuple[Document, Edit]:
        """Return the document as the edit leaves it. Raises what `edit` does, and StructureChanged."""
        edit = self._edit(document, is_whole=False)
        if not edit.splices:
            return document, edit
        try:
            return apply_edit(document, edit), edit
        except StructureChanged:
            # An unchanged line may become a heading or stop being one, e.g. after a fence was removed.
            edit = self._edit(document, is_whole=True)
            return apply_edit(document, edit), edit

    def _edit(self, document: Document, *, is_whole: bool) -> Edit:
        text = strip_blank_lines(check_text(self.text, "text"))
        section = resolve_section(document, self.slug) if self.slug else None
        theirs = read_editable_text(document, section)
        where = f"{section.key} of {self.file}" if section else self.file
        answer: dict[str, object] = {"slug": section.key} if section else {}
        if theirs != strip_blank_lines(decode_with_newlines(self.seen)):
            raise ConcurrentChange(
                "the text was changed since it was opened for editing",
                fix="Compare both versions, and copy the changes that you need into yours.",
                theirs=theirs,
                base=self.seen,
                ours=text,
            )
        if text == theirs:
            return Edit((), answer, f"Edit {where}")
        if not text and section is None:
            raise InvalidContent("nothing is left of the document", fix="Remove the document instead.")
        splice = _splice(document, section, text, is_whole=is_whole)
        return Edit((splice,), answer, f"Edit {where}", may_change_front_matter=section is None)


def read_editable_text(document: Document, section: Section | None) -> str:
    """Return a section's text below its heading, or a file's whole text: LF, no blank lines around it.

    Bytes that are not UTF-8, and NUL, which no form can carry, are U+FFFD.
    """
    span = _span(document, section)
    return strip_blank_lines(_display(document.data[span.floor : span.end]))


def _span(document: Document, section: Section | None) -> _Span:
    data = document.data
    floor, end = (section.body, section.end) if section else (0, len(data))
    if floor == 0 and data.startswith(BOM):
        floor = len(BOM)
    return _Span(floor, find_text_start(data, floor, end), find_text_end(data, floor, end), end)


def _splice(document: Document, section: Section | None, text: str, *, is_whole: bool) -> Splice:
    floor, start, stop, end = _span(document, section)
    if start >= stop:
        return insert_block(document, end, text) if section else Splice(floor, end, text.encode())
    if not text:
        head = find_text_end(document.data, section.start, section.body) if section else floor
        return Splice(head, stop, b"")
    old = document.data[start:stop]
    new = _rewrite(old, text, document.ending) + find_needed_blank_line(document, text, stop, end)
    if is_whole:
        return Splice(start, stop, new)
    before, after = _common_lines(old, new)
    return Splice(start + before, stop - after, new[before : len(new) - after])


def _rewrite(old: bytes, text: str, ending: bytes) -> bytes:
    """Return the new text; lines that are also in the old text keep their bytes and endings."""
    from workspace.diff.sequences import pair_lines
    from workspace.markdown.lines import split_lines

    lines, wanted = split_lines(old), text.split("\n")
    cuts = [find_content_end(line, len(line)) for line in lines]
    known = [_display(line[:cut]).encode() for line, cut in zip(lines, cuts, strict=True)]
    old_lines = {new: place for place, new in pair_lines(known, [line.encode() for line in wanted])}
    # A line that moved, or that the comparison left out, is found by its displayed text.
    alike: dict[bytes, set[bytes]] = {}
    for shown, line, cut in zip(known, lines, cuts, strict=True):
        alike.setdefault(shown, set()).add(line[:cut])
    parts: list[bytes] = []
    for number, text_line in enumerate(wanted):
        place = old_lines.get(number)
        if place is None:
            data = text_line.encode()
            same = alike.get(data, set())
            parts += (*same, ending) if len(same) == 1 else (data, ending)
        else:
            parts += (lines[place][: cuts[place]], lines[place][cuts[place] :] or ending)
    return b"".join(parts[:-1])


def _common_lines(old: bytes, new: bytes) -> tuple[int, int]:
    """Return how many bytes of whole lines two texts share at their beginning, and how many at their end."""
    from workspace.markdown.lines import split_lines

    olds, news = split_lines(old), split_lines(new)
    most = min(len(olds), len(news))
    before = next((at for at in range(most) if olds[at] != news[at]), most)
    most -= before
    after = next((at for at in range(most) if olds[-1 - at] != news[-1 - at]), most)
    return sum(map(len, olds[:before])), sum(map(len, olds[len(olds) - after :]))


def _display(data: bytes) -> str:
    return decode_with_newlines(data.decode("utf-8", "replace")).replace("\0", "\ufffd")
