"""Lines of standard input: their separation, their maximum length, and the errors for invalid lines."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from docyard.mcp_server.input import (
    INVALID_REQUEST,
    PARSE_ERROR,
    LineAssembler,
    OversizedLine,
    Refusal,
    build_refusal,
)
from tests.loops import loop_over


def assemble_lines(chunks: list[bytes], limit: int = 1 << 20) -> list[bytes | OversizedLine]:
    assembler = LineAssembler(limit)
    lines = [line for chunk in chunks for line in assembler.feed(chunk)]
    return [*lines, *assembler.finish()]


@given(st.lists(st.binary(max_size=40)), st.lists(st.integers(1, 30), min_size=1))
def test_lines_do_not_depend_on_chunks(lines: list[bytes], sizes: list[int]) -> None:
    lines = [line.replace(b"\n", b"") for line in lines]
    stream = b"".join(line + b"\n" for line in lines)
    chunks, start = [], 0
    while start < len(stream):
        size = sizes[len(chunks) % len(sizes)]
        chunks.append(stream[start : start + size])
        start += size
    assert assemble_lines(chunks) == lines


def test_last_line_needs_no_line_break() -> None:
    assert assemble_lines([b"a\nb"]) == [b"a", b"b"]
    assert assemble_lines([b"a\n"]) == [b"a"]


@given(st.integers(1, 300), st.integers(1, 50))
def test_line_is_oversized_only_over_limit(length: int, chunk_size: int) -> None:
    text = b"x" * length
    chunks = [text[start : start + chunk_size] for start in range(0, length, chunk_size)]
    first_line, second_line = assemble_lines([*chunks, b"\nnext\n"], limit=100)
    assert first_line == (text if length <= 100 else OversizedLine(first_line.head, length))  # type: ignore[union-attr]
    assert second_line == b"next"


def test_endless_line_uses_bounded_memory() -> None:
    assembler = LineAssembler(limit=1_000_000)
    for _ in range(100):
        assert list(assembler.feed(b"x" * 100_000)) == []
        assert sum(map(len, assembler._chunks)) <= 1_100_000
    (line,) = assembler.feed(b"\n")
    assert isinstance(line, OversizedLine)
    assert line.size == 10_000_000
    assert len(line.head) <= 65_536


INVALID_LINES = [
    ("a lone surrogate", rb'{"jsonrpc":"2.0","id":5,"method":"m","params":{"a":"\ud800"}}', 5, PARSE_ERROR),
    (
        "an id of text",
        rb'{"jsonrpc":"2.0","id":"x\u00e9","method":"m","params":{"a":"\udfff"}}',
        "xé",
        PARSE_ERROR,
    ),
    ("a surrogate as id", rb'{"jsonrpc":"2.0","id":"\ud800","method":"m"}', None, PARSE_ERROR),
    ("cut off after the id", b'{"jsonrpc":"2.0","id":7,"method":"tools/ca', 7, PARSE_ERROR),
    ("cut off in the id", b'{"jsonrpc":"2.0","id":7', None, PARSE_ERROR),
    ("only a nested id", b'{"params":{"id":1},"method', None, PARSE_ERROR),
    ("an id after params", b'{"params":{"id":1,"a":[{"id":2}]},"id":3,', 3, PARSE_ERROR),
    ("a key in a string", rb'{"a":"\"id\":9","id":4,', 4, PARSE_ERROR),
    ("a fraction as id", b'{"id":1.5,', None, PARSE_ERROR),
    ("a boolean as id", b'{"jsonrpc":"2.0","id":true,"method":"m"}', None, INVALID_REQUEST),
    ("not UTF-8", b'{"id":6,"method":"m","params":{"a":"\xff"}}', 6, PARSE_ERROR),
    ("no JSON", b"hello", None, PARSE_ERROR),
    ("another version", b'{"jsonrpc":"1.0","id":8,"method":"m"}', 8, INVALID_REQUEST),
    ("a batch", b'[{"jsonrpc":"2.0","id":8,"method":"m"}]', None, INVALID_REQUEST),
    ("a number", b"17", None, INVALID_REQUEST),
    ("deep nesting", b'{"id":3,"a":' + b"[" * 100_000, 3, PARSE_ERROR),
]


@loop_over(
    ("line", "request_id", "code"),
    [case[1:] for case in INVALID_LINES],
    ids=[case[0] for case in INVALID_LINES],
)
def test_invalid_line_returns_error(line: bytes, request_id: int | str | None, code: int) -> None:
    refusal = build_refusal(line)
    assert refusal is not None
    assert (refusal.id, refusal.code) == (request_id, code)


def test_oversized_line_returns_error_with_size_and_limit() -> None:
    refusal = build_refusal(OversizedLine(b'{"jsonrpc":"2.0","id":3,"params":{"a":"xxx', 5_000), limit=4_000)
    assert refusal == Refusal(
        3, INVALID_REQUEST, "The message has 5,000 bytes; the limit is 4,000. Split it into several calls."
    )


@loop_over(
    "line",
    [
        rb'{"jsonrpc":"2.0","method":"notifications/x","params":{"a":"\ud800"}}',
        rb'{"jsonrpc":"2.0","id":1,"result":{"a":"\ud800"}}',
        rb'{"jsonrpc":"2.0","id":1,"error":{"message":"\ud800"}}',
    ],
)
def test_invalid_notification_or_response_returns_no_error(line: bytes) -> None:
    assert build_refusal(line) is None


@given(st.binary(max_size=200))
def test_every_line_returns_encodable_error_or_none(line: bytes) -> None:
    refusal = build_refusal(line)
    assert refusal is None or json.dumps(refusal.id).encode()


@given(st.text(max_size=30), st.one_of(st.integers(), st.text(st.characters(exclude_categories=["Cs"]))))
def test_id_of_truncated_request_is_found(text: str, request_id: int | str) -> None:
    request = {"jsonrpc": "2.0", "params": {"id": 0, "text": text}, "id": request_id, "method": "m"}
    line = json.dumps(request).encode()
    truncated_line = line[: line.rindex(b'"method"')]
    refusal = build_refusal(truncated_line)
    assert refusal is not None
    assert refusal.id == request_id
