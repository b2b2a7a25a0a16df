"""Parse the text of a page within limits: blocks, GitHub's extensions of blocks, and inline Markdown.

GitHub's extensions of blocks are alerts and task lists. Headings are read without their anchors.

linkify-it-py finds URLs and e-mail addresses that are not marked as links (GFM 0.29 §6.9).
`mdit_py_plugins.gfm_autolink` is not used: it takes minutes for a text of 90,000 colons, and finds no URL in
quotes.

Formulas are `$x$` and ``$`x`$`` within a line of text, and `$$x$$` for a separate formula. They are inline
Markdown, so that the blocks of a page are those of the document: a line between `$$` that is a heading stays
a heading with its address. So the rules of `mdit_py_plugins.dollarmath` are not used. Its block rule hides
such headings, and its formulas extend into other list items. Its inline rule finds no formula at the
beginning of a text that ends in a digit, and takes quadratic time for many formulas.

Wiki links are `[[Page]]` and `[[Page#Heading|text]]`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from workspace.markdown.anchors import TASK_ID, read_heading
from workspace.markdown.attribute_lists import read_attribute_line
from workspace.markdown.html.containers import add_container_rules
from workspace.markdown.html.page import MarkdownFeatures, ParsedPage
from workspace.markdown.html.writer import add_render_rules
from workspace.markdown.parser import make_block_parser, make_too_many_blocks_error

if TYPE_CHECKING:
    from linkify_it.main import Match
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token


_ALERT = re.compile(r"\[!(note|tip|important|warning|caution)\][ \t]*(?:\n|\Z)", re.IGNORECASE)

# The task list extension of GitHub Flavored Markdown 0.29 §5.3; as `workspace.document.tasks` reads it.
_CHECKBOX = re.compile(r"\[([ xX])\][ \t]+(?=\S)")


def mark_alerts_and_tasks(tokens: list[Token]) -> None:
    """Mark alerts and tasks, and remove their marks and the anchors of headings from the text.

    Also replace styles of table cells by alignments.

    The `meta` of an alert's quotation has `alert`; the `meta` of a task's list item has `done`. The
    library's own rules read the text after the mark as blocks, so a page would have headings without
    addresses.
    """
    lists: list[Token] = []
    for position, token in enumerate(tokens):
        match token.type:
            case "heading_open":
                inline = tokens[position + 1]
                inline.content = read_heading(inline.content).title
                _hide_lists_below(tokens, position)
            case "blockquote_open" if not token.level:
                _mark_alert(tokens, position)
            case "bullet_list_open" | "ordered_list_open":
                lists.append(token)
            case "bullet_list_close" | "ordered_list_close":
                lists.pop()
            case "list_item_open":
                if _mark_task(tokens, position) and lists:
                    lists[-1].attrSet("class", "task-list")
            case "th_open" | "td_open":
                _replace_style_by_alignment(token)


def _hide_lists_below(tokens: list[Token], position: int) -> None:
    """Remove the attribute lists of kramdown from a paragraph that begins on the line below a heading."""
    heading, paragraph = tokens[position], tokens[position + 3 : position + 6]
    if not paragraph or paragraph[0].type != "paragraph_open" or not heading.map or not paragraph[0].map:
        return
    if paragraph[0].map[0] != heading.map[1]:
        return
    lines = paragraph[1].content.split("\n")
    while lines and read_attribute_line(lines[0]):
        lines.pop(0)
    paragraph[1].content = "\n".join(lines)
    paragraph[0].hidden = paragraph[2].hidden = not lines


def _mark_alert(tokens: list[Token], position: int) -> None:
    """Mark a quotation as an alert, and remove the alert's mark, if its text begins with such a mark."""
    if tokens[position + 1].type != "paragraph_open":
        return
    inline = tokens[position + 2]
    match = _ALERT.match(inline.content)
    if match is None:
        return
    text_below = inline.content[match.end() :]
    # A mark without text below it is text, as on GitHub.
    if not text_below and tokens[position + 4].type == "blockquote_close":
        return
    inline.content = text_below
    if not text_below:
        tokens[position + 1].hidden = tokens[position + 3].hidden = True
    quotation, kind = tokens[position], match[1].lower()
    quotation.meta["alert"] = kind
    quotation.attrSet("class", f"alert alert-{kind}")
    end = next(token for token in tokens[position:] if token.type == "blockquote_close" and not token.level)
    quotation.tag = end.tag = "div"


def _mark_task(tokens: list[Token], position: int) -> bool:
    """Mark a list item as a task, and remove its checkbox and its id; return False if it has no checkbox."""
    if tokens[position + 1].type != "paragraph_open":
        return False
    inline = tokens[position + 2]
    match = _CHECKBOX.match(inline.content)
    if match is None:
        return False
    inline.content = TASK_ID.sub("", inline.content[match.end() :])
    tokens[position].meta["done"] = match[1] != " "
    tokens[position].attrSet("class", "task-list-item")
    return True


def _replace_style_by_alignment(token: Token) -> None:
    """Replace the style of a table cell by `align`, because pages do not permit styles."""
    style = str(token.attrs.pop("style", ""))
    if style:
        token.attrSet("align", style.removeprefix("text-align:"))


# The library reads all text up to a space after each of these marks, which takes quadratic time.
_AUTOLINK_MARKS = ("://", "www.")
_MAX_AUTOLINK_MARKS = 20
_MAX_ADDRESS_LENGTH = 4_000  # characters of an address that begins with `www.`


def enable_autolinks(parser: MarkdownIt) -> None:
    """Enable links for `https://…`, `http://…`, `www.…` and `name@host` in a parser's texts."""
    from linkify_it import LinkifyIt

    class Linkify(LinkifyIt):  # type: ignore[misc]
        def pretest(self, text: str) -> bool:
            """Return False for a text without addresses, or with too many marks of URLs in a word.

            This check is ten times as fast as that of the library.
            """
            text = text.lower()
            return any(mark in text for mark in (*_AUTOLINK_MARKS, "@")) and not _has_many_marks(text)

        def validate_www(self, text: str, position: int) -> int:
            """Return the number of the address's characters after `www.`; 0 if the text is not an address."""
            prefix = "http://www."
            match = self.match_at_start(prefix + text[position : position + _MAX_ADDRESS_LENGTH])
            return match.last_index - len(prefix) if match else 0

        def normalize_www(self, match: Match) -> None:
            match.url = f"http://{match.url}"

    # With fuzzy links, any name with a dot would be an address: README.md would be a host of the domain `md`.
    linkify = Linkify({"ftp:": None, "//": None}, {"fuzzy_link": False})
    linkify.add("www.", {"validate": linkify.validate_www, "normalize": linkify.normalize_www})
    parser.linkify = linkify
    parser.options["linkify"] = True
    parser.core.ruler.enable("linkify")


def _has_many_marks(text: str) -> bool:
    """Return True if one word of a text has too many marks of URLs, so that no URL of the text is read."""
    if sum(map(text.count, _AUTOLINK_MARKS)) <= _MAX_AUTOLINK_MARKS:
        return False
    return any(sum(map(word.count, _AUTOLINK_MARKS)) > _MAX_AUTOLINK_MARKS for word in text.split())


# A dollar sign next to a space in the formula, or next to a letter or a digit outside of it, belongs to an
# amount of money or to the name of a variable: `$5 and $10`, `US$`, `$HOME/bin:$PATH`, `${A}${B}`. A formula
# contains no code and no end of a link, so that a price before a link does not hide the link.
_FORMULA = re.compile(
    r"(\$\$)((?:[^$`\\\]]|\](?!\()|\\[\s\S]){1,2000})(\$\$)"
    r"|(?<![A-Za-z0-9$])(?:"
    r"(\$`)([^`\n]{1,1000})(`\$)"
    r"|(\$)(?![\s$])((?:[^$`\\\]\n]|\](?!\()|\\.){1,1000})(?<!\s)(\$)"
    r")(?![A-Za-z0-9${])"
)


def read_formula(state: StateInline, silent: bool) -> bool:
    """Read a formula, as a rule of the inline parser."""
    if state.src[state.pos] != "$":
        return False
    match = _FORMULA.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        token = state.push("math", "", 0)
        token.markup, token.content, end = filter(None, match.groups())
        token.meta.update(end=end, is_block=end == "$$")
    state.pos = match.end()
    return True


WIKI_SCHEME = "docyard-wiki"
"""The scheme of the placeholder address of a wiki link until it is resolved."""

# Wiki links in the form that `workspace.links.inline` reads.
_WIKI_LINK = re.compile(r"(!?)\[\[([^\[\]|\n]+)(?:\|([^\[\]\n]*))?\]\](?!\()")


def read_wiki_link(state: StateInline, silent: bool) -> bool:
    """Read a wiki link, as a rule of the inline parser."""
    if not state.src.startswith(("[[", "![["), state.pos):
        return False
    match = _WIKI_LINK.match(state.src, state.pos, state.posMax)
    if match is None or state.linkLevel:
        return False
    page = match[2].removesuffix("\\").strip(" ")
    if not page:
        return False
    if not silent:
        token = state.push("link_open", "a", 1)
        token.attrs = {"href": f"{WIKI_SCHEME}:{page}"}
        token = state.push("text", "", 0)
        token.content = (match[3] or "").strip() or page
        state.push("link_close", "a", -1)
    state.pos = match.end()
    return True


# The start, the text and the end of a block are one token each. A longer page would take seconds to render.
MAX_BLOCK_TOKENS = 60_000

# Inline rules take quadratic time for some texts. The cost of a text is the product of its marks and
# its characters. These limits bound the cost of one text and of a page.
_MAX_TEXT_COST = 4_000_000
_MAX_PAGE_COST = 40_000_000
_MAX_UNCOUNTED_COST = 10_000  # cheaper texts do not count towards the cost of a page
_INLINE_MARKS = "[]<`*_$!~&"


def read_page(text: str, features: MarkdownFeatures) -> ParsedPage:
    """Read the blocks and the inline Markdown of a text without front matter.

    Raises LimitExceeded for a text of too many blocks.
    """
    parser = _get_parser(features)
    env: dict[str, Any] = {}
    tokens = parser.parse(text, env)
    return ParsedPage(tokens, parser, features, "is_cut" in env)


@cache
def _get_parser(features: MarkdownFeatures) -> MarkdownIt:
    from mdit_py_plugins.footnote import footnote_plugin

    from workspace.markdown.library import text_join

    parser = make_block_parser().enable(["table", "strikethrough"]).use(footnote_plugin, inline=False)
    parser.options["breaks"], parser.options["xhtmlOut"] = features.breaks, False
    if features.wiki:
        parser.inline.ruler.before("link", "wiki", read_wiki_link)
    add_container_rules(parser, features.containers)
    if features.math:
        parser.inline.ruler.before("escape", "math", read_formula)
        parser.inline.add_terminator_char("$")
    parser.core.ruler.after("block", "limit", _limit_blocks)
    parser.core.ruler.after("limit", "additions", lambda state: mark_alerts_and_tasks(state.tokens))
    parser.core.ruler.at("inline", _read_inline)
    parser.core.ruler.enable("inline")
    # The search for addresses needs texts whose escapes and entities are resolved and joined.
    parser.core.ruler.after("inline", "joined", text_join)
    enable_autolinks(parser)
    # Destinations stay unchanged, because the resolver of links checks which destinations are safe.
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    parser.normalizeLinkText = lambda link: link  # type: ignore[method-assign]
    add_render_rules(parser)
    return parser


def _limit_blocks(state: StateCore) -> None:
    """Remove the blocks beyond the limit of `MAX_BLOCK_TOKENS` tokens, without splitting a block.

    Raises LimitExceeded if the first block is too large.
    """
    tokens, end = state.tokens, MAX_BLOCK_TOKENS
    if len(tokens) <= end:
        return
    while end and (tokens[end].level or tokens[end].nesting < 0 or tokens[end - 1].nesting > 0):
        end -= 1
    if not end:
        raise make_too_many_blocks_error()
    del tokens[end:]
    state.env["is_cut"] = True


def _read_inline(state: StateCore) -> None:
    """Read inline Markdown as the library's rule does, except in texts that would take too long."""
    from workspace.markdown.library import Token

    remaining_cost = _MAX_PAGE_COST
    for token in state.tokens:
        if token.type != "inline":
            continue
        token.children = []
        cost = len(token.content) * sum(map(token.content.count, _INLINE_MARKS))
        if cost > _MAX_TEXT_COST or cost > remaining_cost:
            token.children.append(Token("text", "", 0, content=token.content))
            continue
        if cost > _MAX_UNCOUNTED_COST:
            remaining_cost -= cost
        state.md.inline.parse(token.content, state.md, state.env, token.children)
