"""What a change makes of an index: which parts it has then, and what it stands for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from index.building.build import Built, build, build_segments
from index.page import Page, Unreadable
from index.port import Progress, Source, State
from index.segments.generation import Generation, Part
from index.segments.merge import compact

Change = tuple[Sequence[Part], State]
"""The parts of an index, and its state."""


def changed(
    old: Generation, commit: str | None, upserts: Iterable[Page | Unreadable], deletes: Iterable[str]
) -> Change:
    """Let new segments stand for the documents they hold, and drop those that are deleted."""
    built = build_segments(upserts)
    held = [segment.path(page) for segment in built.segments for page in range(segment.pages)]
    gone = {*held, *built.unreadable, *deletes}
    parts = [without(part, gone) for part in old.parts]
    kept = {path: blob for path, blob in old.state.unreadable.items() if path not in gone}
    return _of(parts, built, commit, kept)


def begun(commit: str | None, upserts: Iterable[Page | Unreadable]) -> Change:
    """Make the first parts of an index, in memory."""
    return _of((), build_segments(upserts), commit)


def built_anew(
    source: Source,
    folder: Path | None,
    processes: int | None = None,
    progress: Progress | None = None,
    *,
    durable: bool = False,
) -> Change:
    """Take in a whole commit; its segments are written into the folder."""
    built = build(source, folder, processes=processes, progress=progress, durable=durable)
    return _of((), built, source.commit)


def _of(old: Iterable[Part], built: Built, commit: str | None, left_out: Mapping[str, str] = {}) -> Change:
    parts = compact([*old, *map(Part.of, built.segments)])
    return parts, state_of(parts, commit, {**left_out, **built.unreadable})


def state_of(parts: Sequence[Part], commit: str | None, unreadable: Mapping[str, str]) -> State:
    """Say what some parts are as the index of a commit, of which these documents could not be read."""
    return State(
        commit=commit,
        files=sum(part.pages for part in parts) + len(unreadable),
        chunks=sum(part.size for part in parts),
        length=sum(part.total for part in parts),
        indexed_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        unreadable=unreadable,
    )


def without(part: Part, paths: Iterable[str]) -> Part:
    """Give a part in which the documents of these paths are dead."""
    found = (part.find(path) for path in paths)
    return part.without(page for page in found if page is not None)
