"""Sanitization of the HTML of a page by nh3, as the last step, for HTML of any source.

No other module imports nh3. Formulas are written as MathML by the optional package latex2mathml, and are
sanitized with the page.
"""

from __future__ import annotations

import logging
import re
from functools import lru_cache
from html import escape, unescape
from typing import TYPE_CHECKING
from xml.etree import ElementTree

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

_MATH_ATTRIBUTES = {
    "display", "displaystyle", "mathvariant", "scriptlevel", "form", "fence", "separator", "stretchy",
    "symmetric", "largeop", "movablelimits", "lspace", "rspace", "minsize", "maxsize", "linethickness",
    "accent", "accentunder", "width", "height", "depth", "columnalign", "rowspacing", "columnspacing",
    "notation",
}  # fmt: skip

_ATTRIBUTES_WITH_MATH = PERMITTED_ATTRIBUTES | dict.fromkeys(MATH_TAGS, _MATH_ATTRIBUTES)

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
                is_allowed = (
                    tag in MATH_TAGS or value_pattern is None or value_pattern.fullmatch(value) is not None
                )
        return value if is_allowed else None

    return filter_value


# The conversion is slow; formulas above these limits are displayed as their source.
MAX_FORMULAS = 500
MAX_FORMULA_LENGTH = 2_000  # characters
MAX_TOTAL_FORMULA_LENGTH = 100_000  # characters
_log = logging.getLogger(__name__)


def can_convert_formulas() -> bool:
    """Return True if formulas can be converted to MathML."""
    from importlib.util import find_spec

    return find_spec("latex2mathml") is not None


class FormulaConverter:
    """The conversion of the formulas of one page, within limits."""

    def __init__(self) -> None:
        self._count = self._length = 0

    def convert(self, source: str, *, is_block: bool) -> str:
        """Return a formula as MathML; return an invalid or excess formula as escaped text."""
        self._count += 1
        self._length += len(source)
        is_within_limits = (
            self._count <= MAX_FORMULAS
            and self._length <= MAX_TOTAL_FORMULA_LENGTH
            and len(source) <= MAX_FORMULA_LENGTH
        )
        delimiter = "$$" if is_block else "$"
        return (_convert_to_mathml(source, is_block) if is_within_limits else None) or escape(
            f"{delimiter}{source}{delimiter}"
        )


@lru_cache(maxsize=4 * MAX_FORMULAS)
def _convert_to_mathml(source: str, is_block: bool) -> str | None:
    try:
        from latex2mathml.converter import convert_to_element

        formula = convert_to_element(source, display="block" if is_block else "inline")
    # The errors have no common base class, and an invalid formula is displayed as its source.
    except Exception as error:
        _log.debug("formula is shown as its source: %s", type(error).__name__)
        return None
    for element in formula.iter():
        # latex2mathml writes operators as entities.
        element.text = unescape(element.text or "")
    return ElementTree.tostring(formula, encoding="unicode", short_empty_elements=False)
