"""Snippets: the excerpt of a section that best shows its match, in its own words and case.

`SectionTexts` caches the blobs that it reads from Git, because consecutive queries often show sections of the
same documents. A blob's id is a digest of its bytes, so a cached blob is never outdated. The display texts of
sections are not cached: most queries find sections that no earlier query found, and a text is prepared in
microseconds.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from index.fences import Fence, find_fences
from index.matches import Matcher, SearchableText
from index.ranking.cache import estimate_bytes
from workspace.git.repository import DamagedRepository
from workspace.lru_cache import LRUCache

if TYPE_CHECKING:
    from index.documents import SectionRecord
    from index.segments.segment import SectionSpan

_MAX_CHARACTERS = 2_000_000

_HIDDEN_MARKUP = re.compile(
    r"<!--.*?(?:-->|\Z)|\{:?[ \t]*+#[^\s{}]++[^{}\n]*+\}|<#[^\s<>]+>"
    r"|<a\s[^<>]*>\s*</a>|<a\s+(?:id|name)=[^<>]*/>",
    re.DOTALL,
)


def make_display_text(text: str) -> str:
    """Return a section's text without comments and anchors, which a reader does not see.

    Only the first two million characters are used.
    """
    text = text[:_MAX_CHARACTERS]
    if ("{" in text and "#" in text) or ("<" in text and ("<!--" in text or "<a" in text or "<#" in text)):
        text = _HIDDEN_MARKUP.sub("", text)
    return text.strip("\r\n").rstrip()


SNIPPET_LENGTH = 260
"""The length of a snippet in characters; a word or an added mark may change it a little."""

_BLOCK_LENGTH = 100_000
_LEAD_LENGTH = 80
_WINDOW_LENGTH = SNIPPET_LENGTH - _LEAD_LENGTH  # from the first word of a window to the last
_MAX_WINDOWS = 2_000
_MAX_MARK_LENGTH = 30  # longer than every usual fence mark or language name
_SENTENCE_START = re.compile(r"\n\s*|[.!?:;]\s+")
_WHITESPACE = re.compile(r"\s")
_VISIBLE_CHARACTER = re.compile(r"\S")
_BLANK_LINES = re.compile(r"\n[ \t\r\n]*\n")


def cut_snippet(text: str, matcher: Matcher) -> str:
    """Return the part of a display text with the most distinct query terms, then the most occurrences.

    `matcher` can be used for all hits of one query. In a long text, only the first block of 100,000
    characters that contains a term is searched, with windows at its first 2,000 matching words. A text that
    is no longer than a snippet is returned in full. If a window begins or ends inside a code fence, the
    fence's opening or closing mark is added, so that it is still rendered as code.
    """
    if len(text) <= SNIPPET_LENGTH:
        fences = find_fences(text, 0, len(text))
        return _mark_cuts(text, 0, len(text), fences) if fences else _BLANK_LINES.sub("\n", text)
    match = _find_match(text, matcher)
    fences = find_fences(text, max(0, match - _LEAD_LENGTH), match + SNIPPET_LENGTH)
    start = _move_out_of_marks(text, _find_start(text, match, fences), fences)
    return _mark_cuts(text, start, _find_end(text, start), fences)


def _find_match(text: str, matcher: Matcher) -> int:
    """Return the offset of the first word of the best window; 0 without a match."""
    for start in range(0, len(text), _BLOCK_LENGTH):
        words = matcher.find_words(SearchableText(text[start : start + _BLOCK_LENGTH]))
        if words[0]:
            return start + _find_best_window(*words)
    return 0


def _find_best_window(offsets: Sequence[int], terms: Sequence[frozenset[str]]) -> int:
    """Return the offset of the first word of the best window among words with terms; 0 without words.

    A better window has more different terms or, with equally many, more occurrences. Windows with too few
    words to be better are skipped.
    """
    if not offsets:
        return 0
    all_terms, max_word_terms = len(frozenset().union(*terms)), max(map(len, terms))
    best_value, best_offset, min_extra = (0, 0), 0, 0
    for index, offset in enumerate(offsets[:_MAX_WINDOWS]):
        if index + min_extra >= len(offsets):
            break
        if offsets[index + min_extra] - offset <= _WINDOW_LENGTH:
            window = terms[index : bisect_right(offsets, offset + _WINDOW_LENGTH, index)]
            value = len(frozenset().union(*window)), sum(map(len, window))
            if value > best_value:
                best_value, best_offset = value, offset
                min_extra = value[value[0] == all_terms] // max_word_terms
    return best_offset


def _find_start(text: str, match: int, fences: Sequence[Fence]) -> int:
    """Return the start of the sentence or line of the match, or else of a word shortly before the match."""
    fence = next((fence for fence in fences if fence.start <= match < fence.close), None) if fences else None
    earliest_start = max(0, match - _LEAD_LENGTH)
    if fence and fence.start >= earliest_start:
        return fence.start
    if earliest_start == 0:
        return 0
    boundary = _SENTENCE_START.search(text, earliest_start, match) or _WHITESPACE.search(
        text, earliest_start, match
    )
    return boundary.end() if boundary else match


def _move_out_of_marks(text: str, start: int, fences: Sequence[Fence]) -> int:
    """Move a start inside an opening line to the line's start, and inside a closing line to the next text."""
    for fence in fences:
        if fence.start < start < fence.body:
            return fence.start
        if fence.end <= start < fence.close:
            next_visible = _VISIBLE_CHARACTER.search(text, fence.close)
            start = next_visible.start() if next_visible else start
    return start


def _find_end(text: str, start: int) -> int:
    end = start + SNIPPET_LENGTH
    if end >= len(text):
        return len(text)
    last_space = max(
        text.rfind(" ", start + SNIPPET_LENGTH // 2, end), text.rfind("\n", start + SNIPPET_LENGTH // 2, end)
    )
    return last_space if last_space > 0 else end


def _mark_cuts(text: str, start: int, end: int, fences: Sequence[Fence]) -> str:
    """Return a window with ellipses where the text is cut, and with the marks of cut code fences."""
    window_text = _cut_code(text, start, end, fences) if fences else _cut_text(text, start, end)
    return _BLANK_LINES.sub("\n", window_text)


def _cut_text(text: str, start: int, end: int) -> str:
    window_text = text[start:end].rstrip()
    if start + len(window_text) < len(text):
        window_text += " …"
    return f"… {window_text}" if start > 0 else window_text


def _cut_code(text: str, start: int, end: int, fences: Sequence[Fence]) -> str:
    """Return a window that contains code, with the marks of the fences that it cuts."""
    first_fence = next((fence for fence in fences if fence.body <= start < fence.end), None)
    last_fence = next((fence for fence in fences if fence.start < end and _continues_after(fence, end)), None)
    if last_fence and end < last_fence.body:
        end, last_fence = last_fence.start, None
    elif last_fence:
        end = min(end, last_fence.end)
    end = start + len(text[start:end].rstrip())
    window_text = text[start:end]
    if last_fence:
        window_text += f"\n{last_fence.prefix[:_MAX_MARK_LENGTH]}{last_fence.mark[:_MAX_MARK_LENGTH]}"
    elif end < len(text):
        window_text += "\n…" if any(fence.close == end for fence in fences) else " …"
    if first_fence:
        window_text = _add_opening_line(window_text, first_fence)
    elif start > 0:
        window_text = ("…\n" if any(fence.start == start for fence in fences) else "… ") + window_text
    return window_text


def _continues_after(fence: Fence, offset: int) -> bool:
    return offset < fence.close or (fence.is_open and offset == fence.close)


def _add_opening_line(code: str, fence: Fence) -> str:
    """Return a window inside a fence with the fence's opening line; both begin at the text's margin."""
    prefix = fence.prefix.lstrip()[:_MAX_MARK_LENGTH]
    if indent := len(fence.prefix) - len(fence.prefix.lstrip()):
        code = re.sub(rf"^[ \t]{{1,{indent}}}", "", code, flags=re.MULTILINE)
    if prefix and not code.startswith(">"):
        code = prefix + code
    return f"{prefix}{fence.mark[:_MAX_MARK_LENGTH]}{fence.info[:_MAX_MARK_LENGTH]}\n{code}"


BLOB_CACHE_BYTES = 16_000_000
"""Bytes of cached blobs; the least recently used are dropped first."""


class SectionTexts:
    """A reader of the texts of sections, with a cache of blobs. Safe to use from threads.

    `read_blob` returns the bytes of a blob by its id. `read_range` and `read_existing_span` raise the errors
    of `read_blob`; `read` and `read_span` treat the text of a damaged blob as empty.
    """

    def __init__(self, read_blob: Callable[[str], bytes], max_cache_bytes: int = BLOB_CACHE_BYTES) -> None:
        self._read_blob = read_blob
        self._blobs: LRUCache[str, memoryview] = LRUCache(max_cache_bytes, estimate_bytes)
        self._last_blob: tuple[str, memoryview] = ("", memoryview(b""))

    def read(self, record: SectionRecord) -> bytes:
        """Return the Markdown of a section without its heading; empty if its blob was lost after indexing."""
        return self.read_span(record.blob, record)

    def read_span(self, blob: str, span: SectionSpan | SectionRecord) -> bytes:
        """Return the Markdown of a section without its heading; empty if its blob was lost after indexing."""
        try:
            return self.read_existing_span(blob, span)
        except DamagedRepository:
            return b""

    def read_existing_span(self, blob: str, span: SectionSpan | SectionRecord) -> bytes:
        """Return the Markdown of a section without its heading."""
        body = self.read_range(blob, span.body, span.end)
        if span.start == span.heading_start:
            return body
        return self.read_range(blob, span.start, span.heading_start) + body

    def read_range(self, blob: str, start: int, end: int) -> bytes:
        """Return the bytes [start, end) of a blob."""
        last_blob, data = self._last_blob
        if last_blob != blob:
            data = self._blobs.get(blob, lambda: memoryview(self._read_blob(blob)))
            # The next request is often for the same document, which may be too large for the cache.
            self._last_blob = blob, data
        return bytes(data[start:end])
