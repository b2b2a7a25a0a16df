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

_MAX_SHOWN_CHARACTERS = 200


def find_missing_files(subject: Subject, *, images: bool) -> Iterator[Spot]:
    """Yield the spots of links, or of images, whose file or folder does not exist."""
    for link, resolved in subject.links:
        if link.is_image == images and resolved.status in (LinkStatus.MISSING_FILE, LinkStatus.OUTSIDE):
            yield _make_spot(subject, link, resolved)


def find_missing_fragments(subject: Subject) -> Iterator[Spot]:
    """Yield the spots of links and images whose fragment does not exist in the target document."""
    for link, resolved in subject.links:
        if resolved.status is LinkStatus.MISSING_FRAGMENT:
            yield _make_spot(subject, link, resolved)


def _make_spot(subject: Subject, link: Link, resolved: ResolvedLink) -> Spot:
    kind = "image" if link.is_image else "wiki link" if link.kind is LinkKind.WIKI else "link"
    shown_destination = shorten(link.destination)
    target = resolved.target
    match resolved.status:
        case LinkStatus.OUTSIDE:
            reason = "leads out of the repository"
        case LinkStatus.MISSING_FRAGMENT if target is not None:
            name = "this document" if resolved.path == subject.document.path else shorten(resolved.path or "")
            reason = f"leads nowhere: no section '{shorten(target.fragment or '')}' in {name}"
        case _:
            reason = "leads nowhere: there is no such file" if target else "leads nowhere"
    suggestion = _find_nearest_destination(subject, link, resolved) if subject.makes_suggestions else None
    return Spot(
        link.destination_start,
        link.destination_end,
        f"the {kind} '{shown_destination}' {reason}",
        f"Did you mean '{shorten(suggestion)}'?" if suggestion else None,
    )


def _find_nearest_destination(subject: Subject, link: Link, resolved: ResolvedLink) -> str | None:
    """Return the most similar existing destination: a fragment, or a path in the style of the link."""
    nearest = suggest_destination(subject.file_tree, resolved)
    if nearest is None or resolved.status is LinkStatus.MISSING_FRAGMENT:
        return nearest
    if link.destination.startswith("/"):
        root = subject.file_tree.rules.root
        return f"/{nearest.removeprefix(f'{root}/') if root else nearest}"
    return posixpath.relpath(nearest, posixpath.dirname(subject.document.path) or ".")


def shorten(text: str) -> str:
    """Return a destination or path in the form of messages: on one line, at most 200 characters."""
    shown_text = escape_path(text[: _MAX_SHOWN_CHARACTERS + 1])
    return shown_text if len(text) <= _MAX_SHOWN_CHARACTERS else shown_text[:_MAX_SHOWN_CHARACTERS] + "…"
