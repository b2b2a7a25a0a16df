"""One key for all the paths by which a link may name a file.

A destination may leave out an ending, or name the folder that a README stands for; which of these holds is
only known beside the other files (`workspace.links.resolving`). So what is alike but for them has one key
here, and a question for a key finds some links too many and none too few.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from workspace.links.link import LinkKind
from workspace.links.targets import ENDINGS, INDEX_STEMS, read_target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from workspace.config.tables import LinkRules

_LONGEST = max(map(len, ENDINGS))
_WIKI = "\0"  # is in no path

ANYTHING = 0
"""The key of a link that may mean any file."""


def keys_of_path(path: str) -> tuple[int, ...]:
    """The keys under which links to a file or folder are found: as a path, and as a wiki link's page."""
    return ANYTHING, _digest(_bare(path)), _digest(_WIKI + _page(path))


def keys_of_link(kind: LinkKind, destination: str, source: str, rules: LinkRules) -> Iterator[int]:
    """The keys of what a link in the document `source` may mean; none where nothing of the repository."""
    if kind is LinkKind.WIKI:
        yield _digest(_WIKI + _page(destination.partition("#")[0].strip()))
        return
    target = None if kind is LinkKind.AUTOLINK else read_target(destination, source, rules)
    if target is None or target.outside:
        return
    yield _digest(_bare(target.path))
    if target.literal is not None:
        yield _digest(_bare(target.literal))


def naming(path: str) -> Callable[[str], bool]:
    """A quick look at destinations: whether one may name a document, so that it is worth to be resolved."""
    names = names_meaning(path)
    # What is left of a name without its endings begins it; to take them off takes longer than this look.
    begins = tuple(names - {""})

    def may_name(destination: str) -> bool:
        last, is_odd = _last_of(destination)
        if not is_odd and last and not last.startswith(begins):
            return False
        return is_odd or _without_endings(last) in names

    return may_name


def names_meaning(path: str) -> frozenset[str]:
    """What `name_in` gives for destinations that may name a document."""
    *folders, name = path.lower().split("/")
    stem = _without_endings(name)
    return frozenset({"", ".", "..", stem, *(folders[-1:] if stem in INDEX_STEMS else ())})


def name_in(destination: str) -> str | None:
    """The name that a destination ends with, in lower case and without endings.

    None where it is written so oddly that it may be any name.
    """
    last, is_odd = _last_of(destination)
    return None if is_odd else _without_endings(last)


def _last_of(destination: str) -> tuple[str, bool]:
    """The last part of a destination's path in lower case, and whether it is written oddly."""
    written = destination.partition("#")[0].partition("?")[0]
    last = written.rstrip("/").rpartition("/")[2].lower()
    return last, "%" in last or last != last.strip() or not written.isprintable()


def _bare(path: str) -> str:
    """A path without endings, and without the names of files that stand for their folder."""
    while True:
        shorter = _without_endings(path)
        folder, _, name = shorter.rpartition("/")
        if name.lower() in INDEX_STEMS:
            shorter = folder
        if shorter == path:
            return path
        path = shorter


def _without_endings(path: str) -> str:
    end = len(path)
    while True:
        tail = path[max(0, end - _LONGEST) : end].lower()
        ending = next((ending for ending in ENDINGS if tail.endswith(ending)), None)
        if ending is None:
            return path[:end]
        end -= len(ending)


def _page(path: str) -> str:
    """The last part of a path in lower case, without an ending."""
    return _without_endings(path.rstrip("/").rpartition("/")[2]).lower()


def _digest(key: str) -> int:
    """A key as a number of 63 bits, which is what SQLite's integers can hold of it."""
    data = key.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest()) >> 1
