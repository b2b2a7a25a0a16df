"""Reading a text for a page: blocks, what GitHub adds to them, and inline Markdown, within bounds."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from workspace.markdown.bounds import too_many_blocks
from workspace.markdown.pages.additions import add_to_blocks
from workspace.markdown.pages.autolinks import link_addresses
from workspace.markdown.pages.math import read_math
from workspace.markdown.pages.wiki import read_wiki
from workspace.markdown.parsers import block_parser

if TYPE_CHECKING:
    from collections.abc import Mapping

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# A page of more blocks than this would take seconds to make, and longer to look at.
MAX_BLOCKS = 60_000

# Inline rules take time that grows with the square of some texts: this bounds marks times characters, of one
# text and of a page.
_MAX_PRODUCT = 4_000_000
_MAX_PRODUCTS = 40_000_000
_MARKS = "[]<`*_$!~&"

# Emphasis and links that stand inside each other more deeply are read as text.
_INLINE_LEVELS = 20


class Features(NamedTuple):
    """What is read beside GitHub's Markdown; `breaks` makes a line break of each line end."""

    wiki: bool = False
    math: bool = False
    breaks: bool = False


class Page(NamedTuple):
    """A text that was read; `is_cut` tells that blocks behind the limit are missing."""

    tokens: list[Token]
    features: Features
    is_cut: bool


def read_page(text: str, features: Features, definitions: Mapping[str, str] | None = None) -> Page:
    """The tokens of a text without front matter, inline Markdown included.

    `definitions` are link definitions that stand elsewhere: the destination of each normalized label. Raises
    LimitExceeded for a text of too many blocks.
    """
    from markdown_it.rules_core import StateCore

    blocks = _blocks()
    references = {label: {"title": "", "href": href} for label, href in (definitions or {}).items()}
    env: dict[str, Any] = {"references": references}
    tokens = blocks.parse(text, env)
    end = _end(tokens)
    if tokens and not end:
        raise too_many_blocks()
    is_cut = end < len(tokens)
    del tokens[end:]
    add_to_blocks(tokens)
    inline = _inline(features)
    left = _MAX_PRODUCTS
    for token in tokens:
        if token.type != "inline":
            continue
        token.children = []
        product = len(token.content) * sum(map(token.content.count, _MARKS))
        if product > _MAX_PRODUCT or product > left:
            _keep_as_text(token)
            continue
        if product > 10_000:
            left -= product
        inline.inline.parse(token.content, inline, env, token.children)
        token.children = link_addresses(token.children, token.content)
    state = StateCore(text, inline, env, tokens)
    inline.core.process(state)
    return Page(state.tokens, features, is_cut)


def _end(tokens: list[Token]) -> int:
    """How many tokens are kept: whole blocks alone, none if the first is too large."""
    if len(tokens) <= MAX_BLOCKS:
        return len(tokens)
    end = MAX_BLOCKS
    while end and (tokens[end].level or tokens[end].nesting < 0 or tokens[end - 1].nesting > 0):
        end -= 1
    return end


def _keep_as_text(token: Token) -> None:
    from markdown_it.token import Token as NewToken

    token.children = [NewToken("text", "", 0, content=token.content)]


@cache
def _blocks() -> MarkdownIt:
    from mdit_py_plugins.footnote import footnote_plugin

    parser = block_parser().enable("table").use(footnote_plugin, inline=False)
    parser.core.ruler.disable("footnote_tail")
    _accept_all(parser)
    return parser


@cache
def _inline(features: Features) -> MarkdownIt:
    from markdown_it import MarkdownIt
    from mdit_py_plugins.footnote import footnote_plugin

    parser = MarkdownIt("commonmark", {"maxNesting": _INLINE_LEVELS}).enable("strikethrough")
    parser.use(footnote_plugin, inline=False)
    # Blocks were read before, and each inline token is read by itself.
    parser.core.ruler.enableOnly(["footnote_tail"])
    if features.wiki:
        parser.inline.ruler.before("link", "wiki", read_wiki)
    if features.math:
        parser.inline.ruler.before("escape", "math", read_math)
        parser.inline.add_terminator_char("$")
    _accept_all(parser)
    return parser


def _accept_all(parser: MarkdownIt) -> None:
    """Destinations stay as they are written: which are safe is told where they are resolved."""
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    parser.normalizeLinkText = lambda link: link  # type: ignore[method-assign]
