"""The text of a section as hits show it, made ready once for all the questions that it answers."""

from __future__ import annotations

import re
import sys
from functools import cached_property

from index.fences import Fences
from index.matches import Searchable

_MOST = 2_000_000

_HIDDEN = re.compile(
    r"<!--.*?(?:-->|\Z)|\{:?[ \t]*+#[^\s{}]++[^{}\n]*+\}|<#[^\s<>]+>"
    r"|<a\s[^<>]*>\s*</a>|<a\s+(?:id|name)=[^<>]*/>",
    re.DOTALL,
)


class Shown:
    """A section's text without its heading, and without comments and anchors, which nobody reads.

    Of a text of more than two million characters the rest is left out.
    """

    def __init__(self, text: str) -> None:
        self.text = _shown(text[:_MOST])

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


def _shown(text: str) -> str:
    if ("{" in text and "#" in text) or ("<" in text and ("<!--" in text or "<a" in text or "<#" in text)):
        text = _HIDDEN.sub("", text)
    return text.strip("\r\n").rstrip()
