"""Operations that update, append, replace and rewrite text.

`update_content` replaces a section's own text, and its subsections on request. `append_content` adds text at
the end of a section's own text, before its first subsection.

`replace_text` replaces exact text, exactly as often as the caller requests. The quotation proves that the
caller has read the text. The LF line endings of a quotation match any line ending of the document.

`rewrite_text` writes a text that a person has edited. Unchanged lines keep their bytes and line endings. The
request contains the text before the edit, which must still be the text of the document.
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
    make_insertion_splice,
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
from workspace.markdown.lines import BOM, encode_with_ending, find_content_end, normalize_line_endings
from workspace.markdown.slugs import PREAMBLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.document.document import Document
    from workspace.document.sections import Section

PREAMBLE_LEVEL = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateContent(DocumentOperation):
    """The replacement of a section's text; with `include_subsections`, also of its subsections."""

    name: ClassVar[str] = "update_content"
    implied_by: ClassVar[frozenset[str]] = frozenset({"content", "slug"})

    file: str
    slug: str
    content: str
    include_subsections: bool = False

    def list_overwritten_sections(self, document: Document) -> Sequence[Section]:
        """Return the section, and with `include_subsections` its subsections."""
        if document.preamble is None and read_fragment(self.slug).section == PREAMBLE:
            return ()
        section = resolve_section(document, self.slug)
        return (section, *(document.descendants(section) if self.include_subsections else ()))

    def make_edit(self, document: Document, context: EditContext) -> Edit:
        """Return the edit, which has no splices if nothing changes.

        Raises InvalidContent, LevelConflict, SectionExists, StructureChanged, and the errors of
        `resolve_section`.
        """
        text = strip_blank_lines(check_text(self.content, "content"))
        if document.preamble is None and read_fragment(self.slug).section == PREAMBLE:
            return write_first_preamble(document, text, context, self.file)
        section = resolve_section(document, self.slug)
        text = drop_own_heading(text, section, document)
        replaced_sections = document.descendants(section) if self.include_subsections else ()
        end = section.tree_end if self.include_subsections else section.end
        heading_end = find_text_end(document.data, section.start, section.body_start)
        text_start = find_text_start(document.data, section.body_start, end)
        text_end = find_text_end(document.data, section.body_start, end)
        result: dict[str, object] = {"slug": section.key}
        summary = f"Update {section.label} of {self.file}"
        if strip_blank_lines(normalize_line_endings(document.text(section.body_start, end))) == text:
            return Edit((), result, summary)
        content = prepare_content(
            document,
            text,
            parent=section,
            level=section.level or PREAMBLE_LEVEL,
            address=None if section.is_preamble else section.address,
            form=context.choose_form(document),
            replaced_sections=replaced_sections,
        )
        if content.addresses:
            result["subsections"] = list(content.addresses)
        if text_start >= text_end:
            splice = make_insertion_splice(document, end, content.text)
        elif not content.text:
            splice = Splice(heading_end, text_end, b"")
        else:
            blank_line = find_needed_blank_line(document, content.text, text_end, end)
            splice = Splice(
                text_start, text_end, encode_with_ending(content.text, document.line_ending) + blank_line
            )
        return Edit((splice,), result, summary, content.hints)


def write_first_preamble(document: Document, text: str, context: EditContext, file: str) -> Edit:
    """Return the edit that writes text before the first section of a document without a preamble."""
    form = context.choose_form(document)
    content = prepare_content(document, text, parent=None, level=PREAMBLE_LEVEL, address=None, form=form)
    first_section: Section | None = document.sections[0] if document.sections else None
    offset = first_section.start if first_section else len(document.data)
    result: dict[str, object] = {"slug": PREAMBLE}
    if content.addresses:
        result["subsections"] = list(content.addresses)
    splices = (make_insertion_splice(document, offset, content.text),) if content.text else ()
    return Edit(splices, result, f"Write the introduction of {file}", content.hints)


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendContent(DocumentOperation):
    """The addition of text after a section's own text; a list item or table row continues a list or table."""

    name: ClassVar[str] = "append_content"
    implied_by: ClassVar[frozenset[str]] = frozenset()

    file: str
    slug: str
    content: str

    def make_edit(self, document: Document, context: EditContext) -> Edit:
        """Return the edit.

        Raises InvalidContent, LevelConflict, SectionExists, StructureChanged, and the errors of
        `resolve_section`.
        """
        text = strip_blank_lines(check_text(self.content, "content"))
        if not text:
            raise InvalidContent("'content' is empty", fix="Set 'content' to the text to add.")
        if document.preamble is None and read_fragment(self.slug).section == PREAMBLE:
            return write_first_preamble(document, text, context, self.file)
        section = resolve_section(document, self.slug)
        content = prepare_content(
            document,
            text,
            parent=section,
            level=section.level or PREAMBLE_LEVEL,
            address=None if section.is_preamble else section.address,
            form=context.choose_form(document),
        )
        result: dict[str, object] = {"slug": section.key}
        if content.addresses:
            result["subsections"] = list(content.addresses)
        splice = make_insertion_splice(document, section.end, content.text)
        return Edit((splice,), result, f"Append to {section.label} of {self.file}", content.hints)


_MAX_LISTED_LINES = 50
_MAX_NAMED_LINES = 5

# The time to find a similar line grows with the number of lines and with their length.
_MAX_COMPARED_LINES = 2000
_MAX_COMPARED_CHARACTERS = 200
_MIN_LINE_SIMILARITY = 0.75  # as in `difflib.get_close_matches`; 1 means equal


class WrongMatchCount(WorkspaceError):
    """An error: the text occurs more or fewer times than the caller requested.

    `matches` is the number of matches. `lines` are the first 50 lines (from 1) on which a match begins.
    Without a match, `near` are the numbers of lines with a similar text, or with the text elsewhere.
    """

    code = "MATCH_COUNT"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceText(DocumentOperation):
    """The replacement of exact text that occurs `count` times, below the front matter.

    With `slug`, only the section's heading and own text are searched, without its subsections. No section may
    be added or removed. The words of a heading may change if its address does not.
    """

    name: ClassVar[str] = "replace_text"
    implied_by: ClassVar[frozenset[str]] = frozenset({"old", "new"})

    file: str
    old: str
    new: str
    slug: str | None = None
    count: int = 1

    def make_edit(self, document: Document, context: EditContext) -> Edit:
        """Return the edit, which has no splices if nothing changes.

        Raises WrongMatchCount, InvalidContent, and the errors of `resolve_section`.
        """
        old, new = check_text(self.old, "old"), check_text(self.new, "new")
        if not old:
            raise InvalidContent("'old' is empty", fix="Quote the text to replace; append_content adds text.")
        section = resolve_section(document, self.slug) if self.slug else None
        start, end = (section.start, section.end) if section else (document.front_matter_end, None)
        text = _NormalizedText(document, start, len(document.data) if end is None else end)
        matches = text.find(old.encode())
        if len(matches) != self.count or self.count < 1:
            raise self._make_match_error(document, text, old, matches)
        lines = [document.lines.line_at(text.offset(position)) + 1 for position in matches]
        result: dict[str, object] = {"replaced": len(matches), "lines": lines[:_MAX_LISTED_LINES]}
        offsets = [text.offset(position) for position in matches]
        reported_section = section or document.section_at(offsets[0])
        if reported_section is not None:
            result["slug"] = reported_section.key
        summary = f"Replace text in {f'{reported_section.label} of ' if reported_section else ''}{self.file}"
        if old == new:
            return Edit((), result, summary)
        prefix_size, suffix_size = _count_common_prefix_and_suffix(old, new)
        replacement = encode_with_ending(new[prefix_size : len(new) - suffix_size], document.line_ending)
        start_shift, end_shift = len(old[:prefix_size].encode()), len(old[: len(old) - suffix_size].encode())
        splices = tuple(
            Splice(text.offset(position + start_shift), text.offset(position + end_shift), replacement)
            for position in matches
        )
        return Edit(splices, result, summary)

    def revise(self, document: Document, context: EditContext) -> tuple[Document, Edit]:
        """Return the edited document and the edit. Raises the errors of `make_edit`, and StructureChanged."""
        edit = self.make_edit(document, context)
        if not edit.splices:
            return document, edit
        new_document = Document.parse(apply_splices(document.data, edit.splices), document.path)
        try:
            check_same_sections(document, new_document, edit.splices)
        except StructureChanged as error:
            raise StructureChanged(
                f"replacing this text would change the sections of {document.path}: {error.message}",
                fix="Change a title with rename_section, which keeps the address; add a section with "
                "add_section, and remove one with remove_document.",
                section=error.details.get("section"),
            ) from error
        return new_document, edit

    def _make_match_error(
        self, document: Document, text: _NormalizedText, old: str, matches: Sequence[int]
    ) -> WrongMatchCount:
        """Return the error for a text that does not occur as often as requested."""
        lines = [
            document.lines.line_at(text.offset(position)) + 1 for position in matches[:_MAX_LISTED_LINES]
        ]
        location = f"'{self.slug}' of {document.path}" if self.slug else document.path
        details: dict[str, Any] = {"matches": len(matches), "lines": lines, "count": self.count}
        if self.count < 1:
            return WrongMatchCount(
                "'count' is below 1", fix="Omit it, or set it to a number from 1.", **details
            )
        if not matches:
            fix, near = _suggest_fix(document, text, old, self.slug)
            return WrongMatchCount(f"'old' was not found in {location}", fix=fix, **details, near=near)
        actual_count, expected_count = _format_times(len(matches)), _format_times(self.count)
        line_numbers = ", ".join(str(line) for line in lines[:_MAX_NAMED_LINES]) + (
            ", …" if len(matches) > _MAX_NAMED_LINES else ""
        )
        advice = "Quote more of the text around it, name the section in 'slug', or set count"
        return WrongMatchCount(
            f"'old' occurs {actual_count} in {location}, not {expected_count}: "
            f"line{'s' * (len(matches) > 1)} {line_numbers}",
            fix=f"{advice if len(matches) > self.count else 'Set count'} to {len(matches)}.",
            **details,
        )


def _format_times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


class _NormalizedText:
    """A span of a document with LF line endings, with the document offset of each byte."""

    def __init__(self, document: Document, start: int, end: int) -> None:
        data = document.data[start:end]
        self._start = start
        self._line_starts: Sequence[int] | None = None
        if b"\r" in data:
            lines = document.lines
            self._first_line = bisect_right(lines.starts, start) - 1
            normalized = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            self._line_starts = [0, *(match.end() for match in re.finditer(b"\n", normalized))]
            self._lines = lines
            data = normalized
        self.data = data

    def find(self, text: bytes) -> list[int]:
        """Return the positions of a text from left to right, without overlaps."""
        positions: list[int] = []
        position = self.data.find(text)
        while position >= 0:
            positions.append(position)
            position = self.data.find(text, position + len(text))
        return positions

    def offset(self, position: int) -> int:
        """Return the offset in the document of a position in this text."""
        if self._line_starts is None:
            return self._start + position
        line = bisect_right(self._line_starts, position) - 1
        line_start = max(self._start, self._lines.offset(self._first_line + line))
        return line_start + position - self._line_starts[line]


def _count_common_prefix_and_suffix(old: str, new: str) -> tuple[int, int]:
    """Return the number of equal characters at the start of two texts, and at their end, without overlap."""
    max_size = min(len(old), len(new))
    prefix_size = next((i for i in range(max_size) if old[i] != new[i]), max_size)
    remaining_size = max_size - prefix_size
    suffix_size = next((i for i in range(remaining_size) if old[-1 - i] != new[-1 - i]), remaining_size)
    return prefix_size, suffix_size


def _suggest_fix(
    document: Document, text: _NormalizedText, old: str, slug: str | None
) -> tuple[str, list[int]]:
    """Return a fix for a text that was not found, and the numbers of lines that have it or a similar text."""
    if slug:
        full_text = _NormalizedText(document, document.front_matter_end, len(document.data))
        offsets = [full_text.offset(position) for position in full_text.find(old.encode())]
        if offsets:
            lines = [document.lines.line_at(position) + 1 for position in offsets[:_MAX_LISTED_LINES]]
            section = document.section_at(offsets[0])
            location = f"'{section.key}'" if section else "the document"
            return (
                f"'old' is in {location}, on line {lines[0]}: set 'slug' to that section, or omit it.",
                lines,
            )
    front_matter = normalize_line_endings(document.text(0, document.front_matter_end))
    if old in front_matter:
        return "'old' is in the front matter: use set_metadata.", []
    line = _find_folded_text(document, text, old)
    if line is not None:
        fix = f"'old' is on line {line} with different white space or case: quote it exactly."
        return fix, [line]
    line = _find_similar_line(document, text, old)
    if line is not None:
        return f"Line {line} is the most similar: view the section again and quote it exactly.", [line]
    return "View the document again and quote the text exactly.", []


def _find_folded_text(document: Document, text: _NormalizedText, old: str) -> int | None:
    """Return the line number (from 1) on which `old` occurs if white space and case are ignored, or None."""
    words = [(match.start(), match.group()) for match in re.finditer(rb"\S+", text.data)]
    folded_words = [word.decode("utf-8", "replace").casefold() for _, word in words]
    folded_text = " ".join(old.split()).casefold()
    position = " ".join(folded_words).find(folded_text) if folded_text else -1
    if position < 0:
        return None
    starts = list(accumulate((len(word) + 1 for word in folded_words), initial=0))
    word_start = words[bisect_right(starts, position) - 1][0]
    return document.lines.line_at(text.offset(word_start)) + 1


def _find_similar_line(document: Document, text: _NormalizedText, old: str) -> int | None:
    """Return the number (from 1) of the line that is most similar to the first line of `old`, or None."""
    first_line = next((line.strip() for line in old.split("\n") if line.strip()), "")
    lines = text.data.split(b"\n", _MAX_COMPARED_LINES)[:_MAX_COMPARED_LINES]
    stripped_lines = [
        line[: 4 * _MAX_COMPARED_CHARACTERS].decode("utf-8", "replace").strip() for line in lines
    ]
    matches = difflib.get_close_matches(
        first_line[:_MAX_COMPARED_CHARACTERS],
        [line[:_MAX_COMPARED_CHARACTERS] for line in stripped_lines if line],
        n=1,
        cutoff=_MIN_LINE_SIMILARITY,
    )
    if not matches:
        return None
    index = next(
        number for number, line in enumerate(stripped_lines) if line[:_MAX_COMPARED_CHARACTERS] == matches[0]
    )
    return document.lines.line_at(text.offset(sum(len(line) + 1 for line in lines[:index]))) + 1


class _Span(NamedTuple):
    """A range [range_start, range_end) of bytes, and the text in it without the blank lines around it."""

    range_start: int
    text_start: int
    text_end: int
    range_end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteText(DocumentOperation):
    """The replacement of a section's text below its heading or, without `slug`, of the full document.

    Subsections do not change. `seen` is the text before the edit, as `read_editable_text` returned it.
    `text` is the text after the edit. It may add and remove headings, which are written as given.
    """

    name: ClassVar[str] = "rewrite_text"

    file: str
    seen: str
    text: str
    slug: str | None = None

    def make_edit(self, document: Document, context: EditContext) -> Edit:
        """Return the edit, which has no splices if nothing changes.

        Raises ConcurrentChange, InvalidContent, and the errors of `resolve_section`.
        """
        return self._build_edit(document, replaces_all=False)

    def revise(self, document: Document, context: EditContext) -> tuple[Document, Edit]:
        """Return the edited document and the edit. Raises the errors of `make_edit`, and StructureChanged."""
        edit = self._build_edit(document, replaces_all=False)
        if not edit.splices:
            return document, edit
        try:
            return apply_edit(document, edit), edit
        except StructureChanged:
            # An unchanged line may become a heading or stop being a heading, for example if a code fence was
            # removed. Then the splice must contain this line.
            edit = self._build_edit(document, replaces_all=True)
            return apply_edit(document, edit), edit

    def _build_edit(self, document: Document, *, replaces_all: bool) -> Edit:
        """Return the edit. With `replaces_all`, its splice also contains the unchanged lines at both ends."""
        text = strip_blank_lines(check_text(self.text, "text"))
        section = resolve_section(document, self.slug) if self.slug else None
        current_text = read_editable_text(document, section)
        location = f"{section.label} of {self.file}" if section else self.file
        result: dict[str, object] = {"slug": section.key} if section else {}
        if current_text != strip_blank_lines(normalize_line_endings(self.seen)):
            raise ConcurrentChange(
                "the text was changed since it was opened for editing",
                fix="Compare both versions, and copy the changes that you need into your text.",
                theirs=current_text,
                base=self.seen,
                ours=text,
            )
        if text == current_text:
            return Edit((), result, f"Edit {location}")
        if not text and section is None:
            raise InvalidContent("the document would be empty", fix="Remove the document instead.")
        splice = _make_splice(document, section, text, replaces_all=replaces_all)
        return Edit((splice,), result, f"Edit {location}", may_change_front_matter=section is None)


def read_editable_text(document: Document, section: Section | None) -> str:
    """Return a section's text below its heading, or the full text of a document.

    The text has LF line endings, and no blank lines around it. Bytes that are not UTF-8 are U+FFFD. NUL is
    U+FFFD too, because a web form cannot send NUL.
    """
    span = _find_span(document, section)
    return strip_blank_lines(_decode_text(document.data[span.range_start : span.range_end]))


def _find_span(document: Document, section: Section | None) -> _Span:
    data = document.data
    range_start, range_end = (section.body_start, section.end) if section else (0, len(data))
    if range_start == 0 and data.startswith(BOM):
        range_start = len(BOM)
    return _Span(
        range_start,
        find_text_start(data, range_start, range_end),
        find_text_end(data, range_start, range_end),
        range_end,
    )


def _make_splice(document: Document, section: Section | None, text: str, *, replaces_all: bool) -> Splice:
    range_start, text_start, text_end, range_end = _find_span(document, section)
    if text_start >= text_end:
        return (
            make_insertion_splice(document, range_end, text)
            if section
            else Splice(range_start, range_end, text.encode())
        )
    if not text:
        heading_end = (
            find_text_end(document.data, section.start, section.body_start) if section else range_start
        )
        return Splice(heading_end, text_end, b"")
    old_text = document.data[text_start:text_end]
    new_text = _rewrite_lines(old_text, text, document.line_ending) + find_needed_blank_line(
        document, text, text_end, range_end
    )
    if replaces_all:
        return Splice(text_start, text_end, new_text)
    prefix_size, suffix_size = _measure_common_lines(old_text, new_text)
    return Splice(
        text_start + prefix_size, text_end - suffix_size, new_text[prefix_size : len(new_text) - suffix_size]
    )


def _rewrite_lines(old: bytes, text: str, ending: bytes) -> bytes:
    """Return the new text; lines that are also in the old text keep their bytes and endings."""
    from workspace.diff.sequences import pair_lines
    from workspace.markdown.lines import split_lines

    lines, new_texts = split_lines(old), text.split("\n")
    content_ends = [find_content_end(line, len(line)) for line in lines]
    old_texts = [
        _decode_text(line[:content_end]).encode()
        for line, content_end in zip(lines, content_ends, strict=True)
    ]
    old_lines = {
        new_index: old_index
        for old_index, new_index in pair_lines(old_texts, [line.encode() for line in new_texts])
    }
    # A line that was moved, or that the comparison does not pair, is found by its decoded text.
    lines_by_text: dict[bytes, set[bytes]] = {}
    for old_text, line, content_end in zip(old_texts, lines, content_ends, strict=True):
        lines_by_text.setdefault(old_text, set()).add(line[:content_end])
    parts: list[bytes] = []
    for number, text_line in enumerate(new_texts):
        index = old_lines.get(number)
        if index is None:
            data = text_line.encode()
            matching_lines = lines_by_text.get(data, set())
            parts += (*matching_lines, ending) if len(matching_lines) == 1 else (data, ending)
        else:
            parts += (
                lines[index][: content_ends[index]],
                lines[index][content_ends[index] :] or ending,
            )
    return b"".join(parts[:-1])


def _measure_common_lines(old: bytes, new: bytes) -> tuple[int, int]:
    """Return the size in bytes of the equal lines at the beginning of two texts, and at their end."""
    from workspace.markdown.lines import split_lines

    old_lines, new_lines = split_lines(old), split_lines(new)
    max_count = min(len(old_lines), len(new_lines))
    prefix_count = next(
        (index for index in range(max_count) if old_lines[index] != new_lines[index]), max_count
    )
    max_count -= prefix_count
    suffix_count = next(
        (index for index in range(max_count) if old_lines[-1 - index] != new_lines[-1 - index]), max_count
    )
    return sum(map(len, old_lines[:prefix_count])), sum(map(len, old_lines[len(old_lines) - suffix_count :]))


def _decode_text(data: bytes) -> str:
    return normalize_line_endings(data.decode("utf-8", "replace")).replace("\0", "\ufffd")
