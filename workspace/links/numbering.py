"""Numbering: how each dialect tells the fragments of equal headings apart, over a whole document."""

from __future__ import annotations

import re
import unicodedata

from workspace.document.slugs import EMPTY_SLUG, heading_slug

_NUMBERED = re.compile(r"(.*)_([0-9]+)", re.DOTALL)


def github_slug(text: str) -> str:
    """What `slug` of the `github-slugger` package makes of a heading's text; empty for one of signs alone."""
    slug = heading_slug(text)
    # A word's slug would hold the letter too; that of signs is nothing but the letter.
    return "" if slug == EMPTY_SLUG and heading_slug(f"{text}x") == "x" else slug


def mkdocs_slug(text: str) -> str:
    """What `slugify` of Python-Markdown's `toc` extension makes of a heading's text: ASCII alone."""
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_text).strip().lower())


class UnderscoredIds:
    """Python-Markdown's `unique`: `errors`, `errors_1`; a name that ends in a number counts on from it."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self._next: dict[str, str] = {}

    def give(self, name: str) -> str:
        """The name, if nothing has it yet, else the next that is free."""
        passed: list[str] = []
        while name in self._taken or not name:
            passed.append(name)
            name = self._next.get(name) or _counted_on(name)
        # Each name that was passed leads here from now on, so that no way is gone twice.
        self._next.update(dict.fromkeys(passed, name))
        self._taken.add(name)
        return name


def _counted_on(name: str) -> str:
    numbered = _NUMBERED.fullmatch(name)
    # Longer digits are no count of ours, and Python reads no integer of any length.
    if numbered and len(numbered[2]) < 10:
        return f"{numbered[1]}_{int(numbered[2]) + 1}"
    return f"{name}_1"
