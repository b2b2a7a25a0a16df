"""Attribute lists: ids, classes and attributes in braces, as site generators read them at a heading.

{#id}  {#id .class key="value"}    Pandoc, Hugo, kramdown, Docusaurus, Python-Markdown
{ #id .class }                     Pandoc, Hugo, Python-Markdown
{: #id .class key='value' }        Python-Markdown; kramdown on the line below a heading
{/* #id */}                        Docusaurus, whose MDX has no attribute lists

Braces hold a list only where they end the heading and begin with an id, a class or an attribute. `{ a set }`,
`{{ name }}`, `{% if %}`, `${#array}`, and what a backslash or a code span makes literal are text.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

# One name with any attributes behind it: how Docyard writes an anchor, whose names are taken as they are.
_PLAIN = re.compile(r"\{#(?P<name>[^\s{}\[\]]+)(?:[ \t][^{}]*)?\}")
_COMMENT = re.compile(r"\{/\*[ \t]*#(?P<name>[^\s{}\[\]*]+)[ \t]*\*/\}")
_OPENING = re.compile(r"\{:?[ \t]*")
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

# Braces that stand in values (`title="{a}"`) make more than one place where a list may begin.
_MAX_PLACES = 8
_MAX_LISTS = 4
_MAX_LENGTH = 4_000
# Looking for code spans takes time; a longer line is no heading that a person wrote.
_MAX_HEADING = 10_000


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
        """Return True if it is written in an attribute list."""
        return self not in (AnchorForm.ANGLE, AnchorForm.HTML)


class AttributeId(NamedTuple):
    """An id in an attribute list, and its characters [start, end) in the text."""

    name: str
    start: int
    end: int


class AttributeList(NamedTuple):
    """An attribute list: its characters [start, end) in the text, its form, its ids in order.

    `is_plain` is True for `{#id}` and `{#id …}`, the only lists that Docyard 0.1.0 read. `inner` is where the
    first item begins.
    """

    start: int
    end: int
    form: AnchorForm
    names: tuple[AttributeId, ...]
    is_plain: bool
    inner: int


def find_trailing_lists(source: str) -> list[AttributeList]:
    """Return the attribute lists that end a heading's inline Markdown, in order."""
    found: list[AttributeList] = []
    end = len(source)
    while len(found) < _MAX_LISTS and source.endswith("}", 0, end):
        one = _list_before(source, end)
        if one is None:
            break
        found.insert(0, one)
        end = one.start
        while end and source[end - 1] in " \t":
            end -= 1
    return found


def read_attribute_line(line: str) -> AttributeList | None:
    """Return the attribute list that a line consists of, as kramdown reads it below a heading."""
    start = len(line) - len(line.lstrip(" "))
    end = len(line.rstrip(" \t"))
    if start > 3 or not line.startswith("{:", start) or not line.endswith("}", start + 2, end):
        return None
    if end - start > _MAX_LENGTH or is_escaped(line, end - 1):
        return None
    return _read(line, start, end)


def is_escaped(text: str, position: int) -> bool:
    """Return True if an odd number of backslashes precedes a character."""
    start = position
    while start and text[start - 1] == "\\":
        start -= 1
    return (position - start) % 2 == 1


def _list_before(source: str, end: int) -> AttributeList | None:
    """Return the attribute list that ends at `end`, where a brace closes."""
    if is_escaped(source, end - 1):
        return None
    start = end
    for _ in range(_MAX_PLACES):
        start = source.rfind("{", max(0, end - _MAX_LENGTH), start)
        if start < 0:
            return None
        if is_escaped(source, start) or not _is_apart(source, start):
            continue
        found = _read(source, start, end)
        if found and not ("`" in source[start:end] and _is_in_code(source, start)):
            return found
    return None


def _is_apart(source: str, start: int) -> bool:
    """Return True if the text before a brace lets it begin a list."""
    if not start:
        return True
    before = source[start - 1]
    if source.startswith("{#", start):
        # A length in a shell, and a block of a template engine.
        return before not in "${"
    return before.isspace() or source.startswith("{/*", start)


def _is_in_code(source: str, position: int) -> bool:
    if len(source) > _MAX_HEADING:
        return False
    spans = (found.span() for found in _CODE_SPAN.finditer(source) if found["ticks"])
    return any(start < position < end for start, end in spans)


def _read(text: str, start: int, end: int) -> AttributeList | None:
    """Return the attribute list [start, end) of a text; None if it is none."""
    if comment := _COMMENT.fullmatch(text, start, end):
        name = AttributeId(comment["name"], *comment.span("name"))
        return AttributeList(start, end, AnchorForm.COMMENT, (name,), False, start)
    found = _read_items(text, start, end)
    plain = _PLAIN.fullmatch(text, start, end)
    if plain is None or plain["name"].strip("#") == "":
        return found
    if found is None:
        # What stands behind the id is no attribute. It is an anchor all the same, as it was in 0.1.0.
        name = AttributeId(plain["name"], *plain.span("name"))
        return AttributeList(start, end, AnchorForm.BRACES, (name,), True, start + 1)
    return found._replace(is_plain=True)


def _is_name(text: str | None) -> bool:
    return bool(text) and not re.search(r"[\s{}\[\]]", text or "")


def _read_items(text: str, start: int, end: int) -> AttributeList | None:
    opening = _OPENING.match(text, start)
    assert opening is not None
    inner = place = opening.end()
    names: list[AttributeId] = []
    is_colon = text.startswith("{:", start)
    says_something = False
    while place < end - 1:
        item = _ITEM.match(text, place, end)
        if item is None:
            return None
        # A word, or `x=1`, may be text. In kramdown a word is the name of attributes that stand elsewhere.
        if item["word"] is None and (item["bare"] is None or is_colon or item["key"] == "id"):
            says_something = True
        elif not says_something and not is_colon:
            return None
        groups = ("double", "single", "bare") if item["key"] == "id" else ("id", "joined")
        names += (AttributeId(item[group], *item.span(group)) for group in groups if _is_name(item[group]))
        place = item.end()
        behind = place
        while behind < end and text[behind] in " \t":
            behind += 1
        if behind == place and behind < end - 1:
            return None
        place = behind
    if not says_something or place != end - 1:
        return None
    form = AnchorForm.SPACED if text[start + 1] in " \t" else AnchorForm.BRACES
    if is_colon:
        form = AnchorForm.COLON
    return AttributeList(start, end, form, tuple(names), False, inner)
