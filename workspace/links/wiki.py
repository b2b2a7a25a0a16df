"""Wiki links: `[[Page]]`, `[[folder/Page#Heading]]`, `[[#Heading]]`; nothing in them is escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.config.config import DOCUMENT_SUFFIXES
from workspace.links.fragments import Place, find_place, names_of
from workspace.links.resolver import Resolved, Status
from workspace.links.targets import Target, joined, without_suffix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.document.document import Document
    from workspace.links.link import Link
    from workspace.links.resolver import World


def resolve_wiki(world: World, source: str, destination: str) -> Resolved:
    """What a wiki link in the document `source` leads to.

    A page is a path from its own folder or from the root, with or without its ending; else the one document
    whose name it is, in any letter case. Of several headings, as in `Page#A#B`, the last counts.
    """
    page, mark, headings = destination.partition("#")
    page = page.strip()
    heading = headings.rpartition("#")[2].strip() if mark else None
    path = source if not page else find_page(world, source, page)
    if path is None:
        return Resolved(Status.MISSING_FILE, Target(page.strip("/"), heading))
    target = Target(path, heading)
    document = world.document(path) if heading is not None else None
    if document is None or heading is None:
        return Resolved(Status.OK, target, path)
    place = find_place(names_of(document, world.rules.dialect), heading) or _titled(document, heading)
    return Resolved(Status.OK if place else Status.MISSING_FRAGMENT, target, path, place)


def find_page(world: World, source: str, page: str) -> str | None:
    """The file that a page's name means; None if there is none, or if several documents have it."""
    for path in page_paths(source, page, world.rules.root):
        if world.exists(path) and not world.is_folder(path):
            return path
    named = world.stems.get(_stem(page).lower(), ())
    folder = page.rpartition("/")[0].strip("/").lower()
    if folder:
        named = [path for path in named if f"/{path.lower()}".rpartition("/")[0].endswith(f"/{folder}")]
    return next(iter(named)) if len(named) == 1 else None


def page_paths(source: str, page: str, root: str) -> Iterator[str]:
    """The paths that a page's name may mean as a path, the likeliest first."""
    for base in (source.rpartition("/")[0], root):
        path = joined(base, page)
        if path:
            yield from (path, *(path + suffix for suffix in DOCUMENT_SUFFIXES))


def _stem(page: str) -> str:
    name = page.rpartition("/")[2]
    suffix = next((suffix for suffix in DOCUMENT_SUFFIXES if name.lower().endswith(suffix)), "")
    return name[: len(name) - len(suffix)]


def _titled(document: Document, heading: str) -> Place | None:
    """The first section of a title, in any letter case."""
    return document.derive(_titles).get(_folded(heading))


def _titles(document: Document) -> dict[str, Place]:
    titles: dict[str, Place] = {}
    for section in document.sections:
        if section.has_heading:
            titles.setdefault(_folded(section.title), Place(section.heading_start, section.position))
    return titles


def _folded(title: str) -> str:
    return " ".join(title.casefold().split())


def spell_wiki(link: Link, source: str, target: Target, world: World) -> str:
    """A wiki link's destination for a target: a name alone if it was one and suffices, else a path.

    Nothing in it can be escaped, so that a name with brackets or bars cannot be written: the old one stays.
    """
    page, mark, headings = link.destination.partition("#")
    tail = "" if target.fragment is None else f"#{target.fragment}"
    if mark and headings.rpartition("#")[2].strip() == target.fragment:
        tail = mark + headings
    path = target.path
    if not page.strip().endswith(DOCUMENT_SUFFIXES):
        path = without_suffix(path)
    name = path.rpartition("/")[2]
    inside = path.removeprefix(f"{world.rules.root}/") if world.rules.root else path
    ways = [inside, name, target.path] if "/" in page else [name, inside, target.path]
    for spelled in ways if page.strip() else ["", *ways]:
        found = resolve_wiki(world, source, spelled + tail)
        if found.path == target.path and not set(spelled + tail) & set("[]|\n"):
            return spelled + tail
    return link.destination
