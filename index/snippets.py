"""Snippets: the excerpt of a section that best shows why it was found, in its own words and case.

`DisplayText` is the text of a section as hits show it, prepared once for all queries. `Texts` caches what it
reads from Git, because neighbouring queries show sections of the same pages. A blob's id decides its bytes,
so that a cached text cannot become wrong.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from index.fences import Fence, Fences
from index.matches import Matcher, Searchable
from index.ranking.cache import array_bytes
from workspace.git.repository import DamagedRepository
from workspace.lru_cache import LRUCache

if TYPE_CHECKING:
    from index.page import SectionRecord

_MOST = 2_000_000

_HIDDEN = re.compile(
    r"<!--.*?(?:-->|\Z)|\{:?[ \t]*+#[^\s{}]++[^{}\n]*+\}|<#[^\s<>]+>"
    r"|<a\s[^<>]*>\s*</a>|<a\s+(?:id|name)=[^<>]*/>",
    re.DOTALL,
)


class DisplayText:
    """A section's text without its heading, and without comments and anchors, which nobody reads.

    Of a text of more than two million characters the rest is left out.
    """

    def __init__(self, text: str) -> None:
        self.text = _display_text(text[:_MOST])

    @cached_property
    def searchable(self) -> Searchable:
        """The text as matches are looked for in it."""
        return Searchable(self.text)

    @cached_property
    def fences(self) -> Fences:
        """Where code is."""
        return Fences(self.text)

    @property
    def nbytes(self) -> int:
        """The bytes of memory that its text takes, and will take when it was searched, but for its fences."""
        return sys.getsizeof(self.text) + 2 * len(self.text.encode("utf-8", "surrogatepass"))


def _display_text(text: str) -> str:
    if ("{" in text and "#" in text) or ("<" in text and ("<!--" in text or "<a" in text or "<#" in text)):
        text = _HIDDEN.sub("", text)
    return text.strip("\r\n").rstrip()


LENGTH = 260
"""Characters in a snippet, more or less a word or an added mark."""

_STRETCH = 100_000
_LEAD = 80
_REACH = LENGTH - _LEAD  # from the first word of a window to the last
_MOST_WINDOWS = 2_000
_LONG = 30  # nobody writes a longer mark, or a longer name of a language
_START = re.compile(r"\n\s*|[.!?:;]\s+")
_EDGE = re.compile(r"\s")
_VISIBLE = re.compile(r"\S")
_BLANK_LINES = re.compile(r"\n[ \t\r\n]*\n")


def cut_snippet(shown: DisplayText, matcher: Matcher) -> str:
    """Cut the window of a section's text with the most different query terms, then the most of them.

    `matcher` finds the terms in all hits of one query. Of a long text, the first stretch of 100,000
    characters that holds a term is looked at, and the windows at the first 2,000 words in it that hold any.
    One that is no longer than a snippet is shown whole. A window that begins or ends inside a code fence gets
    the fence's opening or closing mark, so that it reads as the code that it is.
    """
    text = shown.text
    if len(text) <= LENGTH:
        near = shown.fences.near(0, len(text))
        return _mark_cuts(text, 0, len(text), near) if near else _BLANK_LINES.sub("\n", text)
    match = _match(shown, matcher)
    near = shown.fences.near(max(0, match - _LEAD), match + LENGTH)
    start = _outside_marks(text, _start(text, match, near), near)
    return _mark_cuts(text, start, _end(text, start), near)


def _match(shown: DisplayText, matcher: Matcher) -> int:
    """Find where the best window's first word is; 0 without one."""
    text = shown.text
    if len(text) <= _STRETCH:
        return _best(*matcher.words(shown.searchable))
    for start in range(0, len(text), _STRETCH):
        words = matcher.words(Searchable(text[start : start + _STRETCH]))
        if words[0]:
            return start + _best(*words)
    return 0


def _best(places: Sequence[int], terms: Sequence[frozenset[str]]) -> int:
    """Find where the best window's first word is, of words with terms; 0 without one.

    A window that is better than the best so far holds more terms than that has different ones, and more than
    it has at all if it has every one: nothing is counted where the words for that stand too far apart.
    """
    if not places:
        return 0
    every, most = len(frozenset().union(*terms)), max(map(len, terms))
    best, found, more = (0, 0), 0, 0
    for left, place in enumerate(places[:_MOST_WINDOWS]):
        if left + more >= len(places):
            break
        if places[left + more] - place <= _REACH:
            window = terms[left : bisect_right(places, place + _REACH, left)]
            value = len(frozenset().union(*window)), sum(map(len, window))
            if value > best:
                best, found = value, place
                more = value[value[0] == every] // most
    return found


def _start(text: str, match: int, fences: Sequence[Fence]) -> int:
    """Begin at the sentence or line of the match, else at a word a little before it."""
    fence = next((fence for fence in fences if fence.start <= match < fence.close), None) if fences else None
    floor = max(0, match - _LEAD)
    if fence and fence.start >= floor:
        return fence.start
    if floor == 0:
        return 0
    begins = _START.search(text, floor, match) or _EDGE.search(text, floor, match)
    return begins.end() if begins else match


def _outside_marks(text: str, start: int, fences: Sequence[Fence]) -> int:
    """Move a start out of a fence's opening line, to its beginning, and out of a closing line, behind it."""
    for fence in fences:
        if fence.start < start < fence.body:
            return fence.start
        if fence.end <= start < fence.close:
            behind = _VISIBLE.search(text, fence.close)
            start = behind.start() if behind else start
    return start


def _end(text: str, start: int) -> int:
    end = start + LENGTH
    if end >= len(text):
        return len(text)
    edge = max(text.rfind(" ", start + LENGTH // 2, end), text.rfind("\n", start + LENGTH // 2, end))
    return edge if edge > 0 else end


def _mark_cuts(text: str, start: int, end: int, fences: Sequence[Fence]) -> str:
    """Return a window with what shows that it is a part, and a part of which code."""
    shown = _within(text, start, end, fences) if fences else _part(text, start, end)
    return _BLANK_LINES.sub("\n", shown)


def _part(text: str, start: int, end: int) -> str:
    shown = text[start:end].rstrip()
    if start + len(shown) < len(text):
        shown += " …"
    return f"… {shown}" if start > 0 else shown


def _within(text: str, start: int, end: int, fences: Sequence[Fence]) -> str:
    """Return the part of a text that there is code in."""
    first = next((fence for fence in fences if fence.body <= start < fence.end), None)
    last = next((fence for fence in fences if fence.start < end and _continues_after(fence, end)), None)
    if last and end < last.body:
        end, last = last.start, None
    elif last:
        end = min(end, last.end)
    end = start + len(text[start:end].rstrip())
    shown = text[start:end]
    if last:
        shown += f"\n{last.prefix[:_LONG]}{last.mark[:_LONG]}"
    elif end < len(text):
        shown += "\n…" if any(fence.close == end for fence in fences) else " …"
    if first:
        shown = _open_fence(shown, first)
    elif start > 0:
        shown = ("…\n" if any(fence.start == start for fence in fences) else "… ") + shown
    return shown


def _continues_after(fence: Fence, place: int) -> bool:
    return place < fence.close or (fence.is_open and place == fence.close)


def _open_fence(code: str, fence: Fence) -> str:
    """Begin a window inside a fence with its opening line, both at the margin of the text around them."""
    prefix = fence.prefix.lstrip()[:_LONG]
    if indent := len(fence.prefix) - len(fence.prefix.lstrip()):
        code = re.sub(rf"^[ \t]{{1,{indent}}}", "", code, flags=re.MULTILINE)
    if prefix and not code.startswith(">"):
        code = prefix + code
    return f"{prefix}{fence.mark[:_LONG]}{fence.info[:_LONG]}\n{code}"


BLOB_CACHE_SIZE = 16_000_000
"""Bytes of blobs that are kept; those that were asked for last stay longest."""

TEXT_CACHE_SIZE = 8_000_000
"""Bytes of texts that are kept as hits show them."""


class Texts:
    """Stretches of blobs. Safe to use from threads.

    `read` gives a blob's bytes by its id; what it raises goes to whoever asked.
    """

    def __init__(self, read: Callable[[str], bytes], remembered: int = BLOB_CACHE_SIZE) -> None:
        self._read = read
        self._blobs: LRUCache[str, memoryview] = LRUCache(remembered, array_bytes)
        self._shown: LRUCache[tuple[str, int, int], DisplayText] = LRUCache(TEXT_CACHE_SIZE, array_bytes)
        self._last: tuple[str, memoryview] = ("", memoryview(b""))

    def read(self, record: SectionRecord) -> bytes:
        """Return the Markdown of a section without its heading; empty if its blob was lost after indexing."""
        try:
            return self._read_section(record)
        except DamagedRepository:
            return b""

    def display_text(self, record: SectionRecord) -> DisplayText:
        """Return the same as hits show it; what is not UTF-8 becomes U+FFFD."""
        try:
            return self._shown.get((record.blob, record.start, record.end), self._make_display_text, record)
        except DamagedRepository:
            return DisplayText("")

    def data(self, blob: str, start: int, end: int) -> bytes:
        """Return the bytes [start, end) of a blob."""
        last, data = self._last
        if last != blob:
            data = self._blobs.get(blob, lambda: memoryview(self._read(blob)))
            # The next question is often about the same page, which may be too large to be remembered.
            self._last = blob, data
        return bytes(data[start:end])

    def _read_section(self, record: SectionRecord) -> bytes:
        under = self.data(record.blob, record.body, record.end)
        if record.start == record.heading_start:
            return under
        return self.data(record.blob, record.start, record.heading_start) + under

    def _make_display_text(self, record: SectionRecord) -> DisplayText:
        return DisplayText(str(self._read_section(record), "utf-8", "replace"))
