"""Attribute lists: ids, classes and attributes in braces, as site generators read them at a heading.

{#id}  {#id .class key="value"}    Pandoc, Hugo, kramdown, Docusaurus, Python-Markdown
{ #id .class }                     Pandoc, Hugo, Python-Markdown
{: #id .class key='value' }        Python-Markdown; kramdown on the line below a heading
{/* #id */}                        Docusaurus, whose MDX has no attribute lists

Braces are a list only at the end of a heading, if they begin with an id, a class or an attribute. The braces
in `{ a set }`, `{{ name }}`, `{% if %}` and `${#array}` are text. Braces after a backslash or in a code span
are text too.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

# Docyard writes an anchor as one name, perhaps with attributes after it, and reads the name unchanged.
_PLAIN_LIST = re.compile(r"\{#(?P<name>[^\s{}\[\]]+)(?:[ \t][^{}]*)?\}")
_COMMENT_LIST = re.compile(r"\{/\*[ \t]*#(?P<name>[^\s{}\[\]*]+)[ \t]*\*/\}")
_OPENING_BRACE = re.compile(r"\{:?[ \t]*")
_ITEM = re.compile(
    r"""
    \#(?P<id>[^\s{}\[\]#"'<>=][^\s{}\[\]"'<>=]*+)
    | \.-?[^\W\d][^\s{}\[\]#"'<>=]*+(?:\#(?P<joined>[^\s{}\[\]#."'<>=]++))?
    | (?P<key>[^\W\d][\w:.-]*+)=(?:
        "(?P<double>[^"\r\n]*+)" | '(?P<single>[^'\r\n]*+)' | (?P<bare>[^\s{}\[\]"'=<>]++)
      )
    | (?P<data>data-[\w-]++(?!=))
    | (?P<flag>-)(?=[ \t}])
    | (?P<word>[^\W\d][\w-]*+)
    """,
    re.VERBOSE,
)
_CODE_SPAN = re.compile(r"\\.|(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)", re.DOTALL)

# Braces in values (`title="{a}"`) make more than one position at which a list may begin.
_MAX_OPENING_BRACES = 8
_MAX_LISTS = 4
_MAX_LIST_LENGTH = 4_000
# The search for code spans takes time, and people do not write longer headings.
_MAX_HEADING_LENGTH = 10_000


class AnchorForm(StrEnum):
    """The syntax of an anchor."""

    BRACES = "braces"
    SPACED = "spaced"
    COLON = "colon"
    COMMENT = "comment"
    ANGLE = "angle"
    HTML = "html"

    @property
    def is_list(self) -> bool:
        """Return True if the anchor is written in an attribute list."""
        return self not in (AnchorForm.ANGLE, AnchorForm.HTML)


class AttributeId(NamedTuple):
    """An id in an attribute list, and its characters [start, end) in the text."""

    name: str
    start: int
    end: int


class AttributeList(NamedTuple):
    """An attribute list: its characters [start, end) in the text, its form, its ids in order.

    `is_plain` is True for `{#id}` and `{#id …}`, the only lists that Docyard 0.1.0 read. `items_start` is the
    start of the first item.
    """

    start: int
    end: int
    anchor_form: AnchorForm
    names: tuple[AttributeId, ...]
    is_plain: bool
    items_start: int


def find_trailing_lists(source: str) -> list[AttributeList]:
    """Return the attribute lists that end a heading's inline Markdown, in order."""
    lists: list[AttributeList] = []
    end = len(source)
    while len(lists) < _MAX_LISTS and source.endswith("}", 0, end):
        item = _read_list_before(source, end)
        if item is None:
            break
        lists.insert(0, item)
        end = item.start
        while end and source[end - 1] in " \t":
            end -= 1
    return lists


def read_attribute_line(line: str) -> AttributeList | None:
    """Return the attribute list that is the full line, as kramdown reads it below a heading, or None."""
    start = len(line) - len(line.lstrip(" "))
    end = len(line.rstrip(" \t"))
    if start > 3 or not line.startswith("{:", start) or not line.endswith("}", start + 2, end):
        return None
    if end - start > _MAX_LIST_LENGTH or is_escaped(line, end - 1):
        return None
    return _read_list(line, start, end)


def is_escaped(text: str, position: int) -> bool:
    """Return True if an odd number of backslashes precedes a character."""
    start = position
    while start and text[start - 1] == "\\":
        start -= 1
    return (position - start) % 2 == 1


def _read_list_before(source: str, end: int) -> AttributeList | None:
    """Return the attribute list that ends with the closing brace at `end`, or None."""
    if is_escaped(source, end - 1):
        return None
    start = end
    for _ in range(_MAX_OPENING_BRACES):
        start = source.rfind("{", max(0, end - _MAX_LIST_LENGTH), start)
        if start < 0:
            return None
        if is_escaped(source, start) or not _may_open_list(source, start):
            continue
        item = _read_list(source, start, end)
        if item and not ("`" in source[start:end] and _is_in_code(source, start)):
            return item
    return None


def _may_open_list(source: str, start: int) -> bool:
    """Return True if a list can begin at the brace at `start`, by the character before the brace."""
    if not start:
        return True
    character_before = source[start - 1]
    if source.startswith("{#", start):
        # `${#` is a length in a shell, and `{{#` a block of a template engine.
        return character_before not in "${"
    return character_before.isspace() or source.startswith("{/*", start)


def _is_in_code(source: str, position: int) -> bool:
    if len(source) > _MAX_HEADING_LENGTH:
        return False
    spans = (match.span() for match in _CODE_SPAN.finditer(source) if match["ticks"])
    return any(start < position < end for start, end in spans)


def _read_list(text: str, start: int, end: int) -> AttributeList | None:
    """Return the attribute list at [start, end) of a text, or None."""
    if comment := _COMMENT_LIST.fullmatch(text, start, end):
        name = AttributeId(comment["name"], *comment.span("name"))
        return AttributeList(start, end, AnchorForm.COMMENT, (name,), False, start)
    item = _read_items(text, start, end)
    plain_match = _PLAIN_LIST.fullmatch(text, start, end)
    if plain_match is None or plain_match["name"].strip("#") == "":
        return item
    if item is None:
        # The text after the id is not an attribute, but 0.1.0 read this form as an anchor.
        name = AttributeId(plain_match["name"], *plain_match.span("name"))
        return AttributeList(start, end, AnchorForm.BRACES, (name,), True, start + 1)
    return item._replace(is_plain=True)


def _is_name(text: str | None) -> bool:
    return bool(text) and not re.search(r"[\s{}\[\]]", text or "")


def _read_items(text: str, start: int, end: int) -> AttributeList | None:
    opening = _OPENING_BRACE.match(text, start)
    assert opening is not None
    items_start = position = opening.end()
    names: list[AttributeId] = []
    is_colon = text.startswith("{:", start)
    has_attribute = False
    while position < end - 1:
        item = _ITEM.match(text, position, end)
        if item is None:
            return None
        # A word, or `x=1`, may be text. In kramdown a word refers to attributes defined elsewhere.
        if item["word"] is None and (item["bare"] is None or is_colon or item["key"] == "id"):
            has_attribute = True
        elif not has_attribute and not is_colon:
            return None
        groups = ("double", "single", "bare") if item["key"] == "id" else ("id", "joined")
        names += (AttributeId(item[group], *item.span(group)) for group in groups if _is_name(item[group]))
        item_end = position = item.end()
        while position < end and text[position] in " \t":
            position += 1
        if position == item_end and position < end - 1:
            return None
    if not has_attribute or position != end - 1:
        return None
    form = AnchorForm.SPACED if text[start + 1] in " \t" else AnchorForm.BRACES
    if is_colon:
        form = AnchorForm.COLON
    return AttributeList(start, end, form, tuple(names), False, items_start)
