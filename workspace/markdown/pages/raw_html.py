"""Raw HTML as it is passed on to what makes it safe: bounded, so that reading it takes no time of its own."""

from __future__ import annotations

import re

# More tags could stand inside each other so deeply that reading them takes the square of their number.
MAX_TAGS = 5_000

KNOWN = frozenset({
    "a", "abbr", "address", "area", "article", "aside", "audio", "b", "base", "bdi", "bdo", "big",
    "blockquote", "body", "br", "button", "canvas", "caption", "center", "cite", "code", "col",
    "colgroup", "dd", "del", "details", "dfn", "dialog", "div", "dl", "dt", "em", "embed", "fieldset",
    "figcaption", "figure", "font", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "head",
    "header", "hr", "html", "i", "img", "input", "ins", "kbd", "label", "legend", "li", "link", "main",
    "map", "mark", "menu", "meta", "nav", "nobr", "object", "ol", "p", "param", "picture", "pre", "q",
    "rp", "rt", "ruby", "s", "samp", "section", "small", "source", "span", "strike", "strong", "sub",
    "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "time", "tr", "track", "tt", "u",
    "ul", "var", "video", "wbr",
})  # fmt: skip
"""The elements whose tags are read. All others are text, as in `run it on <path>`.

So are those that make text of all that follows them (`<script>`, `<textarea>`; GFM 0.29 §6.11, "Disallowed
Raw HTML"), and those of SVG and MathML, in which the rules of HTML change. Shown as text they hide nothing.
"""

_UNKNOWN = re.compile(rf"<(?=/?[A-Za-z])(?!/?(?:{'|'.join(sorted(KNOWN))})(?:[\s/>]|\Z))", re.IGNORECASE)
# HTML §13.2.4.3: such a tag that is not closed is opened anew in each paragraph, unless three of the same
# name and attributes are open. Without attributes all of one name are the same.
_FORMATTING = re.compile(
    r"<(b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)(?=[\s/])[^>]*(?:>|\Z)", re.IGNORECASE
)
_TAG = re.compile(r"<[A-Za-z/]")


def passed_on(html: str) -> str:
    """Raw HTML without what could swallow the rest of the page, or multiply in it."""
    if "<" not in html:
        return html
    return _FORMATTING.sub(r"<\1>", _UNKNOWN.sub("&lt;", html))


def tags_in(html: str) -> int:
    """How many tags it has, at most."""
    return len(_TAG.findall(html))
