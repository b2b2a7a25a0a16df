"""What rendering is asked for, and what it gives."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Urls(Protocol):
    """The addresses of the page: each begins with one slash. Equal ones must be equal and have one hash."""

    def document(self, path: str, section: str = "", /) -> str:
        """A document, at one of its sections; "" is the whole of it. Neither is encoded."""
        ...

    def folder(self, path: str, /) -> str:
        """A folder; "" is the top."""
        ...

    def raw(self, path: str, /) -> str:
        """A file as it is."""
        ...


class Options(NamedTuple):
    """What is turned on: formulas as MathML; diagrams as `<pre class="mermaid">`, for the page."""

    math: bool = False
    mermaid: bool = False


class Entry(NamedTuple):
    """A heading in the outline: its level (1 to 6), words, id in the HTML, and address."""

    level: int
    title: str
    id: str
    address: str


class Rendered(NamedTuple):
    """A document as HTML, safe to show as it is.

    `html` is its body without front matter; `shows_title` tells whether the title is its first heading.
    `is_cut` tells that its end is missing, and `notes` what was left out, as sentences for a reader.
    """

    html: str
    title: str
    shows_title: bool
    outline: tuple[Entry, ...]
    is_cut: bool
    notes: tuple[str, ...]
