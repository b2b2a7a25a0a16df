"""Passages of `get_doc`: a section, found by its id, with its neighbours; and their text with delimiters.

`get_doc` calls a section a chunk.

--- Chunk: {chunk_id} (Chunk {1-indexed position} of {file_total}) (Target|Context: {+N|-N}) ---

The source of a chunk follows its delimiter. If the source is cut, the last line states after which character.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from index.documents import format_chunk_id
from workspace.config.config import DOCUMENT_SUFFIXES
from workspace.document.addresses import InvalidAddress, SectionNotFound, resolve_section, split_address
from workspace.errors import WorkspaceError
from workspace.markdown.lines import LIST_MARKER
from workspace.nearest import find_nearest
from workspace.paths import UNPRINTABLE_CHARACTER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.history.moved_addresses import Move, Moves
    from workspace.snapshot.snapshot import Snapshot

MAX_ID_LENGTH = 20_000
"""The largest number of characters of an id that is searched for by alias and in the history."""

_MAX_SHOWN_LENGTH = 200
_MAX_COMPARED_PATHS = 2_000
_MAX_SPLITS = 4  # ways to split an id that are searched for in the history

_FENCE = re.compile(
    rf"^(?P<before>(?:[ \t>]|{LIST_MARKER}[ \t])*)(?P<mark>`{{3,}}+|~{{3,}}+)(?P<rest>[^\n]*)$",
    re.MULTILINE,
)
_LIST_MARKER_CHARACTER = re.compile(r"[^ \t>]")
# The group has every character that any program treats as the end of a line.
_FALSE_DELIMITER = re.compile("(^|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])(---[ \t]*Chunk:)")


class ChunkNotFound(WorkspaceError):
    """No chunk has this id; `details` has the nearest ids as `nearest`."""

    code: ClassVar[str] = "CHUNK_NOT_FOUND"


class InvalidChunkId(WorkspaceError):
    """The id is not `{filepath}` or `{filepath}#{heading-path}`, is too long, or has a control character."""

    code: ClassVar[str] = "INVALID_CHUNK_ID"


@dataclass(frozen=True, slots=True)
class PassageChunk:
    """One chunk of a passage. `relative_position` is 0 for the target, -n and +n for its neighbours.

    `text` is the exact source from the character `start` on, possibly cut. `size` counts the characters of
    the full source.
    """

    path: str
    key: str
    position: int
    total: int
    relative_position: int
    text: str
    size: int
    start: int = 0

    @property
    def end(self) -> int:
        """The character of the source at which the text ends."""
        return self.start + len(self.text)

    @property
    def chunk_id(self) -> str:
        """The address of the section."""
        return format_chunk_id(self.path, self.key)

    @property
    def is_cut(self) -> bool:
        """Return True if the source continues after the text."""
        return self.end < self.size


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk and its neighbours in the file. `move` is the move by which an old address was resolved."""

    commit: str | None
    chunks: tuple[PassageChunk, ...]
    move: Move | None = None

    @property
    def target(self) -> PassageChunk:
        """The requested chunk."""
        return next(chunk for chunk in self.chunks if chunk.relative_position == 0)

    def text(self, describe_remainder: Callable[[PassageChunk], str] = lambda chunk: "") -> str:
        """Return the chunks as text with delimiters; a line that imitates a delimiter is indented by a space.

        `describe_remainder` returns a sentence on how to read the remainder of a cut chunk.
        """
        return "\n\n".join(
            f"{_format_delimiter(chunk)}\n{_format_body(chunk, describe_remainder)}" for chunk in self.chunks
        )

    def shorten(self, limit: int) -> Passage:
        """Return the passage with at most `limit` characters. The longest chunks are cut, mostly at lines."""
        max_length = _compute_max_length([len(chunk.text) for chunk in self.chunks], limit)
        return replace(
            self,
            chunks=tuple(replace(chunk, text=_cut_at_line(chunk.text, max_length)) for chunk in self.chunks),
        )

    def continue_from(self, offset: int) -> Passage:
        """Return the passage with the target's text from `offset` on; the other chunks are unchanged."""
        return replace(
            self,
            chunks=tuple(
                chunk if chunk.relative_position else replace(chunk, text=chunk.text[offset:], start=offset)
                for chunk in self.chunks
            ),
        )


def read_passage(
    snapshot: Snapshot, requested_id: str, context: int = 0, moves: Callable[[], Moves] | None = None
) -> Passage:
    """Read a chunk and up to `context` chunks before and after it. The id can be an old one.

    `moves` resolves old ids. Raises ChunkNotFound, InvalidChunkId, AmbiguousAddress.
    """
    path, fragment = split_address(requested_id, snapshot.documents)
    if not path or fragment == "":
        raise _make_invalid_chunk_id_error(requested_id)
    match = _find_by_key(snapshot, path, fragment)
    if match is None and (len(requested_id) > MAX_ID_LENGTH or UNPRINTABLE_CHARACTER.search(requested_id)):
        raise _make_invalid_chunk_id_error(requested_id)
    move: Move | None = None
    match = match or _find_by_alias(snapshot, path, fragment)
    if match is None and moves is not None:
        move = next(_find_candidate_moves(snapshot, requested_id, moves()), None)
        match = _find_by_key(snapshot, move.path, move.fragment) if move else None
    if match is None:
        raise _make_chunk_not_found_error(requested_id, _find_nearest_ids(snapshot, path, fragment))
    document, target = match
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
                relative_position=section.position - target.position,
                text=text,
                size=len(text),
            )
            for section, text in sources
        ),
        move,
    )


def _find_by_key(snapshot: Snapshot, path: str, fragment: str | None) -> tuple[Document, Section] | None:
    """Return a document's section by its key; without a key, the first section."""
    if path not in snapshot.documents:
        return None
    document = snapshot.document(path)
    if fragment is None:
        return (document, document.sections[0]) if document.sections else None
    section = document.section_by_key(fragment)
    return (document, section) if section else None


def _find_by_alias(snapshot: Snapshot, path: str, fragment: str | None) -> tuple[Document, Section] | None:
    """Return a document's section by an alias. Raises AmbiguousAddress."""
    if fragment is None or path not in snapshot.documents:
        return None
    document = snapshot.document(path)
    try:
        return document, resolve_section(document, fragment)
    except (SectionNotFound, InvalidAddress):
        return None


def _find_candidate_moves(snapshot: Snapshot, requested_id: str, moves: Moves) -> Iterator[Move]:
    """Yield the moves that lead from an old id to its current location."""
    for path, fragment in islice(_split_id(snapshot, requested_id), _MAX_SPLITS):
        move = moves.find(snapshot, path, fragment)
        if move is not None:
            yield move


def _split_id(snapshot: Snapshot, requested_id: str) -> Iterator[tuple[str, str | None]]:
    """Yield each way to split an id into the path of a possible document and a fragment."""
    path, fragment = split_address(requested_id, snapshot.documents)
    if path in snapshot.documents:
        yield path, fragment
        return
    if requested_id.lower().endswith(DOCUMENT_SUFFIXES):
        yield requested_id, None
    for match in re.finditer("#", requested_id):
        if requested_id[: match.start()].lower().endswith(DOCUMENT_SUFFIXES):
            yield requested_id[: match.start()], requested_id[match.end() :]


def _find_nearest_ids(snapshot: Snapshot, path: str, fragment: str | None) -> list[str]:
    """Return the ids nearest to one that does not exist."""
    if path not in snapshot.documents:
        return _find_nearest_paths(path, snapshot.documents)
    keys = [section.key for section in snapshot.document(path).sections]
    nearest = (find_nearest(fragment, keys) or keys[:5]) if fragment is not None else []
    return [format_chunk_id(path, key) for key in nearest]


def _find_nearest_paths(path: str, paths: Iterable[str]) -> list[str]:
    candidates = list(paths)
    name = path.rsplit("/", 1)[-1].lower()
    same_name = [candidate for candidate in candidates if candidate.rsplit("/", 1)[-1].lower() == name]
    # A comparison with every path of a large workspace takes too long.
    return (same_name or find_nearest(path, candidates[:_MAX_COMPARED_PATHS]))[:5]


def _make_chunk_not_found_error(requested_id: str, nearest: list[str]) -> ChunkNotFound:
    shown_id = (
        requested_id if len(requested_id) <= _MAX_SHOWN_LENGTH else requested_id[:_MAX_SHOWN_LENGTH] + "…"
    )
    fix = f"Did you mean '{nearest[0]}'?" if nearest else "Use the chunk_id of a search hit."
    return ChunkNotFound(
        f"Chunk ID '{shown_id}' not found. Use search_docs to discover valid chunk IDs.",
        fix=fix,
        nearest=nearest,
    )


def _make_invalid_chunk_id_error(requested_id: str) -> InvalidChunkId:
    shown_id = UNPRINTABLE_CHARACTER.sub("�", requested_id[:_MAX_SHOWN_LENGTH])
    return InvalidChunkId(
        f"Chunk ID '{shown_id}' is not valid: it must be a file path, or a file path, '#' and a heading path",
        fix="Use an id that a search returned, such as 'guides/retries.md#backoff-strategy'.",
    )


def _format_delimiter(chunk: PassageChunk) -> str:
    role = f"Context: {chunk.relative_position:+d}" if chunk.relative_position else "Target"
    return f"--- Chunk: {chunk.chunk_id} (Chunk {chunk.position} of {chunk.total}) ({role}) ---"


def _format_body(chunk: PassageChunk, describe_remainder: Callable[[PassageChunk], str]) -> str:
    text = _FALSE_DELIMITER.sub(r"\1 \2", chunk.text.strip("\r\n"))
    if not chunk.is_cut:
        return text
    fence = _find_open_fence(text)
    closed_text = f"{text}\n{fence}" if fence else text
    context = " within a code block" if fence else ""
    note = f"cut{context} after {chunk.end:,} of {chunk.size:,} characters. {describe_remainder(chunk)}"
    return f"{closed_text}\n\n[{note.rstrip()}]"


def _find_open_fence(text: str) -> str | None:
    """Return the line that closes the code block in which a text ends; None outside a code block."""
    opening_line: re.Match[str] | None = None
    for line in _FENCE.finditer(text):
        if opening_line is None:
            opening_line = line if line["mark"][0] == "~" or "`" not in line["rest"] else None
        elif line["mark"].startswith(opening_line["mark"]) and not line["rest"].strip():
            opening_line = None
    return (
        _LIST_MARKER_CHARACTER.sub(" ", opening_line["before"]) + opening_line["mark"]
        if opening_line
        else None
    )


def _compute_max_length(sizes: Iterable[int], limit: int) -> int:
    """Return the largest length per text for which all texts together have at most `limit` characters."""
    max_length, remaining_length = limit, limit
    ascending_sizes = sorted(sizes)
    for index, size in enumerate(ascending_sizes):
        max_length = max(remaining_length, 0) // (len(ascending_sizes) - index)
        if size > max_length:
            break
        remaining_length -= size
    return max_length


def _cut_at_line(text: str, limit: int) -> str:
    """Return the beginning of a text, at most `limit` characters, cut after a paragraph or else after a line.

    The text is cut within a line if less than half of the limit would be used otherwise. The result has at
    least one character, so that a caller that continues always makes progress.
    """
    if len(text) <= limit:
        return text
    for separator in ("\n\n", "\n", "\r"):
        index = text.rfind(separator, limit // 2, limit)
        if index != -1:
            return text[: index + len(separator)]
    return text[: max(limit, 1)]
