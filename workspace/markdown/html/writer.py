"""Write the HTML of a page with markdown-it-py's renderer and Docyard's rules.

The HTML is not safe by itself. It includes raw HTML, which the sanitizer must clean, and the links and images
that `RenderContext` returns. Raw HTML is limited, so that the sanitizer needs no extra time to read it.
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

# More tags could be nested so deeply that reading them takes quadratic time.
MAX_TAGS = 5_000

PERMITTED_ELEMENTS = frozenset({
    "a", "abbr", "b", "bdi", "bdo", "blockquote", "br", "caption", "cite", "code", "col", "colgroup", "dd",
    "del", "details", "dfn", "div", "dl", "dt", "em", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5",
    "h6", "hr", "i", "img", "input", "ins", "kbd", "li", "mark", "ol", "p", "pre", "q", "rp", "rt", "ruby",
    "s", "samp", "section", "small", "span", "strike", "strong", "sub", "summary", "sup", "table", "tbody",
    "td", "tfoot", "th", "thead", "time", "tr", "tt", "u", "ul", "var", "wbr",
})  # fmt: skip
"""The elements that are permitted on a page."""

_REMOVED_ELEMENTS = (
    "address", "area", "article", "aside", "audio", "base", "big", "body", "button", "canvas", "center",
    "dialog", "embed", "fieldset", "font", "footer", "form", "head", "header", "html", "label", "legend",
    "link", "main", "map", "menu", "meta", "nav", "nobr", "object", "param", "picture", "source", "track",
    "video",
)  # fmt: skip

# The tags of removed elements are removed, and their content stays. All unknown tags are shown as text, as in
# `run it on <path>`. They include tags that turn the text after them into raw text (`<script>`, `<textarea>`;
# GFM 0.29 §6.11, "Disallowed Raw HTML"), and the tags of SVG and MathML, which change the rules of HTML. A
# tag that is shown as text hides nothing.
_KNOWN_ELEMENTS = "|".join(sorted({*PERMITTED_ELEMENTS, *_REMOVED_ELEMENTS}))
_UNKNOWN_TAG = re.compile(rf"<(?=/?[A-Za-z])(?!/?(?:{_KNOWN_ELEMENTS})(?:[\s/>]|\Z))", re.IGNORECASE)

# If the sanitizer removed these tags, a browser would move the elements next to them.
_REMOVED_TAG = re.compile(
    rf"</?(?:{'|'.join(_REMOVED_ELEMENTS)})(?:[\s/](?:[^<>\"']|\"[^\"]{{0,4000}}\"|'[^']{{0,4000}}'){{0,4000}})?>",
    re.IGNORECASE,
)

# HTML §13.2.4.3: each paragraph opens an unclosed formatting tag again, unless three tags of the same name
# and attributes are open. Without attributes, all tags of one name are equal.
_FORMATTING_TAG = re.compile(
    r"<(b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)(?=[\s/])[^>]*(?:>|\Z)", re.IGNORECASE
)

_TAG = re.compile(r"<[A-Za-z/]")


def filter_raw_html(html: str) -> str:
    """Return raw HTML without tags that could hide the rest of the page, or be repeated in it."""
    if "<" not in html:
        return html
    return _FORMATTING_TAG.sub(r"<\1>", _REMOVED_TAG.sub("", _UNKNOWN_TAG.sub("&lt;", html)))


def count_tags(html: str) -> int:
    """Return an upper bound for the number of tags in raw HTML."""
    return len(_TAG.findall(html))


_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,40}")

# A heading that a person writes does not have more names.
_MAX_ALIASES = 20

# A tag that has an address, or a checkbox. The sanitizer removes the address of a longer tag.
_RAW_TAG = re.compile(
    r"<(?:(/a)\b[^>]{0,100}|(a|img|input)(?=[\s/])((?:[^<>\"']|\"[^\"]{0,4000}\"|'[^']{0,4000}'){0,4000}))>",
    re.IGNORECASE,
)

_RAW_ATTRIBUTE = re.compile(r"([^\s\"'<>/=]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'=<>`]+)))?")


class HeadingNames(NamedTuple):
    """The names of a heading: its id, the other names of its position, and its label."""

    id: str
    aliases: tuple[str, ...]
    label: str


class RenderContext(Protocol):
    """The parts of the HTML that depend on the document or the page. Lines count from 0 in the text."""

    @property
    def allows_ids(self) -> bool:
        """Return True if the HTML may contain ids, because it occurs only once on its page."""
        ...

    @property
    def marks_diagrams(self) -> bool:
        """Return True if diagrams are marked for the page to draw."""
        ...

    def find_heading_names(self, line: int) -> HeadingNames | None:
        """Return the names of the heading on a line; None if it has no names."""
        ...

    def format_task_id(self, line: int) -> str:
        """Return the id of the box of the task on a line; empty without an id."""
        ...

    def is_hidden(self, line: int) -> bool:
        """Return True if the block that begins on a line is not shown."""
        ...

    def open_link(self, attributes: dict[str, str]) -> str:
        """Return the start tag of a link; its `href` in `attributes` is unresolved."""
        ...

    def close_link(self) -> str:
        """Return the end tag of a link."""
        ...

    def render_image(self, attributes: dict[str, str]) -> str:
        """Return an image as HTML; its `src` in `attributes` is unresolved."""
        ...

    def render_formula(self, source: str, *, is_block: bool) -> str | None:
        """Return a formula as HTML; None if its source is shown instead."""
        ...


class WrittenHtml(NamedTuple):
    """The HTML of a page; `shows_source` is True if excess raw HTML of the page became text."""

    html: str
    shows_source: bool


class _RenderState:
    """The state that the rules of one page share."""

    def __init__(self, context: RenderContext, *, renders_formulas: bool) -> None:
        self.context, self.renders_formulas = context, renders_formulas
        self.heading_names: HeadingNames | None = None
        self.tag_count = 0


class _RuleCall(NamedTuple):
    """The arguments with which the renderer calls a rule, and the token of the rule."""

    renderer: RendererHTML
    tokens: Sequence[Token]
    position: int
    options: OptionsDict
    env: EnvType

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    @property
    def state(self) -> _RenderState:
        state: _RenderState = self.env["state"]
        return state

    @property
    def context(self) -> RenderContext:
        return self.state.context

    def render_default(self) -> str:
        """Return the token as the library renders it."""
        return self.renderer.renderToken(self.tokens, self.position, self.options, self.env)


def write_html(page: ParsedPage, context: RenderContext) -> WrittenHtml:
    """Return a page as HTML."""
    state = _RenderState(context, renders_formulas=page.features.math)
    html = page.parser.renderer.render(
        _select_visible_tokens(page.tokens, context), page.parser.options, {"state": state}
    )
    return WrittenHtml(str(html), state.tag_count > MAX_TAGS)


def _select_visible_tokens(tokens: Sequence[Token], context: RenderContext) -> list[Token]:
    """Return the tokens without the blocks that are not shown."""
    visible_tokens: list[Token] = []
    last_skipped_position = -1
    for position, token in enumerate(tokens):
        is_top = token.type in ("paragraph_open", "html_block") and not token.level
        if is_top and token.map and context.is_hidden(token.map[0]):
            last_skipped_position = position + (2 if token.nesting else 0)
        if position > last_skipped_position:
            visible_tokens.append(token)
    return visible_tokens


def add_render_rules(parser: MarkdownIt) -> None:
    """Add the rules by which a renderer writes a page to its parser."""

    def add(name: str, rule: Callable[[_RuleCall], str]) -> None:
        parser.add_render_rule(name, lambda *arguments: rule(_RuleCall(*arguments)))

    for name, rule in _RULES.items():
        add(name, rule)


def write_checkbox(*, is_done: bool, id: str = "") -> str:
    """Return a task's box as HTML, with a label for screen readers."""
    checked, label = (' checked=""', "Done") if is_done else ("", "To do")
    id_attribute = f' id="{escape(id)}"' if id else ""
    return f'<input type="checkbox" disabled=""{checked}{id_attribute} aria-label="{label}">'


def _write_heading_open(call: _RuleCall) -> str:
    token = call.token
    heading_names = call.state.heading_names = (
        call.context.find_heading_names(token.map[0]) if token.map else None
    )
    if heading_names is None:
        return f"<{token.tag}>"
    aliases = (f'<a id="{escape(name)}"></a>' for name in heading_names.aliases[:_MAX_ALIASES])
    return f'<{token.tag} id="{escape(heading_names.id)}">{"".join(aliases)}'


def _write_heading_close(call: _RuleCall) -> str:
    end_tag, heading_names = call.render_default(), call.state.heading_names
    if heading_names is None:
        return end_tag
    href, label = escape(encode_fragment(heading_names.id)), escape(heading_names.label)
    return f' <a class="anchor" href="#{href}" aria-label="Link to {label}"></a>{end_tag}'


def _write_blockquote_open(call: _RuleCall) -> str:
    start_tag, kind = call.render_default(), call.token.meta.get("alert")
    return f'{start_tag}<p class="alert-title">{ALERTS[kind]}</p>\n' if kind else start_tag


def _write_list_item_open(call: _RuleCall) -> str:
    start_tag, is_done = call.render_default(), call.token.meta.get("done")
    if is_done is None:
        return start_tag
    id = call.context.format_task_id(call.token.map[0]) if call.token.map else ""
    return f"{start_tag}{write_checkbox(is_done=is_done, id=id)} "


def _write_fence(call: _RuleCall) -> str:
    token, context = call.token, call.context
    language = (token.info.split() or [""])[0].lower()
    if language == "mermaid" and context.marks_diagrams:
        return f'<pre class="mermaid">{escape(token.content)}</pre>\n'
    if language == "math" and call.state.renders_formulas:
        formula = context.render_formula(token.content, is_block=True)
        if formula is not None:
            return f"<p>{formula}</p>\n"
    class_attribute = f' class="language-{language}"' if _LANGUAGE.fullmatch(language) else ""
    return f"<pre><code{class_attribute}>{escape(token.content)}</code></pre>\n"


def _write_math(call: _RuleCall) -> str:
    token = call.token
    formula = call.context.render_formula(token.content, is_block=token.meta["is_block"])
    if formula is not None:
        return formula
    return f"<code>{escape(token.markup + token.content + token.meta['end'])}</code>"


def _write_raw_html(call: _RuleCall) -> str:
    """Return raw HTML with its links and images resolved; as text if the page has too much raw HTML."""
    html, context = call.token.content, call.context
    call.state.tag_count += count_tags(html)
    if call.state.tag_count > MAX_TAGS:
        return escape(html)

    def resolve_tag(tag: re.Match[str]) -> str:
        if tag[1]:
            return context.close_link()
        attributes: dict[str, str] = {}
        for name, *values in _RAW_ATTRIBUTE.findall(tag[3]):
            attributes.setdefault(name.lower(), unescape("".join(values)))
        match tag[2].lower():
            case "a":
                return context.open_link(attributes)
            case "img":
                return context.render_image(attributes)
            case _:
                return write_checkbox(is_done="checked" in attributes)

    return _RAW_TAG.sub(resolve_tag, filter_raw_html(html))


def _write_link_open(call: _RuleCall) -> str:
    return call.context.open_link({name: str(value) for name, value in call.token.attrItems()})


def _write_link_close(call: _RuleCall) -> str:
    return call.context.close_link()


def _write_mention(call: _RuleCall) -> str:
    token = call.token
    return f'<span class="mention" title="{escape(token.meta["name"])}">{escape(token.content)}</span>'


def _write_image(call: _RuleCall) -> str:
    attributes = {name: str(value) for name, value in call.token.attrItems()}
    alt_text = call.renderer.renderInlineAsText(call.token.children, call.options, call.env)
    return call.context.render_image(attributes | {"alt": alt_text})


def _write_footnote_ref(call: _RuleCall) -> str:
    token = call.token
    number = int(token.meta["id"]) + 1
    if not call.context.allows_ids:
        return f'<sup><a aria-label="Footnote {number}">{number}</a></sup>'
    target, own_id = encode_fragment(f"fn-{token.meta['label']}"), _make_reference_id(token)
    return (
        f'<sup><a class="footnote-ref" id="{escape(own_id)}" href="#{escape(target)}"'
        f' aria-label="Footnote {number}">{number}</a></sup>'
    )


def _write_footnote_block_open(call: _RuleCall) -> str:
    return '<section class="footnotes">\n<ol>\n'


def _write_footnote_open(call: _RuleCall) -> str:
    name = escape(str(call.token.meta["label"]))
    return f'<li id="fn-{name}"><a id="user-content-fn-{name}"></a>'


def _write_footnote_anchor(call: _RuleCall) -> str:
    if not call.context.allows_ids:
        return ' <a aria-label="Back to the text">↩</a>'
    href = escape(encode_fragment(_make_reference_id(call.token)))
    return f' <a class="footnote-backref" href="#{href}" aria-label="Back to the text">↩</a>'


_RULES = {
    "heading_open": _write_heading_open,
    "mention": _write_mention,
    "heading_close": _write_heading_close,
    "blockquote_open": _write_blockquote_open,
    "list_item_open": _write_list_item_open,
    "fence": _write_fence,
    "html_block": _write_raw_html,
    "html_inline": _write_raw_html,
    "link_open": _write_link_open,
    "link_close": _write_link_close,
    "image": _write_image,
    "math": _write_math,
    "footnote_ref": _write_footnote_ref,
    "footnote_block_open": _write_footnote_block_open,
    "footnote_open": _write_footnote_open,
    "footnote_anchor": _write_footnote_anchor,
}


def encode_fragment(name: str) -> str:
    """Return a name as the fragment of an address."""
    return quote(name, safe="/-._~!$&'(*)+,;=:@")


def _make_reference_id(token: Token) -> str:
    """Return the id of a reference to a footnote; references after the first have a number."""
    number = int(token.meta["subId"]) + 1
    return f"fnref-{token.meta['label']}" + (f"-{number}" if number > 1 else "")


ALERTS = {
    "note": "Note",
    "tip": "Tip",
    "important": "Important",
    "warning": "Warning",
    "caution": "Caution",
}
"""The kinds of alerts, and their titles."""
