"""The walkthroughs of the sources: their ids, and the walkthrough that a handle names.

The id of a walkthrough is the path of its document. On a server of several sources the namespace and a colon
precede it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from index.sources.source import SourceUnavailable
from tools.retrieval.handles import (
    FIX_RESTART,
    InvalidHandle,
    WalkthroughPosition,
    read_handle,
    resolve_handle,
)
from workspace.nearest import find_nearest
from workspace.snapshot.walkthroughs import WalkthroughNotFound, list_walkthroughs, read_walkthrough

if TYPE_CHECKING:
    from index.sources.source import Source
    from index.sources.sources import Sources
    from workspace.document.walkthrough import Walkthrough

_SEPARATOR = ":"
_MAX_CANDIDATES = 5


@dataclass(frozen=True, slots=True)
class FoundWalkthrough:
    """A walkthrough, its source, and the commit at which it was read."""

    source: Source
    walkthrough: Walkthrough
    commit: str | None


def format_walkthrough_id(sources: Sources, source: Source, walkthrough: Walkthrough) -> str:
    """Return the id of a walkthrough, as `start_walkthrough` takes it."""
    return f"{source.name}{_SEPARATOR}{walkthrough.id}" if len(sources) > 1 else walkthrough.id


def iterate_walkthroughs(source: Source) -> Iterator[Walkthrough]:
    """Yield the walkthroughs of a source. Raises SourceUnavailable."""
    with source.open() as index:
        yield from list_walkthroughs(index.workspace.snapshot())


def find_walkthrough_by_id(sources: Sources, id: str) -> FoundWalkthrough:
    """Return the walkthrough with an id, or with a path or title that only one source has.

    Raises WalkthroughNotFound, and SourceUnavailable if the id names a source that cannot be read.
    """
    namespace, separator, name = id.strip().partition(_SEPARATOR)
    named_sources = [source for source in sources if separator and source.name == namespace]
    searched_sources = named_sources or list(sources)
    matches: list[FoundWalkthrough] = []
    for source in searched_sources:
        try:
            matches.append(_read_walkthrough(source, name if named_sources else id))
        except WalkthroughNotFound:
            pass
        except SourceUnavailable:
            if len(searched_sources) == 1:
                raise
    if len(matches) == 1:
        return matches[0]
    candidates = [
        format_walkthrough_id(sources, match.source, match.walkthrough) for match in matches
    ] or list_walkthrough_ids(sources)
    nearest = (find_nearest(id, candidates) or candidates)[:_MAX_CANDIDATES]
    raise WalkthroughNotFound(
        f"{len(matches)} walkthroughs have the id '{id[:100]}'"
        if matches
        else f"no walkthrough '{id[:100]}'" + ("" if candidates else ": no source has walkthroughs"),
        fix=f"Did you mean '{nearest[0]}'?" if nearest else "Search the documentation instead.",
        candidates=nearest,
        field="walkthrough",
    )


def list_walkthrough_ids(sources: Sources) -> list[str]:
    """Return the ids of the walkthroughs of all sources that can be read."""
    ids: list[str] = []
    for source in sources:
        with suppress(SourceUnavailable):
            ids += [
                format_walkthrough_id(sources, source, walkthrough)
                for walkthrough in iterate_walkthroughs(source)
            ]
    return ids


def _read_walkthrough(source: Source, name: str) -> FoundWalkthrough:
    with source.open() as index:
        snapshot = index.workspace.snapshot()
        return FoundWalkthrough(source, read_walkthrough(snapshot, name), snapshot.commit)


@dataclass(frozen=True, slots=True)
class CurrentPosition:
    """The source and the position of the walkthrough under way."""

    source: Source
    position: WalkthroughPosition


def find_position(sources: Sources, handle_text: str) -> CurrentPosition:
    """Return the position that a handle names.

    Raises InvalidHandle, WalkthroughRemoved, SourceUnavailable.
    """
    handle = read_handle(sources.signing_keys, handle_text)
    owner = handle.organization, handle.namespace
    source = next((source for source in sources if (source.organization, source.name) == owner), None)
    if source is None:
        raise InvalidHandle(
            f"the handle names the source '{handle.namespace[:100]}', which this server does not have",
            fix=FIX_RESTART,
        )
    with source.open() as index:
        return CurrentPosition(source, resolve_handle(index.workspace, handle))
