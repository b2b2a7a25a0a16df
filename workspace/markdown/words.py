"""Inline Markdown as a reader sees it, and the two rules of CommonMark by which links say what they mean."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_MARK = re.compile(r"[\\`*\n\]<&_]")
# What else these marks stand for is text: an underscore amid a word, brackets without a target, an ampersand.
_INLINE_MARKUP = re.compile(r"[\\`*\n]|\](?=\()|<(?! )|&(?=[#A-Za-z])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
# A heading that is one link, as in a table of contents.
_LINK = re.compile(r"\[([^\[\]\\\n]*)\]\((?:https?://)?[A-Za-z0-9_./#?=%~+-]*\)")

# Inline rules take time that grows with the square of some texts, such as one of many `<![CDATA[`.
_MAX_INLINE = 5_000

# Longer texts are not headings that come again, and a cache of them would have no bound in bytes.
_CACHED_LENGTH = 200


@cache
def _inline_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark")


def plain_text(source: str) -> str:
    """Inline Markdown as a reader sees it: no emphasis, code marks, link targets, tags or images.

    A text that is too long for a heading keeps its marks.
    """
    if len(source) > _MAX_INLINE:
        return source.replace("\n", " ").strip()
    if not _MARK.search(source) or not _INLINE_MARKUP.search(source):
        return source.strip()
    link = _LINK.fullmatch(source)
    if (text := _without_ticks(link[1] if link else source)) is not None:
        return text
    return _cached_plain_text(source) if len(source) <= _CACHED_LENGTH else _plain_text(source)


def _without_ticks(source: str) -> str | None:
    """A text whose only markup are code spans between single ticks; None for any other."""
    pieces = source.split("`")
    words, spans = pieces[::2], pieces[1::2]
    if len(words) == len(spans) or "\n" in source:
        return None
    # Ticks side by side are one mark, and a space at both ends of a span is not a part of it.
    if (
        not all(pieces[1:-1])
        or any(span[0] == " " for span in spans)
        or _INLINE_MARKUP.search("\0".join(words))
    ):
        return None
    return "".join(pieces).strip()


def _plain_text(source: str) -> str:
    words: list[str] = []
    for token in _inline_parser().parseInline(source)[0].children or ():
        if token.type in ("text", "code_inline"):
            words.append(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            words.append(" ")
    return "".join(words).strip()


_cached_plain_text = lru_cache(maxsize=16384)(_plain_text)


def unescaped(text: str) -> str:
    """A link's destination or title with its backslashes and entities resolved (CommonMark §2.4, §2.5)."""
    if "\\" not in text and "&" not in text:
        return text
    from markdown_it.common.utils import unescapeAll

    return unescapeAll(text)


def normalized_label(label: str) -> str:
    """A link's label as labels are compared: without regard to case and white space (CommonMark §4.7)."""
    from markdown_it.common.utils import normalizeReference

    return normalizeReference(label)
