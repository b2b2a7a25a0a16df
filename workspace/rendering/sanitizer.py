"""Sanitization of the HTML of a page by nh3, as the last step, for HTML of any source.

No other module imports nh3. The MathML of formulas is sanitized with the page.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.markdown.html.writer import PERMITTED_ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Container

PERMITTED_ATTRIBUTES = {
    "*": {"id", "class", "title", "dir", "lang", "align", "aria-label", "aria-hidden"},
    "a": {"href"},
    "img": {"src", "alt", "width", "height", "loading"},
    "input": {"type", "disabled", "checked"},
    "ol": {"start", "reversed", "type"},
    "li": {"value"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
    "col": {"span"},
    "colgroup": {"span"},
    "details": {"open"},
    "time": {"datetime"},
}

# MathML Core §3, without elements that contain other markup or addresses.
MATH_TAGS = {
    "math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "mfrac", "msqrt", "mroot", "mstyle", "mpadded",
    "mphantom", "msub", "msup", "msubsup", "munder", "mover", "munderover", "mmultiscripts", "mprescripts",
    "mtable", "mtr", "mtd", "menclose",
}  # fmt: skip

_MATH_KEYWORDS = {
    "display", "displaystyle", "mathvariant", "scriptlevel", "form", "fence", "separator", "stretchy",
    "symmetric", "largeop", "movablelimits", "accent", "accentunder", "columnalign", "notation",
}  # fmt: skip
_MATH_LENGTHS = {
    "lspace", "rspace", "minsize", "maxsize", "linethickness", "width", "height", "depth", "rowspacing",
    "columnspacing",
}  # fmt: skip
# A longer one, or a negative one, could move the content of a formula over the text next to it.
_MATH_LENGTH = r"(?:\+?[0-9]{1,2}|\+?[0-9]{0,2}\.[0-9]{1,4}|-[01]?\.[0-9]{1,4})(?:em|ex|mu|pt|px|%)?"
_MATH_LENGTH_LIST = re.compile(rf"{_MATH_LENGTH}(?: {_MATH_LENGTH})*")

_ATTRIBUTES_WITH_MATH = PERMITTED_ATTRIBUTES | dict.fromkeys(MATH_TAGS, _MATH_KEYWORDS | _MATH_LENGTHS)

PERMITTED_CLASSES = frozenset({
    "anchor", "broken", "external", "image-link", "footnote-ref", "footnote-backref", "footnotes",
    "task-list", "task-list-item", "alert", "alert-note", "alert-tip", "alert-important", "alert-warning",
    "alert-caution", "alert-title", "mention", "mermaid", "tabs", "tab",
    "tab-title",
})  # fmt: skip
"""The permitted classes, in addition to `language-…` of code."""

_LINK_REL = "noopener noreferrer nofollow"
# nh3 adds `rel` to anchors without an address, too, where HTML does not permit it.
_ANCHOR_WITH_REL = re.compile(rf'<a((?: (?!href=|rel=)[a-z-]+="[^"]*")*) rel="{_LINK_REL}">')

_LANGUAGE_CLASS = re.compile(r"language-[a-z0-9_+#.-]{1,40}")
_LINK_ADDRESS = re.compile(r"#[^\x00-\x20\\]*|(?:https?://|mailto:)[^\x00-\x20]+", re.IGNORECASE)
_ID_PATTERN = re.compile(r"[^\s\[\]]{1,1000}")

# The permitted values of sizes, counts and keywords; `ol` may also count from a negative number.
_VALUE_PATTERNS = {
    "width": re.compile(r"[0-9]{1,4}%?"),
    "height": re.compile(r"[0-9]{1,4}"),
    "colspan": re.compile(r"[0-9]{1,3}"),
    "rowspan": re.compile(r"[0-9]{1,3}"),
    "span": re.compile(r"[0-9]{1,3}"),
    "start": re.compile(r"-?[0-9]{1,9}"),
    "value": re.compile(r"-?[0-9]{1,9}"),
    "align": re.compile(r"left|center|right", re.IGNORECASE),
    "dir": re.compile(r"ltr|rtl|auto", re.IGNORECASE),
    "loading": re.compile("lazy"),
}


def sanitize(
    html: str, addresses: Container[str] = (), *, allows_ids: bool = True, math: bool = False
) -> str:
    """Return HTML in canonical form that contains only permitted elements and attributes.

    All tags are closed, attributes are in double quotes, and `<` and `>` in texts are escaped. An address of
    this server must be in `addresses`, which are the resolved addresses of links.
    """
    import nh3

    cleaner = nh3.Cleaner(
        tags={*PERMITTED_ELEMENTS, *MATH_TAGS} if math else set(PERMITTED_ELEMENTS),
        clean_content_tags=set(),
        attributes=_ATTRIBUTES_WITH_MATH if math else PERMITTED_ATTRIBUTES,
        attribute_filter=_make_filter(addresses, allows_ids=allows_ids),
        strip_comments=True,
        link_rel=_LINK_REL,
        set_tag_attribute_values={"input": {"type": "checkbox", "disabled": ""}},
        url_schemes={"http", "https", "mailto"},
    )
    html = cleaner.clean(html)
    return _ANCHOR_WITH_REL.sub(r"<a\1>", html)


def _make_filter(addresses: Container[str], *, allows_ids: bool) -> Callable[[str, str, str], str | None]:
    ids: set[str] = set()

    def filter_value(tag: str, name: str, value: str) -> str | None:
        if tag in MATH_TAGS:
            is_allowed = name in _MATH_KEYWORDS or (
                name in _MATH_LENGTHS and _MATH_LENGTH_LIST.fullmatch(value) is not None
            )
            return value if is_allowed else None
        match name:
            case "class":
                permitted_classes = [
                    word
                    for word in value.split()
                    if word in PERMITTED_CLASSES or _LANGUAGE_CLASS.fullmatch(word)
                ]
                return " ".join(permitted_classes) or None
            case "href":
                is_allowed = (
                    value in addresses if value[:1] == "/" else _LINK_ADDRESS.fullmatch(value) is not None
                )
            case "src":
                is_allowed = value[:1] == "/" and value in addresses
            case "id":
                # An id must be unique. Ids with brackets are reserved for the page, and no anchor contains
                # brackets.
                is_allowed = allows_ids and value not in ids and _ID_PATTERN.fullmatch(value) is not None
                ids.add(value)
            case _:
                value_pattern = _VALUE_PATTERNS.get(name)
                is_allowed = value_pattern is None or value_pattern.fullmatch(value) is not None
        return value if is_allowed else None

    return filter_value
