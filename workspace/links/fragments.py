"""Names: the fragments by which links reach places of a document.

What an author wrote comes first: anchors of headings, ids of HTML, footnotes. Then come the fragments that
the dialect's renderer derives from all headings together, then Docyard's own addresses, those of earlier
versions last. A name that several places have leads to the first of them, as in a browser.

Headings as links see them: at any depth of lists and quotations, and numbered over the whole document.

Numbering: how each dialect tells the fragments of equal headings apart, over a whole document.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from workspace.config.tables import Dialect
from workspace.links.reader import read_cached_links
from workspace.markdown import outline
from workspace.markdown.anchors import HeadingText, read_heading, strip_attribute_lists
from workspace.markdown.attribute_lists import AnchorForm
from workspace.markdown.inline import to_plain_text
from workspace.markdown.outline import may_have_nested_headings
from workspace.markdown.slugs import EMPTY_SLUG, PREAMBLE, UniqueNames, make_heading_slug

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from workspace.document.document import Document
    from workspace.document.sections import Section

_NUMBERED = re.compile(r"(.*)_([0-9]+)", re.DOTALL)


def make_github_slug(text: str) -> str:
    """Return the slug of a heading by the rule of the `github-slugger` package; "" for punctuation alone."""
    slug = make_heading_slug(text)
    # A word's slug would hold the letter too; that of signs is nothing but the letter.
    return "" if slug == EMPTY_SLUG and make_heading_slug(f"{text}x") == "x" else slug


def make_mkdocs_slug(text: str) -> str:
    """Return what `slugify` of Python-Markdown's `toc` extension makes of a heading's text: ASCII alone."""
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_text).strip().lower())


class UnderscoredIds:
    """Python-Markdown's `unique`: `errors`, `errors_1`; a name that ends in a number counts on from it."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self._next: dict[str, str] = {}

    def give(self, name: str) -> str:
        """Return the name, if nothing has it yet, else the next that is free."""
        passed: list[str] = []
        while name in self._taken or not name:
            passed.append(name)
            name = self._next.get(name) or _counted_on(name)
        # Each name that was passed leads here from now on, so that no way is gone twice.
        self._next.update(dict.fromkeys(passed, name))
        self._taken.add(name)
        return name


def _counted_on(name: str) -> str:
    numbered = _NUMBERED.fullmatch(name)
    # Longer digits are no count of ours, and Python reads no integer of any length.
    if numbered and len(numbered[2]) < 10:
        return f"{numbered[1]}_{int(numbered[2]) + 1}"
    return f"{name}_1"


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
        """Return True if it has an attribute list, or an anchor in angles."""
        return self.words != self.source


def read_linked_headings(document: Document) -> Sequence[LinkedHeading]:
    """Return every heading of a document in order, those in lists and quotations included."""
    if not may_have_nested_headings(document.data):
        return [
            _read(at.heading_start, at.heading.block.source, at.heading.text, at.heading.title)
            for at in document.sections
            if at.heading
        ]
    first, end = document.front_matter_lines, document.front_matter_end
    return [
        _read(document.lines.offset(first + at.line), at.source, read_heading(at.source), None)
        for at in outline.read_all_headings(document.text(end, len(document.data)))
    ]


def _read(offset: int, source: str, text: HeadingText, title: str | None) -> LinkedHeading:
    is_listed = text.form not in (None, AnchorForm.HTML)
    bare = text.prefix + text.words if is_listed else strip_attribute_lists(source)
    return LinkedHeading(offset, source, bare, None if title is None else _with_spaces(title, bare))


def _with_spaces(title: str, words: str) -> str | None:
    """Return a title with spaces between its words and tags; None if only a parser can find them."""
    bare = _ANCHOR_TAGS.sub("", words) if "<" in words else words
    if _AT_ENDS.search(bare):
        return None
    begin, end = len(bare) - len(bare.lstrip()), len(bare.rstrip())
    return bare[:begin] + title + bare[end:]


def derive_fragments(
    headings: Sequence[LinkedHeading], dialect: Dialect, written: set[str]
) -> Iterable[tuple[str, int]]:
    """Return the fragments that the dialect's renderer makes of headings, each with its byte.

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


def derive_brace_fragments(headings: Sequence[LinkedHeading]) -> Iterable[tuple[str, int]]:
    """Return the fragments that GitHub makes, which takes an anchor in braces for words of the heading."""
    if not any(heading.is_anchored for heading in headings):
        return ()
    return _github([at._replace(words=at.source, text=_text_with_braces(at)) for at in headings])


def _text_with_braces(heading: LinkedHeading) -> str | None:
    """Return a heading's text with its anchor, where that is known already."""
    braces = heading.source.removeprefix(heading.words)
    is_plain = not braces or (braces != heading.source and _PLAIN_BRACES.fullmatch(braces))
    return heading.text + braces if heading.text is not None and is_plain else None


def _github(headings: Iterable[LinkedHeading]) -> Iterable[tuple[str, int]]:
    numbered = UniqueNames("-", 1)
    return [(numbered.give(make_github_slug(_visible(at))), at.offset) for at in headings]


def _mkdocs(headings: Iterable[LinkedHeading], written: set[str]) -> Iterable[tuple[str, int]]:
    own = [(_own_name(at, Dialect.MKDOCS), at) for at in headings]
    explicit = [(name, at.offset) for name, at in own if name]
    slugs = [(make_mkdocs_slug(_visible(_without_braces(at))), at.offset) for name, at in own if not name]
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
    """Return a heading's text as a renderer has it."""
    if heading.text is not None:
        return heading.text
    # A line end is no part of a slug, though it would be read as a space.
    words = _ANCHORS_ABOVE.sub(lambda found: found[0].replace("\r", "").replace("\n", ""), heading.words)
    # A full stop has no part in a slug, and keeps the spaces at both ends.
    return to_plain_text(f".{words}.")[1:-1]


# GitHub writes this before every id of a document, and finds them with and without it.
_USER_CONTENT = "user-content-"

# The URL Fragment Text Directives draft: what follows is text to look for, not a name.
_DIRECTIVE = ":~:"

# Without `[^`, `id=` or `name=` a document has no names but those of its headings. The rarest letter of each
# comes first and looks back at the others, so that it is tried at these alone.
_MAY_BE_NAMED = re.compile(
    rb"[\[dDmM](?:(?<=\[)\^|(?<=[iI][dD])[ \t\r\n]*=|(?<=[nN][aA][mM])[eE][ \t\r\n]*=)"
)


class FragmentTarget(NamedTuple):
    """The target of a fragment: a byte of the document, and the position of its section.

    A heading's place is where its own line begins (`Section.heading_start`). Without a section it is the
    document itself.
    """

    offset: int
    section: int | None


TOP = "top"
"""HTML §7.4.6.3: leads to the top in any letter case, unless something is named so."""

DOCUMENT = FragmentTarget(0, None)
"""The document itself: where its empty fragment, `top` and `_preamble` lead."""


def find_names(document: Document, dialect: Dialect) -> Mapping[str, FragmentTarget]:
    """Return each name of a document with its place; read once for each dialect."""
    return document.derive(_names, dialect)


def find_place(names: Mapping[str, FragmentTarget], fragment: str) -> FragmentTarget | None:
    """Return the place that a decoded fragment leads to; None if there is none. Letter case counts."""
    name = fragment.partition(_DIRECTIVE)[0]
    found = names.get(name)
    if found is None and name.startswith(_USER_CONTENT):
        found = names.get(name.removeprefix(_USER_CONTENT))
    return DOCUMENT if found is None and name.lower() == TOP else found


def choose_name(document: Document, offset: int, fragment: str | None, dialect: Dialect) -> str | None:
    """Return the best name of a place: the one that a link used, else the author's, else any."""
    names = find_names(document, dialect)
    if fragment is not None and (known := find_place(names, fragment)) and known.offset == offset:
        return fragment
    found = [name for name, place in names.items() if place.offset == offset and place != DOCUMENT]
    preamble = document.preamble
    if not found and preamble is not None and preamble.heading_start == offset:
        # The title, whose own words name another heading by now.
        return choose_document_name(document, TOP, dialect)
    return found[0] if found else None


def choose_document_name(document: Document, fragment: str, dialect: Dialect) -> str:
    """Return a name of the whole document: the one that a link used, unless a section has it now."""
    names = find_names(document, dialect)
    free = (name for name in (fragment, TOP, PREAMBLE) if find_place(names, name) == DOCUMENT)
    return next(free, "")


def _names(document: Document, dialect: Dialect) -> dict[str, FragmentTarget]:
    starts = [section.start for section in document.sections]

    def place_at(offset: int) -> FragmentTarget:
        return FragmentTarget(offset, max(0, bisect_right(starts, offset) - 1) if starts else None)

    explicit = sorted(_explicit(document), key=lambda item: item[1])
    headings = read_linked_headings(document)
    written = {name for name, _ in explicit}
    names: dict[str, FragmentTarget] = {"": DOCUMENT, PREAMBLE: DOCUMENT}
    for name, offset in (*explicit, *derive_fragments(headings, dialect, written)):
        if name not in names:
            names[name] = place_at(offset)
    for section in document.sections:
        names.setdefault(section.address, _place(section))
    if dialect is Dialect.GITHUB:
        for name, offset in derive_brace_fragments(headings):
            if name not in names:
                names[name] = place_at(offset)
    for name, sections in document.earlier_names.items():
        if len(sections) == 1:
            names.setdefault(name, _place(sections[0]))
    return names


def _place(section: Section) -> FragmentTarget:
    return FragmentTarget(section.heading_start, section.position)


def _explicit(document: Document) -> Iterator[tuple[str, int]]:
    """Yield the names that an author wrote, each with its byte.

    Those in or above a heading are the heading's.
    """
    of_headings: dict[str, list[Section]] = {}
    for section in document.sections:
        for name in (*filter(None, (section.anchor,)), *section.aliases):
            of_headings.setdefault(name, []).append(section)
            yield name, section.heading_start
    if not _MAY_BE_NAMED.search(document.data):
        return
    for anchor in read_cached_links(document).anchors:
        # The sections are in order of place, and there may be many of one name.
        sections = of_headings.get(anchor.name, [])
        above = bisect_right(sections, anchor.offset, key=_start) - 1
        if above < 0 or anchor.offset >= sections[above].body:
            yield anchor.name, anchor.offset


def _start(section: Section) -> int:
    return section.start
