"""Check the content and the titles of a call, and add anchors to the headings of content."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workspace.document.headings import plan_inline_replacement, read_headings
from workspace.errors import WorkspaceError
from workspace.markdown import anchors
from workspace.markdown import outline as markdown_outline
from workspace.markdown.inline import to_plain_text
from workspace.markdown.lines import LINE_END, Lines, normalize_line_endings
from workspace.markdown.outline import BlockOutline, read_outline
from workspace.markdown.slugs import PREAMBLE, UniqueNames, make_file_slug, make_heading_slug

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workspace.document.document import Document
    from workspace.document.headings import AnchoredHeading
    from workspace.document.sections import Section
    from workspace.markdown.attribute_lists import AnchorForm

MAX_LEVEL = 6
MAX_RECOMMENDED_LEVEL = 4
MAX_TITLE_CHARACTERS = 300

_CONTROL_CHARACTER = re.compile("[\x00-\x1f\x7f\x85\u2028\u2029]")
# UTF-8 cannot encode a lone surrogate. The JSON decoder has already joined each pair of surrogates.
_UNWRITABLE_CHARACTER = re.compile("[\x00\ud800-\udfff]")
_MAX_HINTS = 3
_MAX_SHOWN_CHARACTERS = 100


class InvalidContent(WorkspaceError):
    """An error: a text is missing or empty, contains a NUL or a lone surrogate, or ends in an open block."""

    code = "INVALID_CONTENT"


class InvalidTitle(WorkspaceError):
    """An error: a title is empty, invisible or too long, or has a control character, an anchor or attributes.

    It is also raised if a title has no letter or digit for a file name.
    """

    code = "INVALID_TITLE"


class LevelConflict(WorkspaceError):
    """An error: a heading of content has a wrong level. `line` is its line in the content, from 1."""

    code = "LEVEL_CONFLICT"


class SectionExists(WorkspaceError):
    """An error: a section with this title or anchor exists. `slug` is its address."""

    code = "SECTION_EXISTS"


@dataclass(frozen=True, slots=True)
class PreparedContent:
    """Prepared content with LF line endings and anchors, the addresses of its sections, and hints."""

    text: str
    addresses: tuple[str, ...]
    hints: tuple[str, ...]


def check_text(text: str, field: str) -> str:
    """Return a text with LF line endings. `field` is the name of the argument that contains the text.

    Raises InvalidContent with line and column for a NUL or a lone surrogate.
    """
    match = _UNWRITABLE_CHARACTER.search(text)
    if match is None:
        return normalize_line_endings(text)
    preceding_lines = LINE_END.split(text[: match.start()])
    line, column = len(preceding_lines), len(preceding_lines[-1]) + 1
    name, standard = (
        ("NUL character", "Markdown")
        if match.group() == "\0"
        else ("lone surrogate (half a character)", "UTF-8")
    )
    raise InvalidContent(
        f"'{field}' has a {name} at line {line}, column {column}, which {standard} does not allow",
        fix=f"Remove the {name}, or send the full character."
        if standard == "UTF-8"
        else f"Remove the {name}.",
        field=field,
        line=line,
        column=column,
    )


def strip_blank_lines(text: str) -> str:
    """Return a text without leading and trailing blank lines; indentation is preserved."""
    lines = text.split("\n")
    while lines and not lines[0].strip(" \t"):
        lines.pop(0)
    while lines and not lines[-1].strip(" \t"):
        lines.pop()
    return "\n".join(lines)


def check_title(title: str, field: str = "title") -> str:
    """Return a title without surrounding white space and leading #s. Raises InvalidTitle or InvalidContent.

    `field` is the name of the argument that contains the title.
    """
    text = check_text(title, field).strip()
    text = re.sub(r"^#{1,6}[ \t]+", "", text)
    if not text:
        raise InvalidTitle(f"'{field}' is empty", fix=f"Set '{field}' to at least one word.")
    if _CONTROL_CHARACTER.search(text):
        raise InvalidTitle(
            f"'{field}' has a line break or control character", fix=f"Write '{field}' on one line."
        )
    if len(text) > MAX_TITLE_CHARACTERS:
        raise InvalidTitle(
            f"'{field}' has {len(text):,} characters (limit {MAX_TITLE_CHARACTERS})",
            fix=f"Shorten '{field}', and write the remaining text into the content.",
        )
    heading = anchors.read_heading(text)
    if heading.name is not None:
        raise InvalidTitle(
            f"'{field}' has an anchor ({heading.name})",
            fix="Remove the anchor; Docyard writes one and returns it as the slug.",
        )
    if heading.suffix:
        raise InvalidTitle(
            f"'{field}' ends in an attribute list ({heading.suffix.strip()[:_MAX_SHOWN_CHARACTERS]})",
            fix="Remove the attribute list; the heading keeps its own attributes.",
        )
    if not to_plain_text(text):
        raise InvalidTitle(f"'{field}' has no visible text", fix=f"Set '{field}' to at least one word.")
    return text


def derive_file_name(title: str) -> str:
    """Return the file name of a document with this title. Raises InvalidTitle if it would be empty."""
    stem = make_file_slug(title)
    if not stem:
        raise InvalidTitle(
            f"the title {title!r} has no letter or digit for a file name",
            fix='Add a word to the title, such as "Launch plan 🚀" instead of "🚀".',
        )
    return f"{stem}.md"


def parse_content_outline(text: str, field: str) -> BlockOutline:
    """Return the headings and lists of content.

    Raises InvalidContent if it ends in an open block, which would absorb the next text.
    """
    outline = markdown_outline.read_closed_outline(text)
    if outline is None:
        raise InvalidContent(
            f"'{field}' ends inside an open code fence, comment or HTML block",
            fix="Close the block: end the content with the same fence (```), or with -->.",
        )
    return outline


def collect_anchor_names(document: Document, excluded_sections: Iterable[Section] = ()) -> set[str]:
    """Return the names that a new anchor must not have, without the names of the excluded sections."""
    positions = {section.position for section in excluded_sections}
    names = {PREAMBLE}
    for section in document.sections:
        if section.position not in positions:
            names.update((section.address, section.key, *section.aliases))
            if section.anchor:
                names.add(section.anchor)
    return names


def derive_address(parent: str | None, title: str) -> str:
    """Return the address of a section with this title below a parent, without a number."""
    slug = make_heading_slug(to_plain_text(title))
    return f"{parent}/{slug}" if parent else slug


def find_free_address(parent: str | None, title: str, used_names: set[str]) -> str:
    """Return an unused address below a parent: the slug of the title, with a number if necessary."""
    return UniqueNames("-", 1, used_names).make_unique(derive_address(parent, title))


def format_heading(level: int, title: str, address: str, form: AnchorForm | None) -> str:
    """Return an ATX heading with its anchor, or without an anchor if `form` is None."""
    return f"{'#' * level} {title if form is None else anchors.write_heading(title, address, form)}"


def drop_own_heading(text: str, section: Section, document: Document) -> str:
    """Return content without the section's own heading and anchors, if the content begins with them."""
    heading_text = strip_blank_lines(normalize_line_endings(document.text(section.start, section.body_start)))
    if heading_text and (text == heading_text or text.startswith(heading_text + "\n")):
        return strip_blank_lines(text[len(heading_text) :])
    return strip_heading(text, section.title, max(section.level, 1))


def strip_heading(text: str, title: str, level: int) -> str:
    """Return content without the heading that it begins with, if the heading has this title.

    A heading that is deeper than `level` begins a subsection, and is not removed.
    """
    headings = read_outline(text).headings
    if headings and headings[0].line == 0 and headings[0].level <= level:
        first_title = to_plain_text(anchors.read_heading(headings[0].source).title)
        # A title such as `C #` loses its last mark if it is written as a heading (CommonMark §4.2).
        if first_title.casefold() in (title.casefold(), re.sub(r"(?<![ \t])[ \t]+#+$", "", title).casefold()):
            return strip_blank_lines("\n".join(text.split("\n")[headings[0].end :]))
    return text


def prepare_content(
    document: Document,
    text: str,
    *,
    parent: Section | None,
    level: int,
    address: str | None,
    form: AnchorForm | None,
    replaced_sections: tuple[Section, ...] = (),
    reserved_names: Iterable[str] = (),
    field: str = "content",
) -> PreparedContent:
    """Add an anchor to each heading of content that is written below a section of this level and address.

    If `form` is None, no anchors are added, and the addresses are only those that the headings would have.

    `parent` is that section, if it exists. The content must not repeat the titles of the subsections of
    `parent`, except for those in `replaced_sections`. `reserved_names` are further names that the anchors
    must not have.

    Raises InvalidContent, LevelConflict and SectionExists.
    """
    lines = Lines(text.encode())
    headings = read_headings(lines, parse_content_outline(text, field))
    if not headings:
        return PreparedContent(text, (), ())
    used_names = collect_anchor_names(document, replaced_sections) | set(reserved_names)
    _reserve_anchors(headings, used_names)
    names = UniqueNames("-", 1, used_names)
    replaced_positions = {section.position for section in replaced_sections}
    child_addresses = {
        child.title.casefold(): child.address
        for child in (document.children(None if parent.is_preamble else parent) if parent else ())
        if child.position not in replaced_positions
    }
    open_sections: list[tuple[int, str | None]] = [(level, address)]
    parts: list[bytes] = []
    position = 0
    addresses: list[str] = []
    hints: list[str] = []
    for heading in headings:
        _check_level(heading, level, address)
        while len(open_sections) > 1 and open_sections[-1][0] >= heading.block.level:
            open_sections.pop()
        existing_address = child_addresses.get(heading.title.casefold()) if len(open_sections) == 1 else None
        if existing_address:
            raise SectionExists(
                f"line {heading.block.line + 1} of the content has the title of "
                f"the subsection '{existing_address}'",
                fix=f"Update '{existing_address}' separately, "
                "or set include_subsections to replace all subsections.",
                slug=existing_address,
            )
        name = heading.anchor
        if name is None:
            name = names.make_unique(derive_address(open_sections[-1][1], heading.title))
        if heading.anchor is None and form is not None:
            title = (
                " ".join(heading.block.source.split("\n"))
                if heading.block.is_setext
                else heading.block.source
            )
            start, end, inline = plan_inline_replacement(
                lines, heading.block, anchors.write_heading(title, name, form)
            )
            parts += (lines.data[position:start], inline)
            position = end
        addresses.append(name)
        open_sections.append((heading.block.level, name))
        if heading.block.level > MAX_RECOMMENDED_LEVEL:
            hints.append(format_deep_section_hint(name, heading.block.level))
    parts.append(lines.data[position:])
    return PreparedContent(b"".join(parts).decode(), tuple(addresses), tuple(hints[:_MAX_HINTS]))


def format_deep_section_hint(address: str, level: int) -> str:
    """Return the hint for a section that is deeper than H4."""
    return f"'{address}' is an H{level}; three levels (H2 to H4) are easier to read."


def _reserve_anchors(headings: list[AnchoredHeading], used_names: set[str]) -> None:
    """Add the anchors of the content's headings to `used_names`. Raises SectionExists."""
    for heading in headings:
        names = {heading.text.name, heading.anchor, *heading.aliases} - {None}
        for name in names & used_names:
            raise SectionExists(
                f"line {heading.block.line + 1} of the content has the anchor '{name}', which is in use",
                fix="Remove the anchor; Docyard writes one.",
                slug=name,
            )
        used_names.update(name for name in names if name)


def _check_level(heading: AnchoredHeading, level: int, address: str | None) -> None:
    if heading.block.level > level:
        return
    line = heading.block.line + 1
    reason = f"the section '{address}' is itself an H{level}" if address else "only sections are allowed here"
    marks = "#" * min(level + 1, MAX_LEVEL)
    raise LevelConflict(
        f"line {line} of the content is an H{heading.block.level}, and {reason}",
        fix=f"Write the heading with {marks} (H{level + 1}), or add a sibling section with add_section."
        if level < MAX_LEVEL
        else "H6 is the deepest heading; use bold text or a list.",
        line=line,
    )
