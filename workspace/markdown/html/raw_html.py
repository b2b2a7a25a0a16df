"""Pass on raw HTML to the sanitizer, bounded, so that reading it takes no time of its own."""

from __future__ import annotations

import re

# More tags could stand inside each other so deeply that reading them takes the square of their number.
MAX_TAGS = 5_000

SHOWN = frozenset({
    "a", "abbr", "b", "bdi", "bdo", "blockquote", "br", "caption", "cite", "code", "col", "colgroup", "dd",
    "del", "details", "dfn", "div", "dl", "dt", "em", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5",
    "h6", "hr", "i", "img", "input", "ins", "kbd", "li", "mark", "ol", "p", "pre", "q", "rp", "rt", "ruby",
    "s", "samp", "section", "small", "span", "strike", "strong", "sub", "summary", "sup", "table", "tbody",
    "td", "tfoot", "th", "thead", "time", "tr", "tt", "u", "ul", "var", "wbr",
})  # fmt: skip
"""The elements that may stand on a page."""

_DROPPED = (
    "address", "area", "article", "aside", "audio", "base", "big", "body", "button", "canvas", "center",
    "dialog", "embed", "fieldset", "font", "footer", "form", "head", "header", "html", "label", "legend",
    "link", "main", "map", "menu", "meta", "nav", "nobr", "object", "param", "picture", "source", "track",
    "video",
)  # fmt: skip
# Of these the tags are left out, and what they hold stays. All others are text, as in `run it on <path>`; so
# are those that make text of all that follows them (`<script>`, `<textarea>`; GFM 0.29 §6.11, "Disallowed Raw
# HTML"), and those of SVG and MathML, in which the rules of HTML change. Shown as text they hide nothing.
_KNOWN = "|".join(sorted({*SHOWN, *_DROPPED}))
_UNKNOWN_TAG = re.compile(rf"<(?=/?[A-Za-z])(?!/?(?:{_KNOWN})(?:[\s/>]|\Z))", re.IGNORECASE)
# If the sanitizer left these out, what it placed beside them would be elsewhere when a browser reads it.
_DROPPED_TAG = re.compile(
    rf"</?(?:{'|'.join(_DROPPED)})(?:[\s/](?:[^<>\"']|\"[^\"]{{0,4000}}\"|'[^']{{0,4000}}'){{0,4000}})?>",
    re.IGNORECASE,
)
# HTML §13.2.4.3: such a tag that is not closed is opened anew in each paragraph, unless three of the same
# name and attributes are open. Without attributes all of one name are the same.
_FORMATTING = re.compile(
    r"<(b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)(?=[\s/])[^>]*(?:>|\Z)", re.IGNORECASE
)
_TAG = re.compile(r"<[A-Za-z/]")


def passed_on(html: str) -> str:
    """Return raw HTML without what could swallow the rest of the page, or multiply in it."""
    if "<" not in html:
        return html
    return _FORMATTING.sub(r"<\1>", _DROPPED_TAG.sub("", _UNKNOWN_TAG.sub("&lt;", html)))


def tags_in(html: str) -> int:
    """Return how many tags it has, at most."""
    return len(_TAG.findall(html))
