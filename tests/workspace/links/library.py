"""Inline links as markdown-it-py finds them, to compare with the reader."""

from __future__ import annotations

from collections.abc import Callable, Container

from markdown_it import MarkdownIt, rules_inline
from markdown_it.helpers import parseLinkDestination, parseLinkLabel
from markdown_it.rules_inline import StateInline

from workspace.links.link import LinkKind

Rule = Callable[[StateInline, bool], bool]
Found = tuple[LinkKind, bool, int, int, int, int]
"""The kind of a link, True for an image, its [start, end), and that of its destination."""

_SPACES = " \t\n"


class Library:
    """The library's inline rules, which record the position of each link."""

    def __init__(self) -> None:
        self._found: list[Found] = []
        self._parser = MarkdownIt("commonmark", {"maxNesting": 100})
        self._parser.validateLink = lambda url: True  # type: ignore[method-assign]
        self._parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
        rules = self._parser.inline.ruler
        rules.at("link", self._recording(rules_inline.link, self._link))
        rules.at("image", self._recording(rules_inline.image, self._image))
        rules.at("autolink", self._recording(rules_inline.autolink, self._autolink))

    def links(self, text: str, labels: Container[str] = ()) -> list[Found]:
        """Return the links of a text, with a definition elsewhere for each of the labels."""
        self._found.clear()
        references = {label: {"href": "x", "title": ""} for label in ("A", "B") if label in labels}
        self._parser.inline.parse(text, self._parser, {"references": references}, [])
        return sorted(self._found)

    def _recording(self, rule: Rule, note: Callable[[StateInline, int, int], None]) -> Rule:
        def run(state: StateInline, silent: bool) -> bool:
            start, before = state.pos, len(self._found)
            if not rule(state, silent):
                return False
            if not silent:
                if rule is rules_inline.image:
                    del self._found[before:]
                note(state, start, state.pos)
            return True

        return run

    def _autolink(self, state: StateInline, start: int, end: int) -> None:
        if ":" in state.src[start:end]:
            self._found.append((LinkKind.AUTOLINK, False, start, end, start + 1, end - 1))

    def _link(self, state: StateInline, start: int, end: int) -> None:
        self._record_bracketed(state, start, start, end)

    def _image(self, state: StateInline, start: int, end: int) -> None:
        self._record_bracketed(state, start, start + 1, end)

    def _record_bracketed(self, state: StateInline, start: int, bracket: int, end: int) -> None:
        text = state.src
        state.pos = bracket
        behind = parseLinkLabel(state, bracket, start == bracket) + 1
        state.pos = end
        is_image = bracket > start
        if end == behind or text[behind] != "(":
            self._found.append((LinkKind.REFERENCE, is_image, start, end, end, end))
            return
        first = last = behind + 1 + len(text[behind + 1 :]) - len(text[behind + 1 :].lstrip(_SPACES))
        destination = parseLinkDestination(text, first, state.posMax)
        if destination.ok:
            last = destination.pos
            if text[first] == "<":
                first, last = first + 1, last - 1
        self._found.append((LinkKind.INLINE, is_image, start, end, first, last))
