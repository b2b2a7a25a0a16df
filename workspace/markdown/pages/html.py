"""Tokens written as HTML. Destinations stand in it as the author wrote them, raw HTML as it came."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from workspace.markdown.pages.additions import ALERTS
from workspace.markdown.pages.raw_html import MAX_TAGS, passed_on, tags_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from markdown_it.token import Token

    from workspace.markdown.pages.reading import Page

_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,40}")
_ALIGNMENT = re.compile(r"text-align:(left|center|right)")
# More names of one place are no names that a person gave it.
_MAX_ALIASES = 20


class Mark(NamedTuple):
    """How a heading is found: its id, the further names of its place, and what it is called."""

    id: str
    aliases: tuple[str, ...]
    label: str


class Formula(NamedTuple):
    """A formula and whether it stands by itself."""

    source: str
    is_block: bool


class Written(NamedTuple):
    """HTML, the formulas that its placeholders stand for, and whether raw HTML became text for its length.

    `has_html` tells of raw HTML in it.
    """

    html: str
    formulas: tuple[Formula, ...]
    is_plain: bool
    has_html: bool


def write_html(
    page: Page,
    *,
    mark: Callable[[int], Mark | None],
    is_dropped: Callable[[int], bool] = lambda line: False,
    placeholder: str = "",
    mermaid: bool = False,
) -> Written:
    """A page as HTML.

    `mark` tells how the heading on a line is found, `is_dropped` whether a block that begins there is not
    shown; lines count from 0 in the text that was read. `placeholder` begins what stands for a formula.
    """
    writer = _Writer(page, mark, is_dropped, placeholder, mermaid)
    writer.write(page.tokens)
    return Written("".join(writer.out), tuple(writer.formulas), writer.tags > MAX_TAGS, writer.tags > 0)


class _Writer:
    def __init__(
        self,
        page: Page,
        mark: Callable[[int], Mark | None],
        is_dropped: Callable[[int], bool],
        placeholder: str,
        mermaid: bool,
    ) -> None:
        self.out: list[str] = []
        self.formulas: list[Formula] = []
        self.tags = 0
        self._features = page.features
        self._mark, self._is_dropped = mark, is_dropped
        self._placeholder, self._mermaid = placeholder, mermaid

    def write(self, tokens: list[Token]) -> None:
        """Writes blocks."""
        out, heading = self.out, None
        skipped_to = -1
        for position, token in enumerate(tokens):
            if position <= skipped_to:
                continue
            match token.type:
                case "inline":
                    self._inline(token.children or [])
                case "heading_open":
                    heading = self._mark(token.map[0]) if token.map else None
                    self._heading(token.tag, heading)
                case "heading_close":
                    if heading:
                        out.append(
                            f' <a class="anchor" href="#{escape(fragment_of(heading.id))}"'
                            f' aria-label="Link to {escape(heading.label)}"></a>'
                        )
                    out.append(f"</{token.tag}>\n")
                case "paragraph_open" if token.map and not token.level and self._is_dropped(token.map[0]):
                    skipped_to = position + 2
                case "html_block":
                    if not (token.map and self._is_dropped(token.map[0])):
                        out.append(self._raw(token.content))
                case "fence" | "code_block":
                    self._code(token)
                case _:
                    self._block(token)

    def _heading(self, tag: str, mark: Mark | None) -> None:
        if mark is None:
            self.out.append(f"<{tag}>")
            return
        self.out.append(f'<{tag} id="{escape(mark.id)}">')
        self.out += (f'<a id="{escape(name)}"></a>' for name in mark.aliases[:_MAX_ALIASES])

    def _block(self, token: Token) -> None:
        out = self.out
        match token.type:
            case "paragraph_open" | "paragraph_close" if token.hidden:
                if token.nesting < 0:
                    out.append("\n")
            case "blockquote_open" if "alert" in token.meta:
                kind = token.meta["alert"]
                out.append(f'<div class="alert alert-{kind}">\n<p class="alert-title">{ALERTS[kind]}</p>\n')
            case "blockquote_close" if "alert" in token.meta:
                out.append("</div>\n")
            case "bullet_list_open" | "ordered_list_open":
                start = token.attrs.get("start")
                tasks = ' class="task-list"' if token.meta.get("tasks") else ""
                begin = "" if start is None else f' start="{int(start)}"'
                out.append(f"<{token.tag}{tasks}{begin}>\n")
            case "list_item_open" if "done" in token.meta:
                checked = " checked" if token.meta["done"] else ""
                out.append(f'<li class="task-list-item"><input type="checkbox" disabled{checked}> ')
            case "th_open" | "td_open":
                side = _ALIGNMENT.fullmatch(str(token.attrs.get("style", "")))
                out.append(f'<{token.tag} align="{side[1]}">' if side else f"<{token.tag}>")
            case "footnote_block_open":
                out.append('<section class="footnotes">\n<ol>\n')
            case "footnote_block_close":
                out.append("</ol>\n</section>\n")
            case "footnote_open":
                name = _footnote(token)
                out.append(f'<li id="fn-{name}"><a id="user-content-fn-{name}"></a>')
            case "footnote_close":
                out.append("</li>\n")
            case "footnote_anchor":
                out.append(
                    f' <a class="footnote-backref" href="#{escape(fragment_of(_reference(token)))}"'
                    ' aria-label="Back to the text">↩</a>'
                )
            case _ if token.tag:
                out.append(f"<{token.tag}>" if token.nesting >= 0 else f"</{token.tag}>\n")

    def _code(self, token: Token) -> None:
        language = (token.info.split() or [""])[0].lower()
        if language == "mermaid" and self._mermaid:
            self.out.append(f'<pre class="mermaid">{escape(token.content, quote=False)}</pre>\n')
        elif language == "math" and self._features.math:
            self._formula(token.content, is_block=True)
        else:
            known = f' class="language-{language}"' if _LANGUAGE.fullmatch(language) else ""
            # HTML §13.1.2.5: the first line end in a `pre` does not count.
            self.out.append(f"<pre><code{known}>{escape(token.content, quote=False)}</code></pre>\n")

    def _formula(self, source: str, *, is_block: bool) -> None:
        self.out.append(f"{self._placeholder}{len(self.formulas)}.")
        self.formulas.append(Formula(source, is_block))

    def _raw(self, html: str) -> str:
        """Raw HTML; as text, once a page has more of it than is read."""
        self.tags += tags_in(html)
        return passed_on(html) if self.tags <= MAX_TAGS else escape(html, quote=False)

    def _inline(self, children: list[Token]) -> None:
        out = self.out
        for token in children:
            match token.type:
                case "text":
                    out.append(escape(token.content, quote=False))
                case "softbreak":
                    out.append("<br>\n" if self._features.breaks else "\n")
                case "hardbreak":
                    out.append("<br>\n")
                case "code_inline":
                    out.append(f"<code>{escape(token.content, quote=False)}</code>")
                case "link_open":
                    out.append(f'<a href="{escape(str(token.attrs.get("href", "")))}"{_title(token)}>')
                case "image":
                    source, words = str(token.attrs.get("src", "")), _words(token.children or [])
                    out.append(f'<img src="{escape(source)}" alt="{escape(words)}"{_title(token)}>')
                case "html_inline":
                    out.append(self._raw(token.content))
                case "footnote_ref":
                    target = escape(fragment_of(f"fn-{token.meta['label']}"))
                    own = escape(_reference(token))
                    number = int(token.meta["id"]) + 1
                    out.append(
                        f'<sup><a class="footnote-ref" id="{own}" href="#{target}"'
                        f' aria-label="Footnote {number}">{number}</a></sup>'
                    )
                case "math":
                    self._formula(token.content, is_block=token.markup == "$$")
                case _ if token.tag:
                    out.append(f"<{token.tag}>" if token.nesting >= 0 else f"</{token.tag}>")


def fragment_of(name: str) -> str:
    """A name as the fragment of an address."""
    return quote(name, safe="/-._~!$&'(*)+,;=:@")


def _title(token: Token) -> str:
    title = token.attrs.get("title")
    return f' title="{escape(str(title))}"' if title else ""


def _words(children: list[Token]) -> str:
    """What an image's description says, without marks."""
    words: list[str] = []
    for token in children:
        if token.type in ("text", "code_inline", "text_special"):
            words.append(token.content)
        elif token.type == "image":
            words.append(_words(token.children or []))
        elif token.type in ("softbreak", "hardbreak"):
            words.append(" ")
        elif token.type == "math":
            words.append(f"{token.markup}{token.content}{token.markup}")
    return "".join(words)


def _footnote(token: Token) -> str:
    return escape(str(token.meta["label"]))


def _reference(token: Token) -> str:
    """The name of a place that refers to a footnote: the first of them, or one that is numbered."""
    number = int(token.meta["subId"]) + 1
    return f"fnref-{token.meta['label']}" + (f"-{number}" if number > 1 else "")
