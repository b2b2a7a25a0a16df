"""Write a page as HTML by markdown-it-py's renderer, with rules of our own where a page differs.

What comes out is not safe by itself: raw HTML is passed on, and addresses are what `Context` makes of them.

Pass on raw HTML to the sanitizer, bounded, so that reading it takes no time of its own.
"""

from __future__ import annotations

import re
from html import escape, unescape
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.token import Token
    from markdown_it.utils import EnvType, OptionsDict

    from workspace.markdown.html.page import ParsedPage

# More tags could be nested so deeply that reading them takes the square of their number.
MAX_TAGS = 5_000

SHOWN = frozenset({
    "a", "abbr", "b", "bdi", "bdo", "blockquote", "br", "caption", "cite", "code", "col", "colgroup", "dd",
    "del", "details", "dfn", "div", "dl", "dt", "em", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5",
    "h6", "hr", "i", "img", "input", "ins", "kbd", "li", "mark", "ol", "p", "pre", "q", "rp", "rt", "ruby",
    "s", "samp", "section", "small", "span", "strike", "strong", "sub", "summary", "sup", "table", "tbody",
    "td", "tfoot", "th", "thead", "time", "tr", "tt", "u", "ul", "var", "wbr",
})  # fmt: skip
"""The elements that are permitted on a page."""

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

# If the sanitizer left these out, a browser would move the elements next to them.
_DROPPED_TAG = re.compile(
    rf"</?(?:{'|'.join(_DROPPED)})(?:[\s/](?:[^<>\"']|\"[^\"]{{0,4000}}\"|'[^']{{0,4000}}'){{0,4000}})?>",
    re.IGNORECASE,
)

# HTML §13.2.4.3: such a tag that is not closed is opened again in each paragraph, unless three of the same
# name and attributes are open. Without attributes all of one name are the same.
_FORMATTING = re.compile(
    r"<(b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)(?=[\s/])[^>]*(?:>|\Z)", re.IGNORECASE
)

_TAG = re.compile(r"<[A-Za-z/]")


def filter_raw_html(html: str) -> str:
    """Return raw HTML without what could swallow the rest of the page, or multiply in it."""
    if "<" not in html:
        return html
    return _FORMATTING.sub(r"<\1>", _DROPPED_TAG.sub("", _UNKNOWN_TAG.sub("&lt;", html)))


def count_tags(html: str) -> int:
    """Return how many tags it has, at most."""
    return len(_TAG.findall(html))


_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,40}")

# More names of one place are no names that a person gave it.
_MAX_ALIASES = 20

# A tag that has an address, or a checkbox. The sanitizer removes the address of a longer one.
_RAW_TAG = re.compile(
    r"<(?:(/a)\b[^>]{0,100}|(a|img|input)(?=[\s/])((?:[^<>\"']|\"[^\"]{0,4000}\"|'[^']{0,4000}'){0,4000}))>",
    re.IGNORECASE,
)

_RAW_ATTRIBUTE = re.compile(r"([^\s\"'<>/=]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'=<>`]+)))?")


class Mark(NamedTuple):
    """Name a heading: its id, the further names of its place, and what it is called."""

    id: str
    aliases: tuple[str, ...]
    label: str


class Context(Protocol):
    """Decide what depends on the document or on the page around the text. Lines count from 0 in the text."""

    @property
    def has_ids(self) -> bool:
        """Return False if the HTML may occur several times on a page, so that it has no ids."""
        ...

    @property
    def has_mermaid(self) -> bool:
        """Return True if diagrams are marked for the page to draw."""
        ...

    def mark(self, line: int) -> Mark | None:
        """Return the names of the heading on a line, None if it has none."""
        ...

    def is_dropped(self, line: int) -> bool:
        """Return True if the block that begins on a line is not shown."""
        ...

    def open_link(self, attributes: dict[str, str]) -> str:
        """Return the tag that begins a link, whose `href` is as its author wrote it."""
        ...

    def close_link(self) -> str:
        """Return the tag that ends a link."""
        ...

    def image(self, attributes: dict[str, str]) -> str:
        """Return an image, whose `src` is as its author wrote it."""
        ...

    def formula(self, source: str, *, is_block: bool) -> str:
        """Return a formula as HTML."""
        ...


class WrittenHtml(NamedTuple):
    """HTML, and a flag for raw HTML that became text because there was too much of it."""

    html: str
    is_plain: bool


class _State:
    """Keep what the rules of one page have in common."""

    def __init__(self, context: Context, *, has_math: bool) -> None:
        self.context, self.has_math = context, has_math
        self.mark: Mark | None = None
        self.tags = 0


class _Call(NamedTuple):
    """Point a rule to its token: the arguments that the renderer calls it with."""

    renderer: RendererHTML
    tokens: Sequence[Token]
    position: int
    options: OptionsDict
    env: EnvType

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    @property
    def state(self) -> _State:
        state: _State = self.env["state"]
        return state

    @property
    def context(self) -> Context:
        return self.state.context

    def default(self) -> str:
        """Write the token as the library does."""
        return self.renderer.renderToken(self.tokens, self.position, self.options, self.env)


def write_html(page: ParsedPage, context: Context) -> WrittenHtml:
    """Write a page as HTML."""
    state = _State(context, has_math=page.features.math)
    html = page.parser.renderer.render(
        _visible_tokens(page.tokens, context), page.parser.options, {"state": state}
    )
    return WrittenHtml(str(html), state.tags > MAX_TAGS)


def _visible_tokens(tokens: Sequence[Token], context: Context) -> list[Token]:
    """Return the tokens without the blocks that are not shown."""
    shown: list[Token] = []
    skipped_to = -1
    for position, token in enumerate(tokens):
        is_top = token.type in ("paragraph_open", "html_block") and not token.level
        if is_top and token.map and context.is_dropped(token.map[0]):
            skipped_to = position + (2 if token.nesting else 0)
        if position > skipped_to:
            shown.append(token)
    return shown


def add_render_rules(parser: MarkdownIt) -> None:
    """Return a parser the rules by which its renderer writes a page."""

    def add(name: str, rule: Callable[[_Call], str]) -> None:
        parser.add_render_rule(name, lambda *arguments: rule(_Call(*arguments)))

    for name, rule in _RULES.items():
        add(name, rule)


def write_checkbox(*, is_done: bool) -> str:
    """Write a task's box. It needs words of its own for a screen reader."""
    checked, label = (' checked=""', "Done") if is_done else ("", "To do")
    return f'<input type="checkbox" disabled=""{checked} aria-label="{label}">'


def _heading_open(call: _Call) -> str:
    token = call.token
    mark = call.state.mark = call.context.mark(token.map[0]) if token.map else None
    if mark is None:
        return f"<{token.tag}>"
    aliases = (f'<a id="{escape(name)}"></a>' for name in mark.aliases[:_MAX_ALIASES])
    return f'<{token.tag} id="{escape(mark.id)}">{"".join(aliases)}'


def _heading_close(call: _Call) -> str:
    end, mark = call.default(), call.state.mark
    if mark is None:
        return end
    href, label = escape(encode_fragment(mark.id)), escape(mark.label)
    return f' <a class="anchor" href="#{href}" aria-label="Link to {label}"></a>{end}'


def _blockquote_open(call: _Call) -> str:
    begin, kind = call.default(), call.token.meta.get("alert")
    return f'{begin}<p class="alert-title">{ALERTS[kind]}</p>\n' if kind else begin


def _list_item_open(call: _Call) -> str:
    begin, is_done = call.default(), call.token.meta.get("done")
    return begin if is_done is None else f"{begin}{write_checkbox(is_done=is_done)} "


def _fence(call: _Call) -> str:
    token, context = call.token, call.context
    language = (token.info.split() or [""])[0].lower()
    if language == "mermaid" and context.has_mermaid:
        return f'<pre class="mermaid">{escape(token.content)}</pre>\n'
    if language == "math" and call.state.has_math:
        return context.formula(token.content, is_block=True)
    known = f' class="language-{language}"' if _LANGUAGE.fullmatch(language) else ""
    return f"<pre><code{known}>{escape(token.content)}</code></pre>\n"


def _math(call: _Call) -> str:
    token = call.token
    return call.context.formula(token.content, is_block=token.markup == "$$")


def _raw_html(call: _Call) -> str:
    """Pass on raw HTML, its links and images resolved; as text, once a page has too much of it."""
    html, context = call.token.content, call.context
    call.state.tags += count_tags(html)
    if call.state.tags > MAX_TAGS:
        return escape(html)

    def resolved(found: re.Match[str]) -> str:
        if found[1]:
            return context.close_link()
        attributes: dict[str, str] = {}
        for name, *values in _RAW_ATTRIBUTE.findall(found[3]):
            attributes.setdefault(name.lower(), unescape("".join(values)))
        match found[2].lower():
            case "a":
                return context.open_link(attributes)
            case "img":
                return context.image(attributes)
            case _:
                return write_checkbox(is_done="checked" in attributes)

    return _RAW_TAG.sub(resolved, filter_raw_html(html))


def _link_open(call: _Call) -> str:
    return call.context.open_link({name: str(value) for name, value in call.token.attrItems()})


def _link_close(call: _Call) -> str:
    return call.context.close_link()


def _image(call: _Call) -> str:
    attributes = {name: str(value) for name, value in call.token.attrItems()}
    words = call.renderer.renderInlineAsText(call.token.children, call.options, call.env)
    return call.context.image(attributes | {"alt": words})


def _footnote_ref(call: _Call) -> str:
    token = call.token
    number = int(token.meta["id"]) + 1
    if not call.context.has_ids:
        return f'<sup><a aria-label="Footnote {number}">{number}</a></sup>'
    target, own = encode_fragment(f"fn-{token.meta['label']}"), _reference(token)
    return (
        f'<sup><a class="footnote-ref" id="{escape(own)}" href="#{escape(target)}"'
        f' aria-label="Footnote {number}">{number}</a></sup>'
    )


def _footnote_block_open(call: _Call) -> str:
    return '<section class="footnotes">\n<ol>\n'


def _footnote_open(call: _Call) -> str:
    name = escape(str(call.token.meta["label"]))
    return f'<li id="fn-{name}"><a id="user-content-fn-{name}"></a>'


def _footnote_anchor(call: _Call) -> str:
    if not call.context.has_ids:
        return ' <a aria-label="Back to the text">↩</a>'
    href = escape(encode_fragment(_reference(call.token)))
    return f' <a class="footnote-backref" href="#{href}" aria-label="Back to the text">↩</a>'


_RULES = {
    "heading_open": _heading_open,
    "heading_close": _heading_close,
    "blockquote_open": _blockquote_open,
    "list_item_open": _list_item_open,
    "fence": _fence,
    "html_block": _raw_html,
    "html_inline": _raw_html,
    "link_open": _link_open,
    "link_close": _link_close,
    "image": _image,
    "math": _math,
    "footnote_ref": _footnote_ref,
    "footnote_block_open": _footnote_block_open,
    "footnote_open": _footnote_open,
    "footnote_anchor": _footnote_anchor,
}


def encode_fragment(name: str) -> str:
    """Return a name as the fragment of an address."""
    return quote(name, safe="/-._~!$&'(*)+,;=:@")


def _reference(token: Token) -> str:
    """Return the name of a place that refers to a footnote: the first of them, or one that is numbered."""
    number = int(token.meta["subId"]) + 1
    return f"fnref-{token.meta['label']}" + (f"-{number}" if number > 1 else "")


ALERTS = {
    "note": "Note",
    "tip": "Tip",
    "important": "Important",
    "warning": "Warning",
    "caution": "Caution",
}
