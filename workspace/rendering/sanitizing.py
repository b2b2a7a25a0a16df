"""The one door to nh3: the HTML that may stand on a page, whoever wrote it.

Links and images are judged twice. First their addresses are as authors wrote them; then they must be what the
page made of them: an address of its own, or one of the web that is only followed by a click.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from workspace.markdown.pages import WIKI_SCHEME

if TYPE_CHECKING:
    from collections.abc import Callable

    import nh3

TAGS = frozenset({
    "a", "abbr", "b", "bdi", "bdo", "blockquote", "br", "caption", "cite", "code", "col", "colgroup", "dd",
    "del", "details", "dfn", "div", "dl", "dt", "em", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5",
    "h6", "hr", "i", "img", "input", "ins", "kbd", "li", "mark", "ol", "p", "pre", "q", "rp", "rt", "ruby",
    "s", "samp", "section", "small", "span", "strike", "strong", "sub", "summary", "sup", "table", "tbody",
    "td", "tfoot", "th", "thead", "time", "tr", "tt", "u", "ul", "var", "wbr",
})  # fmt: skip
"""The elements that may stand there. Of all others their content stays."""

ATTRIBUTES = {
    "*": {"id", "class", "title", "dir", "lang", "align", "aria-label", "aria-hidden"},
    "a": {"href", "rel", "name"},
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

CLASSES = frozenset({
    "anchor", "broken", "external", "image-link", "footnote-ref", "footnote-backref", "footnotes",
    "task-list", "task-list-item", "alert", "alert-note", "alert-tip", "alert-important", "alert-warning",
    "alert-caution", "alert-title", "mermaid",
})  # fmt: skip
"""The classes that may be used, beside `language-…` of code."""

_WEB = ("http", "https", "mailto")
_LANGUAGE = re.compile(r"language-[a-z0-9_+#.-]{1,40}")
_OWN = re.compile(r"[/#](?![/\\])[^\x00-\x20\\]*")
_EXTERNAL = re.compile(r"(?:https?://|mailto:)[^\x00-\x20]+", re.IGNORECASE)
# What a size, a count or a keyword may be; `ol` counts below 0 too.
_VALUES = {
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
    "rel": re.compile("noopener noreferrer nofollow"),
    # Ids with brackets are those of the page itself; no anchor holds any.
    "id": re.compile(r"[^\s\[\]]{1,1000}"),
    "name": re.compile(r"[^\s\[\]]{1,1000}"),
}


def as_written(html: str) -> str:
    """HTML in canonical form and of allowed elements alone; addresses in it are not resolved yet.

    Every tag is closed where it must be, attributes stand in double quotes, and `<` and `>` in texts are
    escaped.
    """
    return _cleaner(is_last=False).clean(html)


def as_shown(html: str) -> str:
    """HTML as it may be shown: as `as_written`, and its addresses are those of the page or of the web."""
    return _cleaner(is_last=True).clean(html)


@cache
def _cleaner(*, is_last: bool) -> nh3.Cleaner:
    import nh3

    return nh3.Cleaner(
        tags=set(TAGS),
        clean_content_tags=set(),
        attributes={tag: set(names) for tag, names in ATTRIBUTES.items()},
        attribute_filter=_filter(is_last=is_last),
        strip_comments=True,
        link_rel=None,
        set_tag_attribute_values={"input": {"type": "checkbox", "disabled": ""}},
        url_schemes={*_WEB} if is_last else {*_WEB, WIKI_SCHEME},
    )


def _filter(*, is_last: bool) -> Callable[[str, str, str], str | None]:
    def judged(tag: str, name: str, value: str) -> str | None:
        if name == "class":
            kept = [word for word in value.split() if word in CLASSES or _LANGUAGE.fullmatch(word)]
            return " ".join(kept) or None
        if name == "href" and is_last:
            return value if _OWN.fullmatch(value) or _EXTERNAL.fullmatch(value) else None
        if name == "src" and is_last:
            return value if _OWN.fullmatch(value) and value[0] == "/" else None
        rule = _VALUES.get(name)
        return value if rule is None or rule.fullmatch(value) else None

    return judged
