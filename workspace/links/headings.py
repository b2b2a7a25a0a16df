"""Headings as links see them: at any depth of lists and quotations, and numbered over the whole document."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from workspace import markdown
from workspace.config.tables import Dialect
from workspace.document.slugs import Names
from workspace.links.numbering import UnderscoredIds, github_slug, mkdocs_slug
from workspace.markdown.anchors import AnchorForm, HeadingText, read_heading, without_lists

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from workspace.document.document import Document

# Whatever Python-Markdown's `attr_list` takes for attributes at the end of a heading.
_ATTRIBUTES = re.compile(r"\{:?[^{}\n]+\}$")
# Tags and images that leave spaces at the ends of a text, and entities that are spaces.
_ANCHOR_TAGS = re.compile(r"<a [^<>`\\]*>[ \t]*</a>", re.IGNORECASE)
# Anchors on lines of their own, which an underlined heading has among its words.
_ANCHORS_ABOVE = re.compile(r"^(?:<a [^<>`\\]*>[ \t]*</a>[ \t]*\r?\n)+", re.IGNORECASE)
_AT_ENDS = re.compile(r"[<&]|!\[|` | `")
# An anchor in braces that is text for a renderer without a doubt.
_PLAIN_BRACES = re.compile(r"[ \t]*\{:?[ \t]*#[A-Za-z0-9./-]+[ \t]*\}")


class LinkedHeading(NamedTuple):
    """A heading at any depth: the byte of its line, its inline Markdown, and that less its anchor.

    Only attribute lists and an anchor in angles are taken off `words`: HTML is no text for anybody. `text` is
    what a renderer has of the words, where that is known already: the spaces beside tags and images count.
    """

    offset: int
    source: str
    words: str
    text: str | None

    @property
    def is_anchored(self) -> bool:
        """Whether it has an attribute list, or an anchor in angles."""
        return self.words != self.source


def all_headings(document: Document) -> Sequence[LinkedHeading]:
    """Every heading of a document in order, those in lists and quotations included."""
    if not markdown.may_have_nested_headings(document.data):
        return [
            _read(at.heading_start, at.heading.block.source, at.heading.text, at.heading.title)
            for at in document.sections
            if at.heading
        ]
    first, end = document.front_matter_lines, document.front_matter_end
    return [
        _read(document.lines.offset(first + at.line), at.source, read_heading(at.source), None)
        for at in markdown.all_headings(document.text(end, len(document.data)))
    ]


def _read(offset: int, source: str, text: HeadingText, title: str | None) -> LinkedHeading:
    is_listed = text.form not in (None, AnchorForm.HTML)
    bare = text.prefix + text.words if is_listed else without_lists(source)
    return LinkedHeading(offset, source, bare, None if title is None else _with_spaces(title, bare))


def _with_spaces(title: str, words: str) -> str | None:
    """A title with the spaces that stand between its words and tags; None where only a parser can tell."""
    bare = _ANCHOR_TAGS.sub("", words) if "<" in words else words
    if _AT_ENDS.search(bare):
        return None
    begin, end = len(bare) - len(bare.lstrip()), len(bare.rstrip())
    return bare[:begin] + title + bare[end:]


def derived(
    headings: Sequence[LinkedHeading], dialect: Dialect, written: set[str]
) -> Iterable[tuple[str, int]]:
    """The fragments that the dialect's renderer makes of headings, each with its byte.

    `written` are the names that authors gave to places of the document.
    """
    match dialect:
        case Dialect.GITHUB:
            return _github(headings)
        case Dialect.DOCUSAURUS:
            # @docusaurus/mdx-loader, `remark/headings`: a heading with an id of its own takes no number.
            own = [(_own_name(at, Dialect.DOCUSAURUS), at) for at in headings]
            named = [(name, at.offset) for name, at in own if name]
            return [*named, *_github([at for name, at in own if not name])]
        case Dialect.MKDOCS:
            return _mkdocs(headings, written)


def with_braces(headings: Sequence[LinkedHeading]) -> Iterable[tuple[str, int]]:
    """The fragments that GitHub makes, which takes an anchor in braces for words of the heading."""
    if not any(heading.is_anchored for heading in headings):
        return ()
    return _github([at._replace(words=at.source, text=_text_with_braces(at)) for at in headings])


def _text_with_braces(heading: LinkedHeading) -> str | None:
    """A heading's text with its anchor, where that is known already."""
    braces = heading.source.removeprefix(heading.words)
    is_plain = not braces or (braces != heading.source and _PLAIN_BRACES.fullmatch(braces))
    return heading.text + braces if heading.text is not None and is_plain else None


def _github(headings: Iterable[LinkedHeading]) -> Iterable[tuple[str, int]]:
    numbered = Names("-", 1)
    return [(numbered.give(github_slug(_visible(at))), at.offset) for at in headings]


def _mkdocs(headings: Iterable[LinkedHeading], written: set[str]) -> Iterable[tuple[str, int]]:
    own = [(_own_name(at, Dialect.MKDOCS), at) for at in headings]
    explicit = [(name, at.offset) for name, at in own if name]
    slugs = [(mkdocs_slug(_visible(_without_braces(at))), at.offset) for name, at in own if not name]
    ids = UnderscoredIds({*written, *(name for name, _ in explicit)})
    return [*explicit, *((ids.give(name), offset) for name, offset in slugs)]


def _own_name(heading: LinkedHeading, dialect: Dialect) -> str | None:
    """Return the id that a dialect takes from a heading's attribute list, or from angles."""
    if not heading.is_anchored:
        return None
    text = read_heading(heading.source)
    is_known = text.form is not AnchorForm.ANGLE or dialect is not Dialect.MKDOCS
    return text.name if is_known and text.form is not AnchorForm.HTML else None


def _without_braces(heading: LinkedHeading) -> LinkedHeading:
    """Return a heading without braces that Python-Markdown takes for attributes, and Docyard for words."""
    found = _ATTRIBUTES.search(heading.words)
    return heading._replace(words=heading.words[: found.start()], text=None) if found else heading


def _visible(heading: LinkedHeading) -> str:
    """A heading's text as a renderer has it."""
    if heading.text is not None:
        return heading.text
    # A line end is no part of a slug, though it would be read as a space.
    words = _ANCHORS_ABOVE.sub(lambda found: found[0].replace("\r", "").replace("\n", ""), heading.words)
    # A full stop has no part in a slug, and keeps the spaces at both ends.
    return markdown.plain_text(f".{words}.")[1:-1]
