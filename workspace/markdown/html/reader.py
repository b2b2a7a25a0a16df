"""Read a text for a page: blocks, what GitHub adds to them, and inline Markdown, within bounds."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from workspace.markdown.bounds import too_many_blocks
from workspace.markdown.html.additions import add_to_blocks
from workspace.markdown.html.autolinks import enable_autolinks
from workspace.markdown.html.math import read_math
from workspace.markdown.html.wiki import read_wiki
from workspace.markdown.html.writer import add_render_rules
from workspace.markdown.parser import block_parser

if TYPE_CHECKING:
    from collections.abc import Mapping

    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

# A page of more blocks than this would take seconds to make, and longer to look at.
MAX_BLOCKS = 60_000

# Inline rules take time that grows with the square of some texts: this bounds marks times characters, of one
# text and of a page.
_MAX_PRODUCT = 4_000_000
_MAX_PRODUCTS = 40_000_000
_MARKS = "[]<`*_$!~&"


class Features(NamedTuple):
    """What is read beside GitHub's Markdown; `breaks` makes a line break of each line end."""

    wiki: bool = False
    math: bool = False
    breaks: bool = False


class Page(NamedTuple):
    """Hold a text that was read; `is_cut` is True if blocks behind the limit are missing."""

    tokens: list[Token]
    parser: MarkdownIt
    features: Features
    is_cut: bool


def read_page(text: str, features: Features, definitions: Mapping[str, str] | None = None) -> Page:
    """Read a text without front matter, inline Markdown included.

    `definitions` are link definitions that stand elsewhere: the destination of each normalized label. Raises
    LimitExceeded for a text of too many blocks.
    """
    parser = _parser(features)
    references = {label: {"title": "", "href": href} for label, href in (definitions or {}).items()}
    env: dict[str, Any] = {"references": references}
    tokens = parser.parse(text, env)
    return Page(tokens, parser, features, "is_cut" in env)


@cache
def _parser(features: Features) -> MarkdownIt:
    from markdown_it.rules_core import text_join
    from mdit_py_plugins.footnote import footnote_plugin

    parser = block_parser().enable(["table", "strikethrough"]).use(footnote_plugin, inline=False)
    parser.options["breaks"], parser.options["xhtmlOut"] = features.breaks, False
    if features.wiki:
        parser.inline.ruler.before("link", "wiki", read_wiki)
    if features.math:
        parser.inline.ruler.before("escape", "math", read_math)
        parser.inline.add_terminator_char("$")
    parser.core.ruler.after("block", "limit", _limit_blocks)
    parser.core.ruler.after("limit", "additions", lambda state: add_to_blocks(state.tokens))
    parser.core.ruler.at("inline", _read_inline)
    parser.core.ruler.enable("inline")
    # Addresses are found in texts whose escapes and entities are read, and joined.
    parser.core.ruler.after("inline", "joined", text_join)
    enable_autolinks(parser)
    # Destinations stay as they are written: which are safe is decided where they are resolved.
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    parser.normalizeLinkText = lambda link: link  # type: ignore[method-assign]
    add_render_rules(parser)
    return parser


def _limit_blocks(state: StateCore) -> None:
    """Drop the blocks behind the limit, whole ones alone. Raises LimitExceeded if the first is too large."""
    tokens, end = state.tokens, MAX_BLOCKS
    if len(tokens) <= end:
        return
    while end and (tokens[end].level or tokens[end].nesting < 0 or tokens[end - 1].nesting > 0):
        end -= 1
    if not end:
        raise too_many_blocks()
    del tokens[end:]
    state.env["is_cut"] = True


def _read_inline(state: StateCore) -> None:
    """Read inline Markdown as the library's rule does, but for texts that would take too long."""
    from markdown_it.token import Token

    left = _MAX_PRODUCTS
    for token in state.tokens:
        if token.type != "inline":
            continue
        token.children = []
        product = len(token.content) * sum(map(token.content.count, _MARKS))
        if product > _MAX_PRODUCT or product > left:
            token.children.append(Token("text", "", 0, content=token.content))
            continue
        if product > 10_000:
            left -= product
        state.md.inline.parse(token.content, state.md, state.env, token.children)
