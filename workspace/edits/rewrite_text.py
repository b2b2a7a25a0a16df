"""rewrite_text: a text as a person edited it; lines that they left alone keep their bytes and line ends.

It carries its own proof: the text that was edited comes with it, and must still stand there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from workspace.diff.section_mapping import Conflict
from workspace.document.addresses import resolve_section
from workspace.document.document import Document
from workspace.document.spacing import blank_line, end_of_text, insert_block, start_of_text
from workspace.document.splices import Edit, Splice, StructureChanged, Style, apply_edit
from workspace.edits.content import InvalidContent, checked_text, strip_blank_lines, with_newlines
from workspace.edits.operation import DocumentOperation
from workspace.markdown.lines import BOM, before_ending

if TYPE_CHECKING:
    from workspace.document.document import Section


class _Span(NamedTuple):
    """The bytes [start, stop) of a text without the blank lines around it, within [floor, end)."""

    floor: int
    start: int
    stop: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteText(DocumentOperation):
    """Replaces what a section says below its heading, without its subsections; without `slug`, all text.

    `seen` is the text before as `editable_text` gave it, `text` the one after. Headings may come and go
    within it, and are left as they were written.
    """

    name: ClassVar[str] = "rewrite_text"

    file: str
    seen: str
    text: str
    slug: str | None = None

    def edit(self, document: Document, style: Style) -> Edit:
        """The edit; none where the text stays. Raises Conflict, InvalidContent, SectionNotFound."""
        return self._edit(document, is_whole=False)

    def revise(self, document: Document, style: Style) -> tuple[Document, Edit]:
        """The document as the edit leaves it. Raises what `edit` does, and StructureChanged."""
        edit = self._edit(document, is_whole=False)
        if not edit.splices:
            return document, edit
        try:
            return apply_edit(document, edit), edit
        except StructureChanged:
            # A line that stays may become a heading, or be none any more, as where a fence was taken out.
            edit = self._edit(document, is_whole=True)
            return apply_edit(document, edit), edit

    def _edit(self, document: Document, *, is_whole: bool) -> Edit:
        text = strip_blank_lines(checked_text(self.text, "text"))
        section = resolve_section(document, self.slug) if self.slug else None
        theirs = editable_text(document, section)
        where = f"{section.key} of {self.file}" if section else self.file
        answer: dict[str, object] = {"slug": section.key} if section else {}
        if theirs != strip_blank_lines(with_newlines(self.seen)):
            raise Conflict(
                "the text was changed since it was opened for editing",
                fix="Look at both versions, and put into yours what is to stay of the other.",
                theirs=theirs,
                base=self.seen,
                ours=text,
            )
        if text == theirs:
            return Edit((), answer, f"Edit {where}")
        if not text and section is None:
            raise InvalidContent("nothing is left of the document", fix="Remove the document instead.")
        splice = _splice(document, section, text, is_whole=is_whole)
        return Edit((splice,), answer, f"Edit {where}", is_front_matter=section is None)


def editable_text(document: Document, section: Section | None) -> str:
    """What a section says below its heading, or all that stands in a file: LF, no blank lines around it.

    Bytes that are not UTF-8, and NUL, which no form can carry, are U+FFFD.
    """
    span = _span(document, section)
    return strip_blank_lines(_shown(document.data[span.floor : span.end]))


def _span(document: Document, section: Section | None) -> _Span:
    data = document.data
    floor, end = (section.body, section.end) if section else (0, len(data))
    if floor == 0 and data.startswith(BOM):
        floor = len(BOM)
    return _Span(floor, start_of_text(data, floor, end), end_of_text(data, floor, end), end)


def _splice(document: Document, section: Section | None, text: str, *, is_whole: bool) -> Splice:
    floor, start, stop, end = _span(document, section)
    if start >= stop:
        return insert_block(document, end, text) if section else Splice(floor, end, text.encode())
    if not text:
        head = end_of_text(document.data, section.start, section.body) if section else floor
        return Splice(head, stop, b"")
    old = document.data[start:stop]
    new = _rewritten(old, text, document.ending) + blank_line(document, text, stop, end)
    if is_whole:
        return Splice(start, stop, new)
    before, after = _common_lines(old, new)
    return Splice(start + before, stop - after, new[before : len(new) - after])


def _rewritten(old: bytes, text: str, ending: bytes) -> bytes:
    """The new text; each line that the old one has, too, as it stands there, with its own ending."""
    from workspace.diff.sequences import pair_lines
    from workspace.history.blame import split_lines

    lines, wanted = split_lines(old), text.split("\n")
    cuts = [before_ending(line, len(line)) for line in lines]
    known = [_shown(line[:cut]).encode() for line, cut in zip(lines, cuts, strict=True)]
    twins = {new: place for place, new in pair_lines(known, [line.encode() for line in wanted])}
    # A line that moved, or that the comparison left out, has no twin: what it shows tells its bytes.
    alike: dict[bytes, set[bytes]] = {}
    for shown, line, cut in zip(known, lines, cuts, strict=True):
        alike.setdefault(shown, set()).add(line[:cut])
    parts: list[bytes] = []
    for number, text_line in enumerate(wanted):
        place = twins.get(number)
        if place is None:
            data = text_line.encode()
            same = alike.get(data, set())
            parts += (*same, ending) if len(same) == 1 else (data, ending)
        else:
            parts += (lines[place][: cuts[place]], lines[place][cuts[place] :] or ending)
    return b"".join(parts[:-1])


def _common_lines(old: bytes, new: bytes) -> tuple[int, int]:
    """How many bytes of whole lines two texts share at their beginning, and how many at their end."""
    from workspace.history.blame import split_lines

    olds, news = split_lines(old), split_lines(new)
    most = min(len(olds), len(news))
    before = next((at for at in range(most) if olds[at] != news[at]), most)
    most -= before
    after = next((at for at in range(most) if olds[-1 - at] != news[-1 - at]), most)
    return sum(map(len, olds[:before])), sum(map(len, olds[len(olds) - after :]))


def _shown(data: bytes) -> str:
    return with_newlines(data.decode("utf-8", "replace")).replace("\0", "\ufffd")
