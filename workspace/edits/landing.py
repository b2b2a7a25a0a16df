"""The addresses of moved sections where they land: their own, and a free one only where that is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.document.slugs import Names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workspace.document.document import Document, Section


class Landing(NamedTuple):
    """The address that each moved section is to have, by its position, and anchors that get another name."""

    addresses: Mapping[int, str]
    renamed: Mapping[str, str]


def landing(document: Document, moved: Sequence[Section], taken: set[str]) -> Landing:
    """The addresses of moved sections among names that are `taken` where they go.

    A derived address follows that of the section above it, so that it still says where the section stands.
    """
    names = [[name for name in (item.anchor, *item.aliases) if name] for item in moved]
    own = {item.address for item in moved}.union(*names)
    free = Names("-", 1, taken | own)
    renamed = {
        name: free.give(name)
        for name in dict.fromkeys(name for found in names for name in found if name in taken)
    }
    addresses: dict[int, str] = {}
    for item in moved:
        if item.anchor:
            addresses[item.position] = renamed.get(item.anchor, item.anchor)
            continue
        above = None if item.parent is None else document.sections[item.parent]
        now = None if above is None else addresses.get(above.position, above.address)
        follows = above is not None and now != above.address
        if not follows and item.address not in taken:
            addresses[item.position] = item.address
        else:
            addresses[item.position] = free.give(item.slug if now is None else f"{now}/{item.slug}")
    return Landing(addresses, renamed)
