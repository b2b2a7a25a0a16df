"""A checker of the HTML of pages, whose parser is independent of the renderer."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import html5lib

PERMITTED_ELEMENTS = frozenset({
    "a", "abbr", "b", "bdi", "bdo", "blockquote", "br", "caption", "cite", "code", "col", "colgroup", "dd",
    "del", "details", "dfn", "div", "dl", "dt", "em", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5",
    "h6", "hr", "i", "img", "input", "ins", "kbd", "li", "mark", "ol", "p", "pre", "q", "rp", "rt", "ruby",
    "s", "samp", "section", "small", "span", "strike", "strong", "sub", "summary", "sup", "table", "tbody",
    "td", "tfoot", "th", "thead", "time", "tr", "tt", "u", "ul", "var", "wbr",
})  # fmt: skip
PERMITTED_ATTRIBUTES = frozenset({
    "id", "class", "title", "dir", "lang", "align", "aria-label", "aria-hidden", "href", "rel", "src",
    "alt", "width", "height", "loading", "type", "disabled", "checked", "start", "reversed", "value",
    "colspan", "rowspan", "scope", "span", "open", "datetime",
})  # fmt: skip
VOID_ELEMENTS = {"br", "hr", "img", "input", "col", "wbr"}
OWN_URL = re.compile(r"/(doc|raw|folder)/[!-~]*|/|#[!-~]+")
WEB_URL = re.compile(r"(https?://[^/\\\s]|mailto:.)", re.IGNORECASE)
# html5lib prefixes element names with this namespace.
_HTML_NAMESPACE = "{http://www.w3.org/1999/xhtml}"


def find_html_problems(html: str) -> list[str]:
    """Return the problems in the HTML of a page."""
    tree = html5lib.parseFragment(html, container="article", treebuilder="etree")
    problems = [
        problem
        for element in tree.iter()
        if element is not tree
        for problem in _find_element_problems(element)
    ]
    ids = [element.get("id") for element in tree.iter() if element.get("id")]
    problems += [f"id {id!r} is duplicate" for id in set(ids) if ids.count(id) > 1]
    balance = _TagBalance()
    balance.feed(html)
    balance.close()
    problems += balance.problems + [f"<{name}> is not closed" for name in balance.open_tags]
    page = html5lib.parse(f"<main><article>{html}</article></main><footer></footer>", treebuilder="etree")
    body = page.find(f"{_HTML_NAMESPACE}body")
    children = [] if body is None else [str(child.tag).removeprefix(_HTML_NAMESPACE) for child in body]
    if children != ["main", "footer"]:
        problems.append(f"the page escapes its container: {children}")
    return problems


def _find_element_problems(element: ElementTree.Element) -> list[str]:
    if not isinstance(element.tag, str):
        return ["a comment"]
    name = element.tag.removeprefix(_HTML_NAMESPACE)
    problems = [] if name in PERMITTED_ELEMENTS else [f"<{name}>"]
    problems += [f"<{name} {key}>" for key in element.attrib if key not in PERMITTED_ATTRIBUTES]
    href, source = element.get("href"), element.get("src")
    if href is not None and not OWN_URL.fullmatch(href) and not WEB_URL.match(href):
        problems.append(f"href {href!r}")
    if href is not None and WEB_URL.match(href) and element.get("rel") != "noopener noreferrer nofollow":
        problems.append(f"no rel at {href!r}")
    if source is not None and not (OWN_URL.fullmatch(source) and source.startswith("/raw/")):
        problems.append(f"src {source!r}")
    if name == "input" and (element.get("type"), element.get("disabled")) != ("checkbox", ""):
        problems.append("an input that is not a checkbox")
    return problems


class _TagBalance(HTMLParser):
    """A parser that checks that start and end tags are balanced."""

    def __init__(self) -> None:
        super().__init__()
        self.open_tags: list[str] = []
        self.problems: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in VOID_ELEMENTS:
            self.open_tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open_tags or self.open_tags.pop() != tag:
            self.problems.append(f"</{tag}> closes nothing")

    def handle_comment(self, data: str) -> None:
        self.problems.append("a comment")
