"""`get_doc`: a chunk by its id, with its neighbours in the file, and the text form with its delimiters.

--- Chunk: {chunk_id} (Chunk {1-indexed position} of {file_total}) (Target|Context: {+N|-N}) ---
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import ClassVar

from index.page import chunk_id
from workspace.addresses import (
    InvalidAddress,
    SectionNotFound,
    nearest,
    resolve_section,
    split_address,
)
from workspace.document import Document, Section
from workspace.errors import WorkspaceError
from workspace.snapshot import Snapshot

MAX_ID = 2_000
_SHOWN = 200
_COMPARED = 2_000

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
# Every character that some reader of lines takes for the end of one.
_IMITATION = re.compile("(^|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])(---[ \t]*Chunk:)")


class ChunkNotFound(WorkspaceError):
    """No chunk has this id; `details` has the nearest ids as `nearest`."""

    code: ClassVar[str] = "CHUNK_NOT_FOUND"


class InvalidChunkId(WorkspaceError):
    """The id is not of the form `{filepath}` or `{filepath}#{heading-path}`."""

    code: ClassVar[str] = "INVALID_CHUNK_ID"


@dataclass(frozen=True, slots=True)
class PassageChunk:
    """One chunk of a passage. `offset` is 0 for the target, -n and +n for its neighbours; `text` is exact."""

    chunk_id: str
    position: int
    total: int
    offset: int
    text: str


@dataclass(frozen=True, slots=True)
class Passage:
    commit: str | None
    chunks: tuple[PassageChunk, ...]

    def text(self) -> str:
        """Write the passage in the delimiter grammar; a line that imitates a delimiter gets a space."""
        return "\n\n".join(f"{_delimiter(chunk)}\n{_harmless(chunk.text)}" for chunk in self.chunks)

    def shortened(self, size: int) -> Passage:
        """The same passage with each chunk's text cut to some number of characters."""
        return replace(self, chunks=tuple(replace(chunk, text=chunk.text[:size]) for chunk in self.chunks))


def passage(snapshot: Snapshot, wanted: str, context: int = 0) -> Passage:
    """Read a chunk and up to `context` chunks before and after it. Raises ChunkNotFound, InvalidChunkId."""
    document, target = _find(snapshot, wanted)
    total = len(document.sections)
    first, last = max(0, target.position - context), min(total, target.position + context + 1)
    return Passage(
        snapshot.commit,
        tuple(
            PassageChunk(
                chunk_id=chunk_id(document.path, section.key),
                position=section.position + 1,
                total=total,
                offset=section.position - target.position,
                text=document.source(section).decode("utf-8", "replace"),
            )
            for section in document.sections[first:last]
        ),
    )


def _find(snapshot: Snapshot, wanted: str) -> tuple[Document, Section]:
    if len(wanted) > MAX_ID or _CONTROL.search(wanted):
        raise _invalid(wanted)
    path, fragment = split_address(wanted, snapshot.documents)
    if not path or fragment == "":
        raise _invalid(wanted)
    if path not in snapshot.documents:
        raise _not_found(wanted, _near_paths(path, snapshot.documents))
    document = snapshot.document(path)
    if fragment is None:
        if not document.sections:
            raise _not_found(wanted, [])
        return document, document.sections[0]
    section = document.section_by_key(fragment)
    if section is None:
        try:
            section = resolve_section(document, fragment)
        except (SectionNotFound, InvalidAddress):
            keys = [section.key for section in document.sections]
            near = nearest(fragment, keys) or keys[:5]
            raise _not_found(wanted, [chunk_id(path, key) for key in near]) from None
    return document, section


def _near_paths(path: str, paths: object) -> list[str]:
    known = list(paths)  # type: ignore[call-overload]
    name = path.rsplit("/", 1)[-1].lower()
    same_name = [other for other in known if other.rsplit("/", 1)[-1].lower() == name]
    # Comparing spellings costs too much to do it with every path of a large workspace.
    return (same_name or nearest(path, known[:_COMPARED]))[:5]


def _not_found(wanted: str, near: list[str]) -> ChunkNotFound:
    shown = wanted if len(wanted) <= _SHOWN else wanted[:_SHOWN] + "…"
    fix = f"Did you mean '{near[0]}'?" if near else "Use the chunk_id of a search hit."
    return ChunkNotFound(
        f"Chunk ID '{shown}' not found. Use search_docs to discover valid chunk IDs.", fix=fix, nearest=near
    )


def _invalid(wanted: str) -> InvalidChunkId:
    shown = _CONTROL.sub("�", wanted[:_SHOWN])
    return InvalidChunkId(
        f"Chunk ID '{shown}' is not valid: it must be a file path, or a file path, '#' and a heading path",
        fix="For example 'guides/retries.md#backoff-strategy', as search_docs returns it.",
    )


def _delimiter(chunk: PassageChunk) -> str:
    role = f"Context: {chunk.offset:+d}" if chunk.offset else "Target"
    return f"--- Chunk: {chunk.chunk_id} (Chunk {chunk.position} of {chunk.total}) ({role}) ---"


def _harmless(text: str) -> str:
    return _IMITATION.sub(r"\1 \2", text.strip("\r\n"))
