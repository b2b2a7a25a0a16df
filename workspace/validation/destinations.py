"""Broken destinations, for the rules that report them."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from workspace.links.link import LinkKind
from workspace.links.resolver import LinkStatus, suggest_destination
from workspace.paths import escape_path
from workspace.validation.rule import Spot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.links.link import Link
    from workspace.links.resolver import ResolvedLink
    from workspace.validation.rule import Subject

_SHOWN = 200


def find_missing_files(subject: Subject, *, images: bool) -> Iterator[Spot]:
    """Yield the links, or else the images, whose file or folder is not there."""
    for link, resolved in subject.links:
        if link.is_image == images and resolved.status in (LinkStatus.MISSING_FILE, LinkStatus.OUTSIDE):
            yield _spot(subject, link, resolved)


def find_missing_fragments(subject: Subject) -> Iterator[Spot]:
    """Yield the links and images to a place that their document does not have."""
    for link, resolved in subject.links:
        if resolved.status is LinkStatus.MISSING_FRAGMENT:
            yield _spot(subject, link, resolved)


def _spot(subject: Subject, link: Link, resolved: ResolvedLink) -> Spot:
    what = "image" if link.is_image else "wiki link" if link.kind is LinkKind.WIKI else "link"
    shown = shorten(link.destination)
    target = resolved.target
    match resolved.status:
        case LinkStatus.OUTSIDE:
            reason = "leads out of the repository"
        case LinkStatus.MISSING_FRAGMENT if target is not None:
            name = "this document" if resolved.path == subject.document.path else shorten(resolved.path or "")
            reason = f"leads nowhere: no section '{shorten(target.fragment or '')}' in {name}"
        case _:
            reason = "leads nowhere: there is no such file" if target else "leads nowhere"
    near = _nearest(subject, link, resolved) if subject.suggests else None
    return Spot(
        link.destination_start,
        link.destination_end,
        f"the {what} '{shown}' {reason}",
        f"Did you mean '{shorten(near)}'?" if near else None,
    )


def _nearest(subject: Subject, link: Link, resolved: ResolvedLink) -> str | None:
    """Return the most similar existing destination: a fragment, or a path in the style of the link."""
    near = suggest_destination(subject.world, resolved)
    if near is None or resolved.status is LinkStatus.MISSING_FRAGMENT:
        return near
    if link.destination.startswith("/"):
        root = subject.world.rules.root
        return f"/{near.removeprefix(f'{root}/') if root else near}"
    return posixpath.relpath(near, posixpath.dirname(subject.document.path) or ".")


def shorten(text: str) -> str:
    """Return a destination or a path as a message names it: on one line, of 200 characters at most."""
    shown = escape_path(text[: _SHOWN + 1])
    return shown if len(text) <= _SHOWN else shown[:_SHOWN] + "…"
