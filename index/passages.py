"""Passages of `get_doc`: a chunk by its id with its neighbours, and the text form with delimiters.

--- Chunk: {chunk_id} (Chunk {1-indexed position} of {file_total}) (Target|Context: {+N|-N}) ---

The source of a chunk follows its delimiter. If it was cut at a line, the last line says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from index.page import chunk_id
from workspace.config.config import DOCUMENT_SUFFIXES
from workspace.document.addresses import InvalidAddress, SectionNotFound, resolve_section, split_address
from workspace.errors import WorkspaceError
from workspace.markdown.lines import LIST_MARKER
from workspace.nearest import find_nearest
from workspace.paths import CONTROL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.history.moves import Move, Moves
    from workspace.snapshot.snapshot import Snapshot

MAX_ID = 20_000
"""Characters of an id that is looked for further where no section has it as its own."""

_SHOWN = 200
_COMPARED = 2_000
_MEANINGS = 4  # ways to part an id that are looked for in the history

_FENCE = re.compile(
    rf"^(?P<before>(?:[ \t>]|{LIST_MARKER}[ \t])*)(?P<mark>`{{3,}}+|~{{3,}}+)(?P<rest>[^\n]*)$",
    re.MULTILINE,
)
_BULLET = re.compile(r"[^ \t>]")
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
    """One chunk of a passage. `offset` is 0 for the target, -n and +n for its neighbours.

    `text` is exact: the source from the character `start` on, as far as it is shown; `size` counts the
    characters of all of it.
    """

    path: str
    key: str
    position: int
    total: int
    offset: int
    text: str
    size: int
    start: int = 0

    @property
    def end(self) -> int:
        """The character of the source at which the rest begins."""
        return self.start + len(self.text)

    @property
    def chunk_id(self) -> str:
        """The address of the section."""
        return chunk_id(self.path, self.key)

    @property
    def is_cut(self) -> bool:
        """Return True if the rest of the source is left out."""
        return self.end < self.size


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk and its neighbours in the file. `moved` says how an old address led to the chunk."""

    commit: str | None
    chunks: tuple[PassageChunk, ...]
    moved: Move | None = None

    @property
    def target(self) -> PassageChunk:
        """The chunk that was asked for."""
        return next(chunk for chunk in self.chunks if chunk.offset == 0)

    def text(self, rest: Callable[[PassageChunk], str] = lambda chunk: "") -> str:
        """Write the passage in the delimiter grammar; a line that imitates a delimiter gets a space.

        `rest` returns where the rest of a cut chunk can be read.
        """
        return "\n\n".join(f"{_delimiter(chunk)}\n{_body(chunk, rest)}" for chunk in self.chunks)

    def shorten(self, most: int) -> Passage:
        """Shorten the passage to so many characters: the longest chunks are cut, each after a line."""
        share = _fair_share([len(chunk.text) for chunk in self.chunks], most)
        return replace(
            self, chunks=tuple(replace(chunk, text=_lines_within(chunk.text, share)) for chunk in self.chunks)
        )

    def continue_from(self, offset: int) -> Passage:
        """Return the passage with the target from a character on; the other chunks are unchanged."""
        return replace(
            self,
            chunks=tuple(
                chunk if chunk.offset else replace(chunk, text=chunk.text[offset:], start=offset)
                for chunk in self.chunks
            ),
        )


def read_passage(
    snapshot: Snapshot, wanted: str, context: int = 0, moves: Callable[[], Moves] | None = None
) -> Passage:
    """Read a chunk and up to `context` chunks before and after it, by its current or an old id.

    `moves` resolves old ids. Raises ChunkNotFound, InvalidChunkId.
    """
    path, fragment = split_address(wanted, snapshot.documents)
    if not path or fragment == "":
        raise _invalid(wanted)
    found = _section(snapshot, path, fragment)
    if found is None and (len(wanted) > MAX_ID or CONTROL.search(wanted)):
        raise _invalid(wanted)
    moved: Move | None = None
    found = found or _find_by_alias(snapshot, path, fragment)
    if found is None and moves is not None:
        moved = next(_follow_moves(snapshot, wanted, moves()), None)
        found = _section(snapshot, moved.path, moved.fragment) if moved else None
    if found is None:
        raise _not_found(wanted, _nearest_ids(snapshot, path, fragment))
    document, target = found
    total = len(document.sections)
    first, last = max(0, target.position - context), min(total, target.position + context + 1)
    sources = [
        (section, document.text(section.start, section.end)) for section in document.sections[first:last]
    ]
    return Passage(
        snapshot.commit,
        tuple(
            PassageChunk(
                path=document.path,
                key=section.key,
                position=section.position + 1,
                total=total,
                offset=section.position - target.position,
                text=text,
                size=len(text),
            )
            for section, text in sources
        ),
        moved,
    )


def _section(snapshot: Snapshot, path: str, fragment: str | None) -> tuple[Document, Section] | None:
    """Return a document's section by its key; without one its first section."""
    if path not in snapshot.documents:
        return None
    document = snapshot.document(path)
    if fragment is None:
        return (document, document.sections[0]) if document.sections else None
    section = document.section_by_key(fragment)
    return (document, section) if section else None


def _find_by_alias(snapshot: Snapshot, path: str, fragment: str | None) -> tuple[Document, Section] | None:
    """Return a document's section by another of its names. Raises AmbiguousAddress."""
    if fragment is None or path not in snapshot.documents:
        return None
    document = snapshot.document(path)
    try:
        return document, resolve_section(document, fragment)
    except (SectionNotFound, InvalidAddress):
        return None


def _follow_moves(snapshot: Snapshot, wanted: str, moves: Moves) -> Iterator[Move]:
    """Yield the current locations of an id that no longer exists."""
    for path, fragment in islice(_split_id(snapshot, wanted), _MEANINGS):
        move = moves.find(snapshot, path, fragment)
        if move is not None:
            yield move


def _split_id(snapshot: Snapshot, wanted: str) -> Iterator[tuple[str, str | None]]:
    """Yield each way to split an id into the path of a possible document and a fragment."""
    path, fragment = split_address(wanted, snapshot.documents)
    if path in snapshot.documents:
        yield path, fragment
        return
    if wanted.lower().endswith(DOCUMENT_SUFFIXES):
        yield wanted, None
    for mark in re.finditer("#", wanted):
        if wanted[: mark.start()].lower().endswith(DOCUMENT_SUFFIXES):
            yield wanted[: mark.start()], wanted[mark.end() :]


def _nearest_ids(snapshot: Snapshot, path: str, fragment: str | None) -> list[str]:
    """Return the ids nearest to one that does not exist."""
    if path not in snapshot.documents:
        return _nearest_paths(path, snapshot.documents)
    keys = [section.key for section in snapshot.document(path).sections]
    near = (find_nearest(fragment, keys) or keys[:5]) if fragment is not None else []
    return [chunk_id(path, key) for key in near]


def _nearest_paths(path: str, paths: Iterable[str]) -> list[str]:
    known = list(paths)
    name = path.rsplit("/", 1)[-1].lower()
    same_name = [other for other in known if other.rsplit("/", 1)[-1].lower() == name]
    # Comparing spellings costs too much to do it with every path of a large workspace.
    return (same_name or find_nearest(path, known[:_COMPARED]))[:5]


def _not_found(wanted: str, near: list[str]) -> ChunkNotFound:
    shown = wanted if len(wanted) <= _SHOWN else wanted[:_SHOWN] + "…"
    fix = f"Did you mean '{near[0]}'?" if near else "Use the chunk_id of a search hit."
    return ChunkNotFound(
        f"Chunk ID '{shown}' not found. Use search_docs to discover valid chunk IDs.", fix=fix, nearest=near
    )


def _invalid(wanted: str) -> InvalidChunkId:
    shown = CONTROL.sub("�", wanted[:_SHOWN])
    return InvalidChunkId(
        f"Chunk ID '{shown}' is not valid: it must be a file path, or a file path, '#' and a heading path",
        fix="For example 'guides/retries.md#backoff-strategy', as a search returns it.",
    )


def _delimiter(chunk: PassageChunk) -> str:
    role = f"Context: {chunk.offset:+d}" if chunk.offset else "Target"
    return f"--- Chunk: {chunk.chunk_id} (Chunk {chunk.position} of {chunk.total}) ({role}) ---"


def _body(chunk: PassageChunk, rest: Callable[[PassageChunk], str]) -> str:
    text = _IMITATION.sub(r"\1 \2", chunk.text.strip("\r\n"))
    if not chunk.is_cut:
        return text
    fence = _open_fence(text)
    closed = f"{text}\n{fence}" if fence else text
    within = " within a code block" if fence else ""
    note = f"[cut{within} after {chunk.end:,} of {chunk.size:,} characters. {rest(chunk)}".rstrip()
    return f"{closed}\n\n{note}]"


def _open_fence(text: str) -> str | None:
    """Return the line that would close the code block in which a text ends; None if it ends in none."""
    opened: re.Match[str] | None = None
    for line in _FENCE.finditer(text):
        if opened is None:
            opened = line if line["mark"][0] == "~" or "`" not in line["rest"] else None
        elif line["mark"].startswith(opened["mark"]) and not line["rest"].strip():
            opened = None
    return _BULLET.sub(" ", opened["before"]) + opened["mark"] if opened else None


def _fair_share(sizes: Iterable[int], most: int) -> int:
    """Return the most that each may have, so that all of them together have at most `most`."""
    share, left = most, most
    ascending = sorted(sizes)
    for taken, size in enumerate(ascending):
        share = max(left, 0) // (len(ascending) - taken)
        if size > share:
            break
        left -= size
    return share


def _lines_within(text: str, most: int) -> str:
    """Return the blocks of a text that fit, else its lines; part of one where half would be left unused.

    A text that is shown has a character at least, so that reading on comes to an end.
    """
    if len(text) <= most:
        return text
    for end in ("\n\n", "\n", "\r"):
        place = text.rfind(end, most // 2, most)
        if place != -1:
            return text[: place + len(end)]
    return text[: max(most, 1)]
