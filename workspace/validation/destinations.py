"""Broken destinations, for the rules that report them."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from workspace.links.link import LinkKind
from workspace.links.resolver import LinkStatus, suggest_destination
from workspace.paths import escape_path
from workspace.validation.rule import ByteFinding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.links.link import Link
    from workspace.links.resolver import ResolvedLink
    from workspace.validation.rule import RuleContext

_MAX_SHOWN_CHARACTERS = 200


def find_missing_files(context: RuleContext, *, is_image: bool) -> Iterator[ByteFinding]:
    """Yield the links, or the images if `is_image`, that lead to no file or folder of the repository."""
    for link, resolved_link in context.links:
        if link.is_image == is_image and resolved_link.status in (
            LinkStatus.MISSING_FILE,
            LinkStatus.OUTSIDE,
        ):
            yield _make_byte_finding(context, link, resolved_link)


def find_missing_fragments(context: RuleContext) -> Iterator[ByteFinding]:
    """Yield the links and images whose fragment does not exist in the target document."""
    for link, resolved_link in context.links:
        if resolved_link.status is LinkStatus.MISSING_FRAGMENT:
            yield _make_byte_finding(context, link, resolved_link)


def _make_byte_finding(context: RuleContext, link: Link, resolved_link: ResolvedLink) -> ByteFinding:
    kind = "image" if link.is_image else "wiki link" if link.kind is LinkKind.WIKI else "link"
    shown_destination = _shorten_for_message(link.destination)
    target = resolved_link.target
    match resolved_link.status:
        case LinkStatus.OUTSIDE:
            reason = "leads out of the repository"
        case LinkStatus.MISSING_FRAGMENT if target is not None:
            name = (
                "this document"
                if resolved_link.path == context.document.path
                else _shorten_for_message(resolved_link.path or "")
            )
            reason = f"leads nowhere: no section '{_shorten_for_message(target.fragment or '')}' in {name}"
        case _:
            reason = "leads nowhere: there is no such file" if target else "leads nowhere"
    suggestion = (
        _find_nearest_destination(context, link, resolved_link) if context.makes_suggestions else None
    )
    return ByteFinding(
        link.destination_start,
        link.destination_end,
        f"the {kind} '{shown_destination}' {reason}",
        f"Did you mean '{_shorten_for_message(suggestion)}'?" if suggestion else None,
    )


def _find_nearest_destination(context: RuleContext, link: Link, resolved_link: ResolvedLink) -> str | None:
    """Return the most similar existing destination: a fragment, or a path in the style of the link."""
    nearest_destination = suggest_destination(context.file_tree, resolved_link)
    if nearest_destination is None or resolved_link.status is LinkStatus.MISSING_FRAGMENT:
        return nearest_destination
    if link.destination.startswith("/"):
        root = context.file_tree.rules.root
        return f"/{nearest_destination.removeprefix(f'{root}/') if root else nearest_destination}"
    return posixpath.relpath(nearest_destination, posixpath.dirname(context.document.path) or ".")


def _shorten_for_message(text: str) -> str:
    """Return a destination or path in the form of messages: on one line, cut after 200 characters."""
    shown_text = escape_path(text[: _MAX_SHOWN_CHARACTERS + 1])
    return shown_text if len(text) <= _MAX_SHOWN_CHARACTERS else shown_text[:_MAX_SHOWN_CHARACTERS] + "…"
