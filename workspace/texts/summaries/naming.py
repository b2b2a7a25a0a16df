"""How a summary names the sections of a text: as headings, as fully as the budget allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.document.slugs import heading_slug

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workspace.texts.outline import Entry

    Count = Callable[[str], int]

_DEEPEST = 6
_TITLE = 200


class Name(NamedTuple):
    """The heading of a section in a summary: its line, the title in it ("" where the address tells it)."""

    line: str
    title: str
    tokens: int


def full_names(entries: Sequence[Entry], count: Count) -> list[Name]:
    """Title and address of each section: `## Title `address``."""
    return [_name(entry, one_line(entry.title), count) for entry in entries]


def short_names(entries: Sequence[Entry], count: Count) -> list[Name]:
    """The address alone where its last part is the title's slug; else both."""
    return [_name(entry, "" if _tells_title(entry) else one_line(entry.title), count) for entry in entries]


def addresses(entries: Sequence[Entry], count: Count) -> list[Name]:
    """The address alone of each section."""
    return [_name(entry, "", count) for entry in entries]


def one_line(title: str) -> str:
    """A title on one line, of bounded length."""
    title = " ".join(title.split())
    return title if len(title) <= _TITLE else title[:_TITLE].rstrip() + " …"


def _tells_title(entry: Entry) -> bool:
    return entry.address.rpartition("/")[2] == heading_slug(entry.title)


def _name(entry: Entry, title: str, count: Count) -> Name:
    marks = "#" * max(1, min(entry.level, _DEEPEST))
    line = f"{marks} {title} `{entry.address}`" if title else f"{marks} `{entry.address}`"
    # The line's end costs a token at most.
    return Name(line, title, count(line) + 1)
