"""Content that a caller brings: checked, taken off its own heading, and its headings given anchors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workspace import anchors, markdown
from workspace.errors import WorkspaceError
from workspace.slugs import heading_slug

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workspace.anchors import AnchorForm, HeadingText
    from workspace.document import Document, Section
    from workspace.markdown import Heading

MAX_LEVEL = 6
DEEP_LEVEL = 4

_ATX = re.compile(r"(?P<mark> {0,3}#{1,6})(?:[ \t]+(?P<text>.*?))?(?P<close>[ \t]+#+)?[ \t]*$")
_LINE_END = re.compile(r"\r\n?|\n")
_CONTROL = re.compile("[\x00-\x1f\x7f\x85\u2028\u2029]")
MAX_TITLE = 300


class InvalidContent(WorkspaceError):
    """A text that cannot stand in a document: a NUL, or a lone surrogate, which UTF-8 does not have."""

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
    """Content ready to be put in: LF line ends, no blank lines around it, anchors written; the addresses it adds."""

    text: str
    addresses: tuple[str, ...]
    hints: tuple[str, ...]


def checked_text(text: str, field: str) -> str:
    """A text with LF line ends. Raises InvalidContent for a NUL or a lone surrogate."""
    if "\0" in text:
        raise InvalidContent(
            f"'{field}' holds a NUL character, which Markdown cannot carry", fix="Leave it out."
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidContent(
            f"'{field}' holds a lone surrogate (at character {error.start}), which UTF-8 cannot carry",
            fix="Send the whole character, or leave it out.",
        ) from error
    return _LINE_END.sub("\n", text)


def strip_blank_lines(text: str) -> str:
    """A text without the blank lines at its beginning and end; indentation stays."""
    lines = text.split("\n")
    while lines and not lines[0].strip():
        lines.pop(0)
    while lines and not lines[-1].strip():
        lines.pop()
    return "\n".join(lines)


def checked_title(title: str, field: str = "title") -> str:
    """A title on one line, without heading marks around it. Raises InvalidTitle or InvalidContent."""
    text = checked_text(title, field).strip()
    text = re.sub(r"^#{1,6}[ \t]+", "", text)
    if not text:
        raise InvalidTitle(f"'{field}' is empty", fix="Give it at least one word.")
    if _CONTROL.search(text):
        raise InvalidTitle(f"'{field}' holds a line break or control character", fix="Write it on one line.")
    if len(text) > MAX_TITLE:
        raise InvalidTitle(
            f"'{field}' is over {MAX_TITLE} characters", fix="Shorten it; put the rest in the content."
        )
    if anchors.read_heading(text).name is not None:
        raise InvalidTitle(
            f"'{field}' holds an anchor",
            fix="Leave the anchor out; it is written for you and returned as the slug.",
        )
    return text


def taken_names(document: Document, without: Iterable[Section] = ()) -> set[str]:
    """Every name that an anchor in the document would collide with, less those of the sections left out."""
    left_out = {section.position for section in without}
    names: set[str] = set()
    for section in document.sections:
        if section.position not in left_out:
            names.update((section.address, section.key, *section.aliases))
            if section.anchor:
                names.add(section.anchor)
    return names


def free_address(parent: str | None, title: str, taken: set[str]) -> str:
    """An address below a parent that nothing else has: its slug, numbered if need be."""
    slug = heading_slug(markdown.plain_text(title))
    base = f"{parent}/{slug}" if parent else slug
    address, number = base, 0
    while address in taken or address == "_preamble":
        number += 1
        address = f"{base}-{number}"
    return address


def heading_line(level: int, title: str, address: str, form: AnchorForm) -> str:
    """An ATX heading with its anchor."""
    return f"{'#' * level} {anchors.write_heading(title, address, form)}"


def own_heading_dropped(text: str, section: Section, document: Document) -> str:
    """Content without the section's own heading (and what stands above it), if it begins with that."""
    before = strip_blank_lines(_LINE_END.sub("\n", document.text(section.start, section.body)))
    if before and (text == before or text.startswith(before + "\n")):
        return strip_blank_lines(text[len(before) :])
    return without_heading(text, section.title)


def without_heading(text: str, title: str) -> str:
    """Content without its first line, where that is a heading of this title."""
    headings = markdown.outline(text, is_fragment=True).headings
    if headings and headings[0].line == 0:
        first = markdown.plain_text(anchors.read_heading(headings[0].source).words)
        if first.casefold() == title.casefold():
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
) -> Content:
    """Gives each heading of a content an anchor, below a section of this level and address.

    `below` is that section where it is already there: its children (less those replaced) may not be named again.
    Raises LevelConflict and SectionExists.
    """
    headings = markdown.outline(text, is_fragment=True).headings
    if not headings:
        return Content(text, (), ())
    taken = taken_names(document, replaced) | set(reserved)
    children = {
        child.title.casefold(): child.address
        for child in (document.children(None if below and below.is_preamble else below) if below else ())
        if child not in replaced
    }
    lines = text.split("\n")
    open_sections: list[tuple[int, str | None]] = [(level, address)]
    added: list[str] = []
    hints: list[str] = []
    for heading in headings:
        _check_level(heading, level, address)
        while len(open_sections) > 1 and open_sections[-1][0] >= heading.level:
            open_sections.pop()
        parts = anchors.read_heading(heading.source)
        title = markdown.plain_text(parts.words)
        if len(open_sections) == 1 and title.casefold() in children:
            raise SectionExists(
                f"line {heading.line + 1} of the content names a subsection that is already there",
                fix=f"Update '{children[title.casefold()]}' by itself, or set include_subsections to replace them all.",
                slug=children[title.casefold()],
            )
        name = _anchor_for(parts, heading, title, open_sections[-1][1], taken)
        if parts.name is None:
            _write_anchor(lines, heading, name, form)
        taken.add(name)
        added.append(name)
        open_sections.append((heading.level, name))
        if heading.level > DEEP_LEVEL:
            hints.append(f"'{name}' is an H{heading.level}; three levels (H2 to H4) are easier to read.")
    return Content("\n".join(lines), tuple(added), tuple(hints[:3]))


def _check_level(heading: Heading, level: int, address: str | None) -> None:
    if heading.level > level:
        return
    place = f"the section '{address}' is itself an H{level}" if address else "only sections may stand here"
    deeper = "#" * min(level + 1, MAX_LEVEL)
    raise LevelConflict(
        f"line {heading.line + 1} of the content is an H{heading.level}, and {place}",
        fix=f"Nest it with {deeper} (H{level + 1}), or add a section beside this one with add_section."
        if level < MAX_LEVEL
        else "Headings end at H6; use bold text or a list.",
        line=heading.line + 1,
    )


def _anchor_for(parts: HeadingText, heading: Heading, title: str, parent: str | None, taken: set[str]) -> str:
    if parts.name is None:
        return free_address(parent, title, taken)
    if parts.name in taken:
        raise SectionExists(
            f"line {heading.line + 1} of the content carries an anchor that this document already has",
            fix="Leave the anchor out; one is written for you.",
            slug=parts.name,
        )
    return parts.name


def _write_anchor(lines: list[str], heading: Heading, name: str, form: AnchorForm) -> None:
    first, last = heading.line, heading.end - 1
    if heading.is_setext:
        last -= 1
        empty = anchors.write_heading("", name, form)
        if form == anchors.AnchorForm.HTML:
            lines[first] = empty + lines[first].strip()
        else:
            lines[last] = lines[last].rstrip() + empty
        return
    found = _ATX.match(lines[first])
    if found is None:
        raise LevelConflict(
            f"line {first + 1} of the content is no plain heading", fix="Begin it with #.", line=first + 1
        )
    written = anchors.write_heading((found["text"] or "").strip(), name, form).strip()
    lines[first] = f"{found['mark']} {written}{found['close'] or ''}"
