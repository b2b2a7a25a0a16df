"""Links and names in raw HTML: `href` and `src`, `id`, and the `name` of an `a` (CommonMark §4.6, §6.6)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.links.characters import meaning
from workspace.links.link import Enclosure, LinkKind
from workspace.links.spans import Name, Span, attribute_value

if TYPE_CHECKING:
    from collections.abc import Iterator

_ATTRIBUTE = (
    r"\s+([a-zA-Z_:][a-zA-Z0-9:._-]*)"
    r"""(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^"'=<>`\x00-\x20]+)))?"""
)
_ANY_ATTRIBUTE = re.sub(r"\((?!\?)", "(?:", _ATTRIBUTE)
TAG = re.compile(rf"<([A-Za-z][A-Za-z0-9-]*)((?:{_ANY_ATTRIBUTE})*)\s*/?>|</[A-Za-z][A-Za-z0-9-]*\s*>")
"""A tag as CommonMark takes it; its first groups are the name and the attributes of an opening one."""

_ATTRIBUTES = re.compile(_ATTRIBUTE)
_ENCLOSURES = {2: Enclosure.DOUBLE, 3: Enclosure.SINGLE, 4: Enclosure.UNQUOTED}

# What holds no tags is read to its end, or to that of the text where it has none.
_TAG_OR_OTHER = re.compile(
    r"<!--(?:-?>|[\s\S]*?(?:-->|\Z))"
    r"|<!\[CDATA\[[\s\S]*?(?:\]\]>|\Z)"
    r"|<\?[\s\S]*?(?:\?>|\Z)"
    r"|<![A-Za-z][^>]*"
    r"|<(script|style|textarea)(?=[\s>])[\s\S]*?(?:</\1|\Z)"
    rf"|(?P<tag>{re.sub(r'[(](?![?])', '(?:', TAG.pattern)})",
    re.IGNORECASE,
)

_ADDRESSES = {
    "a": "href",
    "area": "href",
    "link": "href",
    "img": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "iframe": "src",
}


def read_html(text: str) -> Iterator[Span | Name]:
    """The links and names of a block of raw HTML."""
    for found in _TAG_OR_OTHER.finditer(text):
        if found["tag"] and (tag := TAG.match(text, found.start())):
            yield from read_tag(tag)


def read_tag(tag: re.Match[str]) -> Iterator[Span | Name]:
    """The link and the names of a tag, a match of `TAG`. The first attribute of a name counts."""
    if not tag[2]:
        return
    element, (start, end) = tag[1].lower(), tag.span()
    seen: set[str] = set()
    for attribute in _ATTRIBUTES.finditer(tag.string, *tag.span(2)):
        name, kind = attribute[1].lower(), attribute.lastindex
        if name in seen or kind is None or kind == 1:
            continue
        seen.add(name)
        if name == "id" or (name == "name" and element == "a"):
            if value := attribute_value(meaning(attribute[kind])):
                yield Name(value, start)
        elif name == _ADDRESSES.get(element):
            is_image = element == "img"
            yield Span(LinkKind.HTML, is_image, start, end, *attribute.span(kind), _ENCLOSURES[kind])
