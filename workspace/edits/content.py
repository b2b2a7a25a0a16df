"""Content that a caller brings: checked, taken off its own heading, and its headings given anchors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workspace.document.headings import read_headings, replace_words
from workspace.errors import WorkspaceError
from workspace.markdown import anchors
from workspace.markdown import outline as markdown_outline
from workspace.markdown.inline import to_plain_text
from workspace.markdown.lines import LINE_END, Lines, decode_with_newlines
from workspace.markdown.outline import BlockOutline, read_outline
from workspace.markdown.slugs import PREAMBLE, UniqueNames, make_heading_slug

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workspace.document.document import Document
    from workspace.document.headings import AnchoredHeading
    from workspace.document.sections import Section
    from workspace.markdown.attribute_lists import AnchorForm

MAX_LEVEL = 6
DEEP_LEVEL = 4
MAX_TITLE = 300

_CONTROL = re.compile("[\x00-\x1f\x7f\x85\u2028\u2029]")
# UTF-8 has no form for a surrogate; a whole pair that was read as JSON is one character by now.
_UNWRITABLE = re.compile("[\x00\ud800-\udfff]")
_SHOWN_HINTS = 3
_SHOWN = 100


class InvalidContent(WorkspaceError):
    """A text that cannot be put in: empty, with a NUL or lone surrogate, or with a fence left open."""

    code = "INVALID_CONTENT"


class InvalidTitle(WorkspaceError):
    """A title that cannot be a heading: empty, of several lines, too long, or with an anchor in it."""

    code = "INVALID_TITLE"


class LevelConflict(WorkspaceError):
    """A heading that does not fit below its section. `line` counts in the content, from 1."""

    code = "LEVEL_CONFLICT"


class SectionExists(WorkspaceError):
    """A section of this title, or with this anchor, is already there. `slug` is its address."""

    code = "SECTION_EXISTS"


@dataclass(frozen=True, slots=True)
class Content:
    """Content ready to be put in: LF line ends, no blank lines around it, anchors; what it adds."""

    text: str
    addresses: tuple[str, ...]
    hints: tuple[str, ...]


def check_text(text: str, field: str) -> str:
    """Return a text with LF line ends.

    Raises InvalidContent for a NUL or a lone surrogate, and says where it is.
    """
    found = _UNWRITABLE.search(text)
    if found is None:
        return decode_with_newlines(text)
    before = LINE_END.split(text[: found.start()])
    line, column = len(before), len(before[-1]) + 1
    name, reader = (
        ("NUL character", "Markdown")
        if found.group() == "\0"
        else ("lone surrogate (half a character)", "UTF-8")
    )
    raise InvalidContent(
        f"'{field}' holds a {name}, which {reader} cannot carry: line {line}, column {column}",
        fix="Leave it out, or send the whole character." if reader == "UTF-8" else "Leave it out.",
        field=field,
        line=line,
        column=column,
    )


def strip_blank_lines(text: str) -> str:
    """Return a text without the blank lines at its beginning and end; indentation stays."""
    lines = text.split("\n")
    while lines and not lines[0].strip(" \t"):
        lines.pop(0)
    while lines and not lines[-1].strip(" \t"):
        lines.pop()
    return "\n".join(lines)


def check_title(title: str, field: str = "title") -> str:
    """Return a title on one line, without heading marks around it. Raises InvalidTitle or InvalidContent."""
    text = check_text(title, field).strip()
    text = re.sub(r"^#{1,6}[ \t]+", "", text)
    if not text:
        raise InvalidTitle(f"'{field}' is empty", fix="Give it at least one word.")
    if _CONTROL.search(text):
        raise InvalidTitle(f"'{field}' holds a line break or control character", fix="Write it on one line.")
    if len(text) > MAX_TITLE:
        raise InvalidTitle(
            f"'{field}' is over {MAX_TITLE} characters", fix="Shorten it; put the rest in the content."
        )
    read = anchors.read_heading(text)
    if read.name is not None:
        raise InvalidTitle(
            f"'{field}' holds an anchor",
            fix="Leave the anchor out; it is written for you and returned as the slug.",
        )
    if read.suffix:
        raise InvalidTitle(
            f"'{field}' ends in an attribute list ({read.suffix.strip()[:_SHOWN]})",
            fix="Leave the list out: a heading keeps the attributes that it has.",
        )
    if not to_plain_text(text):
        raise InvalidTitle(f"'{field}' shows no text to a reader", fix="Give it at least one word.")
    return text


def parse_content_outline(text: str, field: str) -> BlockOutline:
    """Return the headings and lists of a content.

    Raises InvalidContent if it would take in what stands after it.
    """
    outline = markdown_outline.read_closed_outline(text)
    if outline is None:
        raise InvalidContent(
            f"'{field}' ends inside a code fence, comment or HTML block that is still open",
            fix="Close it: end the content with the same fence (```), or with -->.",
        )
    return outline


def collect_anchor_names(document: Document, without: Iterable[Section] = ()) -> set[str]:
    """Return every name that an anchor may collide with, except those of the excluded sections."""
    left_out = {section.position for section in without}
    names = {PREAMBLE}
    for section in document.sections:
        if section.position not in left_out:
            names.update((section.address, section.key, *section.aliases))
            if section.anchor:
                names.add(section.anchor)
    return names


def derive_address(parent: str | None, title: str) -> str:
    """Return the address that a section of this title has below a parent, if nothing else has it."""
    slug = make_heading_slug(to_plain_text(title))
    return f"{parent}/{slug}" if parent else slug


def find_free_address(parent: str | None, title: str, taken: set[str]) -> str:
    """Return an address below a parent that nothing else has: its slug, numbered if need be."""
    return UniqueNames("-", 1, taken).give(derive_address(parent, title))


def format_heading(level: int, title: str, address: str, form: AnchorForm) -> str:
    """Return an ATX heading with its anchor."""
    return f"{'#' * level} {anchors.write_heading(title, address, form)}"


def drop_own_heading(text: str, section: Section, document: Document) -> str:
    """Return content without the section's own heading (and what stands above it), if it begins with that."""
    before = strip_blank_lines(decode_with_newlines(document.text(section.start, section.body)))
    if before and (text == before or text.startswith(before + "\n")):
        return strip_blank_lines(text[len(before) :])
    return strip_heading(text, section.title, max(section.level, 1))


def strip_heading(text: str, title: str, level: int) -> str:
    """Return content without its first line, where that is a heading of this title.

    A deeper one is a subsection.
    """
    headings = read_outline(text).headings
    if headings and headings[0].line == 0 and headings[0].level <= level:
        first = to_plain_text(anchors.read_heading(headings[0].source).words)
        # A title such as `C #`, given as a heading, loses its last mark (CommonMark §4.2).
        if first.casefold() in (title.casefold(), re.sub(r"(?<![ \t])[ \t]+#+$", "", title).casefold()):
            return strip_blank_lines("\n".join(text.split("\n")[headings[0].end :]))
    return text


def prepare_content(
    document: Document,
    text: str,
    *,
    below: Section | None,
    level: int,
    address: str | None,
    form: AnchorForm,
    replaced: tuple[Section, ...] = (),
    reserved: Iterable[str] = (),
    field: str = "content",
) -> Content:
    """Return each heading of a content an anchor, below a section of this level and address.

    `below` is that section where it is already there: its children (less those replaced) may not be named
    again.
    Raises InvalidContent, LevelConflict and SectionExists.
    """
    lines = Lines(text.encode())
    headings = read_headings(lines, parse_content_outline(text, field))
    if not headings:
        return Content(text, (), ())
    taken = collect_anchor_names(document, replaced) | set(reserved)
    _reserve_anchors(headings, taken)
    names = UniqueNames("-", 1, taken)
    left_out = {section.position for section in replaced}
    children = {
        child.title.casefold(): child.address
        for child in (document.children(None if below.is_preamble else below) if below else ())
        if child.position not in left_out
    }
    open_sections: list[tuple[int, str | None]] = [(level, address)]
    parts: list[bytes] = []
    position = 0
    added: list[str] = []
    hints: list[str] = []
    for heading in headings:
        _check_level(heading, level, address)
        while len(open_sections) > 1 and open_sections[-1][0] >= heading.block.level:
            open_sections.pop()
        existing = children.get(heading.title.casefold()) if len(open_sections) == 1 else None
        if existing:
            raise SectionExists(
                f"line {heading.block.line + 1} of the content names a subsection that is already there",
                fix=f"Update '{existing}' by itself, or set include_subsections to replace them all.",
                slug=existing,
            )
        name = heading.anchor
        if name is None:
            name = names.give(derive_address(open_sections[-1][1], heading.title))
            words = (
                " ".join(heading.block.source.split("\n"))
                if heading.block.is_setext
                else heading.block.source
            )
            start, end, written = replace_words(
                lines, heading.block, anchors.write_heading(words, name, form)
            )
            parts += (lines.data[position:start], written)
            position = end
        added.append(name)
        open_sections.append((heading.block.level, name))
        if heading.block.level > DEEP_LEVEL:
            hints.append(format_deep_hint(name, heading.block.level))
    parts.append(lines.data[position:])
    return Content(b"".join(parts).decode(), tuple(added), tuple(hints[:_SHOWN_HINTS]))


def format_deep_hint(address: str, level: int) -> str:
    """Return what is said of a section that stands deeper than H4."""
    return f"'{address}' is an H{level}; three levels (H2 to H4) are easier to read."


def _reserve_anchors(headings: list[AnchoredHeading], taken: set[str]) -> None:
    """Take the names that the content's headings bring. Raises SectionExists for one that is taken."""
    for heading in headings:
        brought = {heading.text.name, heading.anchor, *heading.aliases} - {None}
        for name in brought & taken:
            raise SectionExists(
                f"line {heading.block.line + 1} of the content carries an anchor that is taken already",
                fix="Leave the anchor out; one is written for you.",
                slug=name,
            )
        taken.update(name for name in brought if name)


def _check_level(heading: AnchoredHeading, level: int, address: str | None) -> None:
    if heading.block.level > level:
        return
    line = heading.block.line + 1
    place = f"the section '{address}' is itself an H{level}" if address else "only sections may stand here"
    deeper = "#" * min(level + 1, MAX_LEVEL)
    raise LevelConflict(
        f"line {line} of the content is an H{heading.block.level}, and {place}",
        fix=f"Nest it with {deeper} (H{level + 1}), or add a section beside this one with add_section."
        if level < MAX_LEVEL
        else "Headings end at H6; use bold text or a list.",
        line=line,
    )
