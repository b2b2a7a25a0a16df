"""Lines come in whole from everything that standard input can be."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import anyio
import pytest

from docyard.protocol.input import Answering, Input, Line, PolledInput, ThreadedInput, open_input
from docyard.stdin import Oversized

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="the event loop there watches no pipes"),
]

LIMIT = 1_000


def nobody(line: Line) -> bool:
    return False


async def lines_of(source: Input, answered: Answering = nobody) -> list[Line]:
    lines = []
    with anyio.fail_after(60):
        while (line := await source.line(answered)) is not None:
            lines.append(line)
    return lines


class Echo:
    """Answers what begins with a question mark, once."""

    def __init__(self) -> None:
        self.offered: list[Line] = []

    def __call__(self, line: Line) -> bool:
        self.offered.append(line)
        return isinstance(line, bytes) and line.startswith(b"?")


@pytest.mark.parametrize("kind", [PolledInput, ThreadedInput])
async def test_lines_are_put_together_and_cut_apart(
    ends: tuple[int, int], kind: type[PolledInput | ThreadedInput]
) -> None:
    ours, theirs = ends
    source = kind(ours, LIMIT)
    os.write(theirs, b"one\ntw")
    with anyio.fail_after(60):
        assert await source.line(nobody) == b"one"
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
    seen: list[list[Line]] = []

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
    seen: list[Line] = []

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


@pytest.mark.parametrize("kind", [PolledInput, ThreadedInput])
@pytest.mark.parametrize("is_read_singly", [True, False])
async def test_each_line_is_offered_once_and_in_order(
    ends: tuple[int, int], kind: type[PolledInput | ThreadedInput], is_read_singly: bool
) -> None:
    ours, theirs = ends
    source, echo = kind(ours, LIMIT), Echo()
    sent = [b"?1", b"2", b"?3", b"?4", b"", b"", b"5", b"5", b"?6", b"7"]
    seen: list[Line] = []

    async def read() -> None:
        seen.extend(await lines_of(source, echo))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        for line in sent:
            if is_read_singly:
                await anyio.wait_all_tasks_blocked()
            os.write(theirs, line + b"\n")
        os.close(theirs)
    assert echo.offered == sent
    assert seen == [line for line in sent if not line.startswith(b"?")]


async def test_nobody_is_woken_for_a_line_that_is_answered(ends: tuple[int, int]) -> None:
    ours, theirs = ends
    source, echo = PolledInput(ours, LIMIT), Echo()
    woken: list[Line | None] = []

    async def read() -> None:
        woken.append(await source.line(echo))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        for count in range(1, 4):
            await anyio.wait_all_tasks_blocked()
            os.write(theirs, b"?\n")
            with anyio.fail_after(60):
                while len(echo.offered) < count:
                    await anyio.sleep(0)
        assert not woken
        os.write(theirs, b"?\nlast\n")
    assert woken == [b"last"]
    source.close()


async def test_a_line_is_not_lost_to_who_was_cancelled(ends: tuple[int, int]) -> None:
    ours, theirs = ends
    source = PolledInput(ours, LIMIT)
    offered = anyio.Event()
    seen: list[Line | None] = []

    def refuse(line: Line) -> bool:
        offered.set()
        return False

    async def read() -> None:
        seen.append(await source.line(refuse))

    loop = asyncio.get_running_loop()
    reading = loop.create_task(read())
    await anyio.wait_all_tasks_blocked()
    os.write(theirs, b"one\n")
    await offered.wait()  # it is read, and who waits for it has not run yet
    reading.cancel()
    with pytest.raises(asyncio.CancelledError), anyio.fail_after(60):
        await reading
    assert seen == []
    with anyio.fail_after(60):
        assert await source.line(nobody) == b"one"
    source.close()


async def test_what_goes_wrong_is_told_to_who_waits(ends: tuple[int, int]) -> None:
    ours, theirs = ends
    source = PolledInput(ours, LIMIT)

    def fail(line: Line) -> bool:
        raise LookupError(line)

    async def write() -> None:
        os.write(theirs, b"one\n")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write)
        with pytest.raises(LookupError):
            await source.line(fail)
    source.close()
