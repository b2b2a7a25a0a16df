"""The comparison of two versions of sanitized HTML: the blocks that differ, and the words within them.

The blocks of a text are its paragraphs, lists, tables and so on. Within blocks that differ, a unit is the
text of one paragraph, list item or heading, or one row of a table; units are compared word by word. Only
whole words between two tags are put into elements, so the HTML stays well-formed. Text with other formatting,
or a link with another target, counts as changed.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from docyard.web.templates import mark_trusted
from workspace.diff.sequences import pair_lines
from workspace.diff.text import ComparableUnit, diff_tokens, match_versions, split_tokens
from workspace.lru_cache import LRUCache

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from markupsafe import Markup

MAX_MARKED_CHARS = 150_000
"""The maximum number of characters of blocks that are compared word by word; longer ones are only marked."""

# HTML of the sanitizer: attributes are in double quotes, and all other tags are closed.
_TAG = re.compile(r'<(/?)([a-z][a-z0-9]*)(?: [a-zA-Z:-]+="[^"]*")*>')
_VOID_ELEMENTS = frozenset({"br", "col", "hr", "img", "input", "wbr"})
_BLOCK_ELEMENTS = frozenset({
    "blockquote", "caption", "col", "colgroup", "dd", "details", "div", "dl", "dt", "figcaption", "figure",
    "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "section", "summary", "table", "tbody",
    "td", "tfoot", "th", "thead", "tr", "ul",
})  # fmt: skip
_MARKED_ELEMENTS = frozenset({"img", "input", "math"})  # compared and marked as a whole
# Colours of code may be missing in one version, so they are no difference.
_COLOUR_TAG = re.compile(r'</?span(?: class="code-[a-z]+")?>')
_HEADING = re.compile(r"<h[1-6][ >]")
_ENTITY = re.compile(r"(&#?[A-Za-z0-9]{1,31};)")
_FIRST_CONTEXT = 0xF0000  # the first private character; one for each formatting
_MAX_CONTEXTS = 0xFFFD


class RenderedVersions(NamedTuple):
    """Both versions of a section as HTML; None for a version that has no such section.

    `is_equal` is True if they do not differ, as after a move; `new` is then enough.
    """

    old: Markup | None
    new: Markup | None
    is_equal: bool = False


class _Token(NamedTuple):
    """A word, a space, a mark or an element: the characters [start, end) of a block.

    The `key` of two tokens is equal if their text and formatting are equal.
    """

    text: str
    key: str
    start: int
    end: int


class _Unit(NamedTuple):
    """The tokens of a paragraph or of a row, and the index of its block."""

    block: int
    kind: str
    tokens: list[_Token]

    @property
    def key(self) -> bytes:
        return "\0".join(token.key for token in self.tokens).encode("utf-8", "surrogatepass")

    @property
    def comparable(self) -> ComparableUnit:
        return ComparableUnit(self.kind, Counter(token.text for token in self.tokens if _has_word(token)))


# A comparison of 20 kB takes about 60 ms.
_MAX_CACHED_CHARS = 8_000_000
_cached_versions: LRUCache[tuple[str, str, str, str], RenderedVersions] = LRUCache(
    _MAX_CACHED_CHARS, lambda versions: 2 * len((versions.old or "") + (versions.new or "")) + 1_000
)


def compare_html(
    old_html: str | None, new_html: str | None, old_commit: str = "", new_commit: str = ""
) -> RenderedVersions:
    """Return two versions, in which the blocks and words that differ are marked; one of them may be missing.

    The commits are in the addresses of links, and are no difference. Versions that differ are without their
    first heading if it is the same.
    """
    if old_html is None or new_html is None:
        return RenderedVersions(
            None if old_html is None else mark_trusted(old_html),
            None if new_html is None else mark_trusted(new_html),
        )
    return _cached_versions.get(
        (old_html, new_html, old_commit, new_commit),
        lambda: _compare_html(old_html, new_html, _Comparison(old_commit, new_commit)),
    )


def _compare_html(old_html: str, new_html: str, comparison: _Comparison) -> RenderedVersions:
    old_blocks, new_blocks = split_blocks(old_html), split_blocks(new_html)
    old_keys, new_keys = (
        [comparison.normalize(block).encode("utf-8", "surrogatepass") for block in blocks]
        for blocks in (old_blocks, new_blocks)
    )
    if old_keys == new_keys:
        return RenderedVersions(mark_trusted(old_html), mark_trusted(new_html), is_equal=True)
    old_parts: list[str] = []
    new_parts: list[str] = []
    old_start = new_start = 0
    if old_keys[:1] == new_keys[:1] and _HEADING.match(new_blocks[0]):
        # The page shows the heading of the section above both versions.
        old_keys, new_keys = old_keys[1:], new_keys[1:]
        old_blocks, new_blocks = old_blocks[1:], new_blocks[1:]
    for old_index, new_index in [*pair_lines(old_keys, new_keys), (len(old_blocks), len(new_blocks))]:
        old_run, new_run = comparison.mark_words(
            old_blocks[old_start:old_index], new_blocks[new_start:new_index]
        )
        old_parts.append(_mark_blocks("".join(old_run), "removed", "Changed, before"))
        new_parts.append(_mark_blocks("".join(new_run), "added", "Changed, after"))
        old_parts += old_blocks[old_index : old_index + 1]
        new_parts += new_blocks[new_index : new_index + 1]
        old_start, new_start = old_index + 1, new_index + 1
    return RenderedVersions(mark_trusted("".join(old_parts)), mark_trusted("".join(new_parts)))


def _mark_blocks(html: str, css_class: str, label: str) -> str:
    """Return the HTML of blocks in an element with a label for screen readers; "" without blocks."""
    if not html:
        return ""
    return f'<div class="blocks-{css_class}" role="group" aria-label="{label}">{html}</div>'


def split_blocks(html: str) -> list[str]:
    """Return the elements at the top of sanitized HTML, each with the text up to the next one."""
    starts: list[int] = []
    depth = 0
    for tag in _TAG.finditer(html):
        if tag[1]:
            depth -= 1
            continue
        if depth == 0:
            starts.append(tag.start())
        depth += tag[2] not in _VOID_ELEMENTS
    if not starts:
        return [html] if html else []
    starts[0] = 0
    return [html[start:end] for start, end in zip(starts, [*starts[1:], len(html)], strict=True)]


class _Comparison:
    """The comparison of two versions, with a private character for each formatting in them."""

    def __init__(self, old_commit: str, new_commit: str) -> None:
        self._refs = [f"?ref={commit}" for commit in (old_commit, new_commit) if commit]
        self._contexts: dict[tuple[str, ...], str] = {(): ""}

    def normalize(self, html: str) -> str:
        """Return HTML without what is no difference: the commits of addresses, and colours of code."""
        for ref in self._refs:
            html = html.replace(ref, "")
        return _COLOUR_TAG.sub("", html)

    def mark_words(self, old_blocks: Sequence[str], new_blocks: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return the blocks with marks of the words that differ.

        A block without a counterpart has no marks: all of it was removed or added.
        """
        size = sum(map(len, old_blocks)) + sum(map(len, new_blocks))
        if not old_blocks or not new_blocks or size > MAX_MARKED_CHARS:
            return [*old_blocks], [*new_blocks]
        old_units, new_units = (
            [unit for index, block in enumerate(blocks) for unit in self._split_units(block, index)]
            for blocks in (old_blocks, new_blocks)
        )
        old_marks: list[list[_Token]] = [unit.tokens for unit in old_units]
        new_marks: list[list[_Token]] = [unit.tokens for unit in new_units]
        pairs = _match_units(old_units, new_units)
        for old_index, new_index in pairs:
            old_tokens, new_tokens = old_units[old_index].tokens, new_units[new_index].tokens
            runs = diff_tokens([token.key for token in old_tokens], [token.key for token in new_tokens])
            old_marks[old_index] = [token for run in runs for token in old_tokens[run[0] : run[1]]]
            new_marks[new_index] = [token for run in runs for token in new_tokens[run[2] : run[3]]]
        return (
            _insert_marks(old_blocks, old_units, old_marks, {old for old, _ in pairs}, "del"),
            _insert_marks(new_blocks, new_units, new_marks, {new for _, new in pairs}, "ins"),
        )

    def _split_units(self, block: str, index: int) -> Iterator[_Unit]:
        """Yield the units of a block that have at least one word, mark or element."""
        tokens: list[_Token] = []
        open_tags: list[tuple[str, str]] = []
        row_depth = pre_depth = position = opaque_start = 0
        opaque_element = ""
        for tag in _TAG.finditer(block):
            is_end, name = bool(tag[1]), tag[2]
            if opaque_element:
                if is_end and name == opaque_element:
                    if name == "math":
                        tokens.append(self._make_token(block, opaque_start, tag.end(), ()))
                    opaque_element, position = "", tag.end()
                continue
            context = tuple(text for _, text in open_tags)
            tokens += self._split_text(block, position, tag.start(), context, is_pre=pre_depth > 0)
            position = tag.end()
            if not is_end and (name == "math" or tag[0] == '<pre class="mermaid">'):
                opaque_element, opaque_start = name, tag.start()
            if name in _MARKED_ELEMENTS and name != "math":
                tokens.append(self._make_token(block, tag.start(), tag.end(), context))
            elif name in _BLOCK_ELEMENTS:
                pre_depth += (name == "pre") * (-1 if is_end else 1)
                if row_depth == 0 or (name == "tr" and is_end and row_depth == 1):
                    yield from _make_unit(index, "row" if row_depth else "text", tokens)
                    tokens = []
                else:
                    tokens.append(_Token("|", "|", position, position))
                row_depth += (name == "tr") * (-1 if is_end else 1)
            elif name not in _VOID_ELEMENTS and name != "span":
                if is_end:
                    _close_tag(open_tags, name)
                else:
                    open_tags.append((name, self.normalize(tag[0])))
        tokens += self._split_text(block, position, len(block), (), is_pre=False)
        yield from _make_unit(index, "text", tokens)

    def _split_text(
        self, block: str, start: int, end: int, context: tuple[str, ...], *, is_pre: bool
    ) -> Iterator[_Token]:
        """Yield the tokens of the text between two tags; an entity is one token."""
        suffix = self._find_suffix(context)
        for part in _ENTITY.split(block[start:end]):
            for text in [part] if part[:1] == "&" and len(part) > 1 else split_tokens(part):
                key = " " if not is_pre and text.isspace() else text + suffix
                yield _Token(text, key, start, start + len(text))
                start += len(text)

    def _make_token(self, block: str, start: int, end: int, context: tuple[str, ...]) -> _Token:
        """Return an element as a token; its text has no words."""
        return _Token("", self.normalize(block[start:end]) + self._find_suffix(context), start, end)

    def _find_suffix(self, context: tuple[str, ...]) -> str:
        if context not in self._contexts:
            self._contexts[context] = chr(_FIRST_CONTEXT + len(self._contexts) % _MAX_CONTEXTS)
        return self._contexts[context]


def _close_tag(open_tags: list[tuple[str, str]], name: str) -> None:
    for index in range(len(open_tags) - 1, -1, -1):
        if open_tags[index][0] == name:
            del open_tags[index]
            return


def _make_unit(block: int, kind: str, tokens: list[_Token]) -> Iterator[_Unit]:
    if any(token.end > token.start and not token.text.isspace() for token in tokens):
        yield _Unit(block, kind, tokens)


def _match_units(old_units: Sequence[_Unit], new_units: Sequence[_Unit]) -> list[tuple[int, int]]:
    """Return the indexes of equal units and of units that are versions of each other, in order."""
    equal_pairs = pair_lines([unit.key for unit in old_units], [unit.key for unit in new_units])
    pairs: list[tuple[int, int]] = []
    old_start = new_start = 0
    for old_index, new_index in [*equal_pairs, (len(old_units), len(new_units))]:
        versions = match_versions(
            [unit.comparable for unit in old_units[old_start:old_index]],
            [unit.comparable for unit in new_units[new_start:new_index]],
        )
        pairs += [(old_start + old, new_start + new) for old, new in versions]
        pairs.append((old_index, new_index))
        old_start, new_start = old_index + 1, new_index + 1
    return pairs[:-1]


def _insert_marks(
    blocks: Sequence[str],
    units: Sequence[_Unit],
    marks: Sequence[Sequence[_Token]],
    matched_units: set[int],
    element: str,
) -> list[str]:
    """Return blocks with these tokens in an element, if at least one unit of the block is matched."""
    matched_blocks = {units[index].block for index in matched_units}
    parts: list[str] = []
    tokens_by_block: dict[int, list[_Token]] = {}
    for unit, tokens in zip(units, marks, strict=True):
        if unit.block in matched_blocks:
            tokens_by_block.setdefault(unit.block, []).extend(tokens)
    for index, block in enumerate(blocks):
        position = 0
        marked_parts: list[str] = []
        for start, end in _join_tokens(tokens_by_block.get(index, ())):
            # The class distinguishes these elements from those of the document, which cannot have it.
            marked_parts += [
                block[position:start],
                f'<{element} class="word">{block[start:end]}</{element}>',
            ]
            position = end
        parts.append("".join([*marked_parts, block[position:]]))
    return parts


def _join_tokens(tokens: Iterable[_Token]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of adjacent tokens, without white space at their ends."""
    group: list[_Token] = []
    for token in [*tokens, None]:
        if group and (token is None or token.start != group[-1].end):
            while group and group[-1].text.isspace():
                group.pop()
            while group and group[0].text.isspace():
                group.pop(0)
            if group:
                yield group[0].start, group[-1].end
            group = []
        if token is not None and token.end > token.start:
            group.append(token)


def _has_word(token: _Token) -> bool:
    return any(map(str.isalnum, token.text))
