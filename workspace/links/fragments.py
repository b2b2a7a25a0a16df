"""Names: the fragments by which links lead to positions in a document.

Names that an author wrote come first: anchors of headings, ids of HTML, footnotes. The fragments that the
dialect's renderer derives from the headings follow, then Docyard's own addresses, then the addresses that
earlier versions of Docyard assigned. A name that occurs more than once leads to its first position, as in a
browser.

Headings at any depth of lists and quotations count, and equal headings are numbered over the full document.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from workspace.config.names import Dialect
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

_NUMBERED_ID = re.compile(r"(.*)_([0-9]+)", re.DOTALL)


def make_github_slug(text: str) -> str:
    """Return the slug of a heading by the rule of the `github-slugger` package; "" for punctuation only."""
    slug = make_heading_slug(text)
    # EMPTY_SLUG is also the slug of the word "section". Only text without slug characters has the slug `x`
    # after an `x` is appended.
    return "" if slug == EMPTY_SLUG and make_heading_slug(f"{text}x") == "x" else slug


def make_mkdocs_slug(text: str) -> str:
    """Return the ASCII slug that Python-Markdown's `toc` extension makes of a heading's text."""
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_text).strip().lower())


class UnderscoredIds:
    """A generator of unique ids as Python-Markdown's `unique` makes them: `errors`, `errors_1`.

    If a used name ends in `_` and a number, the number is increased.
    """

    def __init__(self, used_ids: set[str]) -> None:
        self._used_ids = used_ids
        self._next_ids: dict[str, str] = {}

    def make_unique(self, name: str) -> str:
        """Return the name if it is unused, otherwise the next unused name."""
        used_names: list[str] = []
        while name in self._used_ids or not name:
            used_names.append(name)
            name = self._next_ids.get(name) or _increment_number(name)
        # The next search for one of the used names begins at the new name.
        self._next_ids.update(dict.fromkeys(used_names, name))
        self._used_ids.add(name)
        return name


def _increment_number(name: str) -> str:
    match = _NUMBERED_ID.fullmatch(name)
    # Longer numbers are not counters, and Python limits the digits of an integer that it reads.
    if match and len(match[2]) < 10:
        return f"{match[1]}_{int(match[2]) + 1}"
    return f"{name}_1"


# Text at the end of a heading that Python-Markdown's `attr_list` reads as attributes.
_ATTRIBUTES = re.compile(r"\{:?[^{}\n]+\}$")

_ANCHOR_TAGS = re.compile(r"<a [^<>`\\]*>[ \t]*</a>", re.IGNORECASE)

# Anchors on lines of their own, which are part of the text of an underlined heading.
_ANCHORS_ABOVE = re.compile(r"^(?:<a [^<>`\\]*>[ \t]*</a>[ \t]*\r?\n)+", re.IGNORECASE)

# Tags, images and code that may leave spaces at the ends of a text, and entities that may be spaces.
_MAY_LEAVE_SPACES = re.compile(r"[<&]|!\[|` | `")

# An anchor in braces that a renderer without attribute lists displays as text.
_PLAIN_BRACES = re.compile(r"[ \t]*\{:?[ \t]*#[A-Za-z0-9./-]+[ \t]*\}")


class TargetHeading(NamedTuple):
    """A heading at any depth: the byte offset of its line, and its inline Markdown.

    `title_source` is the Markdown without attribute lists or an anchor in angle brackets. It includes
    HTML, because no renderer displays HTML as text. `text` is the rendered text of `title_source`, with the
    spaces next to tags and images, or None if only a parser can find this text.
    """

    offset: int
    source: str
    title_source: str
    text: str | None

    @property
    def is_anchored(self) -> bool:
        """Return True if the heading has an attribute list, or an anchor in angle brackets."""
        return self.title_source != self.source


def read_target_headings(document: Document) -> Sequence[TargetHeading]:
    """Return every heading of a document in order, including those in lists and quotations."""
    if not may_have_nested_headings(document.data):
        return [
            _make_heading(
                item.heading_start, item.heading.block.source, item.heading.text, item.heading.title
            )
            for item in document.sections
            if item.heading
        ]
    first_line, body_start = document.front_matter_lines, document.front_matter_end
    return [
        _make_heading(
            document.lines.offset(first_line + item.line), item.source, read_heading(item.source), None
        )
        for item in outline.read_all_headings(document.text(body_start, len(document.data)))
    ]


def _make_heading(offset: int, source: str, text: HeadingText, title: str | None) -> TargetHeading:
    has_attribute_list = text.anchor_form not in (None, AnchorForm.HTML)
    title_source = text.prefix + text.title if has_attribute_list else strip_attribute_lists(source)
    return TargetHeading(
        offset, source, title_source, None if title is None else _restore_spaces(title, title_source)
    )


def _restore_spaces(title: str, title_source: str) -> str | None:
    """Return a title with the spaces next to its tags; None if only a parser can find them."""
    visible_source = _ANCHOR_TAGS.sub("", title_source) if "<" in title_source else title_source
    if _MAY_LEAVE_SPACES.search(visible_source):
        return None
    start, end = len(visible_source) - len(visible_source.lstrip()), len(visible_source.rstrip())
    return visible_source[:start] + title + visible_source[end:]


def derive_fragments(
    headings: Sequence[TargetHeading], dialect: Dialect, author_names: set[str]
) -> Iterable[tuple[str, int]]:
    """Return the fragments that the dialect's renderer makes of headings, each with its byte offset.

    `author_names` are the names that authors wrote.
    """
    match dialect:
        case Dialect.GITHUB:
            return _derive_github_fragments(headings)
        case Dialect.DOCUSAURUS:
            # @docusaurus/mdx-loader, `remark/headings`: a heading with an explicit id is not numbered.
            headings_with_names = [
                (_read_anchor_name(heading, Dialect.DOCUSAURUS), heading) for heading in headings
            ]
            explicit_names = [(name, heading.offset) for name, heading in headings_with_names if name]
            return [
                *explicit_names,
                *_derive_github_fragments([heading for name, heading in headings_with_names if not name]),
            ]
        case Dialect.MKDOCS:
            return _derive_mkdocs_fragments(headings, author_names)


def derive_brace_fragments(headings: Sequence[TargetHeading]) -> Iterable[tuple[str, int]]:
    """Return the fragments that GitHub makes of headings, whose text there includes anchors in braces."""
    if not any(heading.is_anchored for heading in headings):
        return ()
    return _derive_github_fragments(
        [
            heading._replace(title_source=heading.source, text=_render_with_braces(heading))
            for heading in headings
        ]
    )


def _render_with_braces(heading: TargetHeading) -> str | None:
    """Return a heading's rendered text with its anchor; None if only a parser can find it."""
    braces = heading.source.removeprefix(heading.title_source)
    is_plain = not braces or (braces != heading.source and _PLAIN_BRACES.fullmatch(braces))
    return heading.text + braces if heading.text is not None and is_plain else None


def _derive_github_fragments(headings: Iterable[TargetHeading]) -> Iterable[tuple[str, int]]:
    unique_names = UniqueNames("-", 1)
    return [
        (unique_names.make_unique(make_github_slug(_render_text(heading))), heading.offset)
        for heading in headings
    ]


def _derive_mkdocs_fragments(
    headings: Iterable[TargetHeading], author_names: set[str]
) -> Iterable[tuple[str, int]]:
    headings_with_names = [(_read_anchor_name(heading, Dialect.MKDOCS), heading) for heading in headings]
    explicit_names = [(name, heading.offset) for name, heading in headings_with_names if name]
    slugs = [
        (make_mkdocs_slug(_render_text(_strip_braces(heading))), heading.offset)
        for name, heading in headings_with_names
        if not name
    ]
    ids = UnderscoredIds({*author_names, *(name for name, _ in explicit_names)})
    return [*explicit_names, *((ids.make_unique(name), offset) for name, offset in slugs)]


def _read_anchor_name(heading: TargetHeading, dialect: Dialect) -> str | None:
    """Return the id that a dialect reads from a heading's attribute list or angle brackets, or None."""
    if not heading.is_anchored:
        return None
    text = read_heading(heading.source)
    reads_name = text.anchor_form is not AnchorForm.ANGLE or dialect is not Dialect.MKDOCS
    return text.name if reads_name and text.anchor_form is not AnchorForm.HTML else None


def _strip_braces(heading: TargetHeading) -> TargetHeading:
    """Return a heading without the braces that are attributes in Python-Markdown, and text in Docyard."""
    match = _ATTRIBUTES.search(heading.title_source)
    return (
        heading._replace(title_source=heading.title_source[: match.start()], text=None) if match else heading
    )


def _render_text(heading: TargetHeading) -> str:
    """Return a heading's text as a renderer shows it."""
    if heading.text is not None:
        return heading.text
    # A line end is not part of a slug, but it would be read as a space.
    title_source = _ANCHORS_ABOVE.sub(
        lambda match: match[0].replace("\r", "").replace("\n", ""), heading.title_source
    )
    # A full stop is not part of a slug, and it preserves the spaces at both ends.
    return to_plain_text(f".{title_source}.")[1:-1]


# GitHub adds this prefix to every id of a document, and resolves ids with and without it.
_USER_CONTENT_PREFIX = "user-content-"

# The URL Fragment Text Directives draft: the text after this mark is a search text, not a name.
_DIRECTIVE_MARK = ":~:"

# Without `[^`, `id=` or `name=` a document has only the names of its headings. The expression begins
# with the rarest letter of each and looks back at the others, so that it is tried at these letters only.
_NAME_MARK = re.compile(rb"[\[dDmM](?:(?<=\[)\^|(?<=[iI][dD])[ \t\r\n]*=|(?<=[nN][aA][mM])[eE][ \t\r\n]*=)")


class FragmentTarget(NamedTuple):
    """The target of a fragment: a byte of the document, and the position of its section.

    The target of a heading is the start of its own line (`Section.heading_start`). Without a section, the
    target is the document itself.
    """

    offset: int
    section: int | None


TOP_FRAGMENT = "top"
"""The fragment of a document's top (HTML §7.4.6.3), in any letter case, unless the document defines it."""

DOCUMENT_TARGET = FragmentTarget(0, None)
"""The document itself: the target of its empty fragment, of `top` and of `_preamble`."""


def find_names(document: Document, dialect: Dialect) -> Mapping[str, FragmentTarget]:
    """Return each name of a document with its target. The result is cached for each dialect."""
    return document.derive(_collect_names, dialect)


def find_target(names: Mapping[str, FragmentTarget], fragment: str) -> FragmentTarget | None:
    """Return the target of a decoded fragment, or None; only `top` is found in any letter case."""
    name = fragment.partition(_DIRECTIVE_MARK)[0]
    target = names.get(name)
    if target is None and name.startswith(_USER_CONTENT_PREFIX):
        target = names.get(name.removeprefix(_USER_CONTENT_PREFIX))
    return DOCUMENT_TARGET if target is None and name.lower() == TOP_FRAGMENT else target


def choose_name(document: Document, offset: int, fragment: str | None, dialect: Dialect) -> str | None:
    """Return the best name of an offset: the link's fragment, else an author's name, else any; or None."""
    names = find_names(document, dialect)
    if fragment is not None and (target := find_target(names, fragment)) and target.offset == offset:
        return fragment
    candidates = [
        name for name, target in names.items() if target.offset == offset and target != DOCUMENT_TARGET
    ]
    preamble = document.preamble
    if not candidates and preamble is not None and preamble.heading_start == offset:
        # The slug of the title names another heading now.
        return choose_document_name(document, TOP_FRAGMENT, dialect)
    return candidates[0] if candidates else None


def choose_document_name(document: Document, fragment: str, dialect: Dialect) -> str:
    """Return a name of the full document: the link's fragment, unless a section has that name now.

    The next choices are `top`, `_preamble` and "".
    """
    names = find_names(document, dialect)
    candidates = (
        name for name in (fragment, TOP_FRAGMENT, PREAMBLE) if find_target(names, name) == DOCUMENT_TARGET
    )
    return next(candidates, "")


def _collect_names(document: Document, dialect: Dialect) -> dict[str, FragmentTarget]:
    starts = [section.start for section in document.sections]

    def make_target_at(offset: int) -> FragmentTarget:
        return FragmentTarget(offset, max(0, bisect_right(starts, offset) - 1) if starts else None)

    explicit_names = sorted(_find_explicit_names(document), key=lambda item: item[1])
    headings = read_target_headings(document)
    author_names = {name for name, _ in explicit_names}
    names: dict[str, FragmentTarget] = {"": DOCUMENT_TARGET, PREAMBLE: DOCUMENT_TARGET}
    for name, offset in (*explicit_names, *derive_fragments(headings, dialect, author_names)):
        if name not in names:
            names[name] = make_target_at(offset)
    for section in document.sections:
        names.setdefault(section.address, _make_target(section))
    if dialect is Dialect.GITHUB:
        for name, offset in derive_brace_fragments(headings):
            if name not in names:
                names[name] = make_target_at(offset)
    for name, sections in document.earlier_names.items():
        if len(sections) == 1:
            names.setdefault(name, _make_target(sections[0]))
    return names


def _make_target(section: Section) -> FragmentTarget:
    return FragmentTarget(section.heading_start, section.position)


def _find_explicit_names(document: Document) -> Iterator[tuple[str, int]]:
    """Yield the names that an author wrote, each with its byte offset.

    A name in or above a heading has the offset of that heading.
    """
    sections_by_name: dict[str, list[Section]] = {}
    for section in document.sections:
        for name in (*filter(None, (section.anchor,)), *section.aliases):
            sections_by_name.setdefault(name, []).append(section)
            yield name, section.heading_start
    if not _NAME_MARK.search(document.data):
        return
    for defined_name in read_cached_links(document).names:
        # The sections are in document order, and many may have the same name.
        sections = sections_by_name.get(defined_name.name, [])
        index = bisect_right(sections, defined_name.offset, key=_get_start) - 1
        if index < 0 or defined_name.offset >= sections[index].body_start:
            yield defined_name.name, defined_name.offset


def _get_start(section: Section) -> int:
    return section.start
