"""Lines of limited length from chunks of standard input, and the errors for invalid lines.

A JSON-RPC client waits for the response to every request. So an invalid line gets an error, with the
request's id if the line contains it, else with a null id (JSON-RPC 2.0 §5). Only invalid notifications and
responses are dropped, because the client does not wait for a response to them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

PARSE_ERROR = -32700
INVALID_REQUEST = -32600

MAX_LINE_BYTES = 32 * 1024 * 1024
"""The longest line that is read, in bytes without its line break."""

_ID_SCAN_BYTES = 64 * 1024
"""The bytes of a line that are scanned for an id if the line is too long or not JSON."""

RequestId = int | str


@dataclass(frozen=True, slots=True)
class OversizedLine:
    """A line over the limit: its first bytes, and its length in bytes."""

    head: bytes
    size: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """A JSON-RPC error for an invalid line."""

    id: RequestId | None
    code: int
    message: str


class LineAssembler:
    """A splitter of chunks into lines, which buffers at most `limit` bytes of an incomplete line."""

    def __init__(self, limit: int = MAX_LINE_BYTES) -> None:
        self._limit = limit
        self._chunks: list[bytes] = []
        self._size = 0
        self._head: bytes | None = None  # set while the rest of an oversized line is being dropped

    def feed(self, chunk: bytes) -> Iterator[bytes | OversizedLine]:
        """Yield every line that a chunk completes, without its line break."""
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            self._add_chunk(chunk[start:end])
            yield self._take_line()
            start = end + 1
        self._add_chunk(chunk[start:])

    def finish(self) -> Iterator[bytes | OversizedLine]:
        """Yield the last line if the stream ended without a line break."""
        if self._size:
            yield self._take_line()

    def _add_chunk(self, chunk: bytes) -> None:
        self._size += len(chunk)
        if self._head is not None:
            return
        self._chunks.append(chunk)
        if self._size > self._limit:
            self._head = b"".join(self._chunks)[:_ID_SCAN_BYTES]
            self._chunks = []

    def _take_line(self) -> bytes | OversizedLine:
        line: bytes | OversizedLine
        line = b"".join(self._chunks) if self._head is None else OversizedLine(self._head, self._size)
        self._chunks, self._size, self._head = [], 0, None
        return line


def build_refusal(line: bytes | OversizedLine, limit: int = MAX_LINE_BYTES) -> Refusal | None:
    """Return the error for a line that is not a JSON-RPC message; None if no response is expected."""
    if isinstance(line, OversizedLine):
        message = f"The message has {line.size:,} bytes; the limit is {limit:,}. Split it into several calls."
        return Refusal(_scan_for_id(line.head), INVALID_REQUEST, message)
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return Refusal(_scan_for_id(line[:_ID_SCAN_BYTES]), PARSE_ERROR, "The line must be JSON in UTF-8.")
    if not _expects_response(value):
        return None
    request_id = _parse_id(value.get("id")) if isinstance(value, dict) else None
    if _contains_surrogate(value):
        message = "A string contains a lone surrogate (such as \\ud800), which is not a character. Remove it."
        return Refusal(request_id, PARSE_ERROR, message)
    if isinstance(value, list):
        return Refusal(
            None, INVALID_REQUEST, "Batches of messages are not supported. Send one message on each line."
        )
    return Refusal(
        request_id, INVALID_REQUEST, "The line must be a JSON-RPC 2.0 request that is not nested too deeply."
    )


def _expects_response(value: object) -> bool:
    if not isinstance(value, dict):
        return True
    return "id" in value if "method" in value else not ("result" in value or "error" in value)


def _parse_id(value: object) -> RequestId | None:
    if isinstance(value, str) and not _contains_surrogate(value):
        return value
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _contains_surrogate(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    except (ValueError, RecursionError):
        return False
    return False


_JSON_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_ID_VALUE = re.compile(rb'\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+(?=[\s,}]))', re.DOTALL)


def _scan_for_id(head: bytes) -> RequestId | None:
    """Return the top-level "id" of a text that may be incomplete JSON; None if it has no valid id."""
    depth = 0
    for token in _JSON_TOKEN.finditer(head):
        match token.group():
            case b"{" | b"[":
                depth += 1
            case b"}" | b"]":
                depth -= 1
            case b'"id"' if depth == 1 and (value_match := _ID_VALUE.match(head, token.end())):
                try:
                    return _parse_id(json.loads(value_match.group(1)))
                except ValueError:
                    return None
    return None
