"""A reader of inline links that uses markdown-it-py, for comparison with the project's own reader."""

from __future__ import annotations

from collections.abc import Callable, Container

from markdown_it import MarkdownIt, rules_inline
from markdown_it.helpers import parseLinkDestination, parseLinkLabel
from markdown_it.rules_inline import StateInline

from workspace.links.link import LinkKind

Rule = Callable[[StateInline, bool], bool]
LinkFields = tuple[LinkKind, bool, int, int, int, int]
"""The kind of a link, True for an image, [start, end) of the link, and [start, end) of its destination."""

_SPACES = " \t\n"


class MarkdownItReader:
    """The inline rules of markdown-it-py, which record the position of each link."""

    def __init__(self) -> None:
        self._links: list[LinkFields] = []
        self._parser = MarkdownIt("commonmark", {"maxNesting": 100})
        self._parser.validateLink = lambda url: True  # type: ignore[method-assign]
        self._parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
        rules = self._parser.inline.ruler
        rules.at("link", self._wrap_rule(rules_inline.link, self._record_link))
        rules.at("image", self._wrap_rule(rules_inline.image, self._record_image))
        rules.at("autolink", self._wrap_rule(rules_inline.autolink, self._record_autolink))

    def read_links(self, text: str, labels: Container[str] = ()) -> list[LinkFields]:
        """Return the links of a text, as if each of `labels` had a definition."""
        self._links.clear()
        references = {label: {"href": "x", "title": ""} for label in ("A", "B") if label in labels}
        self._parser.inline.parse(text, self._parser, {"references": references}, [])
        return sorted(self._links)

    def _wrap_rule(self, rule: Rule, record: Callable[[StateInline, int, int], None]) -> Rule:
        def run(state: StateInline, silent: bool) -> bool:
            start, old_count = state.pos, len(self._links)
            if not rule(state, silent):
                return False
            if not silent:
                if rule is rules_inline.image:
                    del self._links[old_count:]
                record(state, start, state.pos)
            return True

        return run

    def _record_autolink(self, state: StateInline, start: int, end: int) -> None:
        if ":" in state.src[start:end]:
            self._links.append((LinkKind.AUTOLINK, False, start, end, start + 1, end - 1))

    def _record_link(self, state: StateInline, start: int, end: int) -> None:
        self._record_bracketed(state, start, start, end)

    def _record_image(self, state: StateInline, start: int, end: int) -> None:
        self._record_bracketed(state, start, start + 1, end)

    def _record_bracketed(self, state: StateInline, start: int, bracket: int, end: int) -> None:
        text = state.src
        state.pos = bracket
        label_end = parseLinkLabel(state, bracket, start == bracket) + 1
        state.pos = end
        is_image = bracket > start
        if end == label_end or text[label_end] != "(":
            self._links.append((LinkKind.REFERENCE, is_image, start, end, end, end))
            return
        destination_start = destination_end = (
            label_end + 1 + len(text[label_end + 1 :]) - len(text[label_end + 1 :].lstrip(_SPACES))
        )
        destination = parseLinkDestination(text, destination_start, state.posMax)
        if destination.ok:
            destination_end = destination.pos
            if text[destination_start] == "<":
                destination_start, destination_end = destination_start + 1, destination_end - 1
        self._links.append((LinkKind.INLINE, is_image, start, end, destination_start, destination_end))
