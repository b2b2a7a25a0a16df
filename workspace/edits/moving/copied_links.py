"""The destinations of link definitions that are copied to another document, or left behind by a section."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.links.resolving import Status, resolve
from workspace.links.spelling import spell
from workspace.links.targets import Target

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workspace.document import Document, Section
    from workspace.links.link import Link
    from workspace.links.resolving import World


def copied_destination(
    source: Document,
    section: Section,
    target: Document,
    renamed: Mapping[str, str],
    world: World,
    link: Link,
    path: str,
) -> bytes:
    """How a link of the source is written in the document `path`, once a section of it is in the target.

    `renamed` are anchors of the section that get another name there. What leads nowhere stays as it is.
    """
    written = source.data[link.destination_start : link.destination_end]
    found = resolve(world, source.path, link)
    if found.status is not Status.OK or found.path is None or found.target is None:
        return written
    meant, fragment = found.path, found.target.fragment
    offset = found.place.offset if found.place else None
    if meant == source.path and offset is not None and section.start <= offset < section.tree_end:
        meant, fragment = target.path, renamed.get(fragment or "", fragment)
    return spell(link, path, Target(meant, fragment, world.is_folder(meant)), world, written)
