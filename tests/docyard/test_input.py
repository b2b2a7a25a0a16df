"""Lines come in whole from everything that standard input can be."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import anyio
import pytest

from docyard.protocol.input import Input, PolledInput, ThreadedInput, open_input
from docyard.stdin import Oversized

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="the event loop there watches no pipes"),
]

LIMIT = 1_000


async def lines_of(source: Input) -> list[bytes | Oversized]:
    lines = []
    with anyio.fail_after(60):
        while (line := await source.line()) is not None:
            lines.append(line)
    return lines


@pytest.mark.parametrize("kind", [PolledInput, ThreadedInput])
async def test_lines_are_put_together_and_cut_apart(
    ends: tuple[int, int], kind: type[PolledInput | ThreadedInput]
) -> None:
    ours, theirs = ends
    source = kind(ours, LIMIT)
    os.write(theirs, b"one\ntw")
    with anyio.fail_after(60):
        assert await source.line() == b"one"
    os.write(theirs, b"o\n" + b"x" * (LIMIT + 1) + b"\nlast")
    os.close(theirs)
    second, long, last = await lines_of(source)
    assert (second, last) == (b"two", b"last")
    assert isinstance(long, Oversized)
    assert long.size == LIMIT + 1
    source.close()


@pytest.mark.parametrize("kind", [PolledInput, ThreadedInput])
async def test_who_waits_is_let_go_when_it_is_closed(
    ends: tuple[int, int], kind: type[PolledInput | ThreadedInput]
) -> None:
    ours, theirs = ends
    source = kind(ours, LIMIT)
    seen: list[list[bytes | Oversized]] = []

    async def read() -> None:
        seen.append(await lines_of(source))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await anyio.wait_all_tasks_blocked()
        source.close()
    assert seen == [[]]
    os.write(theirs, b"late\n")
    assert await lines_of(source) == []


async def test_a_pipe_is_read_by_the_event_loop(ends: tuple[int, int]) -> None:
    assert isinstance(open_input(ends[0], LIMIT), PolledInput)


async def test_a_pipe_that_is_not_blocking_does_not_end_early(ends: tuple[int, int]) -> None:
    ours, theirs = ends
    os.set_blocking(ours, False)
    source = open_input(ours, LIMIT)
    seen: list[bytes | Oversized] = []

    async def read() -> None:
        seen.extend(await lines_of(source))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        for word in (b"slow", b"ly"):
            await anyio.wait_all_tasks_blocked()
            os.write(theirs, word)
        os.close(theirs)
    assert seen == [b"slowly"]


async def test_nothing_is_read_before_it_is_asked_for(ends: tuple[int, int]) -> None:
    ours, theirs = ends
    source = open_input(ours, LIMIT)
    os.write(theirs, b"one\n")
    await anyio.sleep(0.01)
    assert os.read(ours, 10) == b"one\n"
    source.close()


async def test_a_file_is_read_in_a_thread(tmp_path: Path) -> None:
    file = tmp_path / "requests"
    file.write_bytes(b"one\n\ntwo")
    descriptor = os.open(file, os.O_RDONLY)
    try:
        source = open_input(descriptor, LIMIT)
        assert await lines_of(source) == [b"one", b"", b"two"]
    finally:
        os.close(descriptor)
