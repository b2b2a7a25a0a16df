"""Lines go out whole and in order, and never keep the event loop from others."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import anyio
import pytest

from docyard.protocol.output import Output

pytestmark = pytest.mark.anyio

SIZES = (0, 1, 4_095, 4_096, 4_097, 60_000, 70_000, 500_000)


async def test_lines_of_every_size_arrive_whole_and_in_order(ends: tuple[int, int]) -> None:
    theirs, ours = ends
    lines = [bytes([65 + number]) * size + b"\n" for number, size in enumerate(SIZES)]
    read: list[bytes] = []

    def reader() -> None:
        with open(theirs, "rb", closefd=False) as stream:
            read.extend(stream.readline() for _ in lines)

    thread = threading.Thread(target=reader)
    thread.start()
    output = Output(ours)
    with anyio.fail_after(60):
        for line in lines:
            await output.write(line)
    output.close()
    thread.join(60)
    assert read == lines


async def test_who_reads_nothing_holds_up_nobody_else(ends: tuple[int, int]) -> None:
    theirs, ours = ends
    output = Output(ours)
    written = 0

    async def write() -> None:
        nonlocal written
        while True:
            await output.write(b"x" * 9_999 + b"\n")
            written += 1

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            await output.stalled(0.05)
            tasks.cancel_scope.cancel()
    assert written > 0
    output.close()
    os.close(theirs)


async def test_what_nobody_waits_for_any_more_is_written_before_what_comes_after_it(
    ends: tuple[int, int],
) -> None:
    theirs, ours = ends
    output = Output(ours)
    first, second = b"1" * 300_000 + b"\n", b"2\n"
    with anyio.move_on_after(0.05):
        await output.write(first)

    def read() -> bytes:
        with open(theirs, "rb", closefd=False) as stream:
            return stream.readline() + stream.readline()

    read_all: list[bytes] = []
    thread = threading.Thread(target=lambda: read_all.append(read()))
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(output.write, second)
            await anyio.wait_all_tasks_blocked()
            thread.start()
    thread.join(60)
    assert read_all == [first + second]
    output.close()


async def test_who_waits_for_one_who_reads_nothing_can_be_let_go(ends: tuple[int, int]) -> None:
    theirs, ours = ends
    output = Output(ours)
    failed: list[OSError] = []

    async def write() -> None:
        try:
            await output.write(b"x" * 1_000_000)
        except OSError as error:
            failed.append(error)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            tasks.start_soon(write)
            await output.stalled(0.05)
            output.abandon()
    assert len(failed) == 2
    os.close(theirs)
    output.close()


async def test_who_has_gone_is_an_error(ends: tuple[int, int]) -> None:
    theirs, ours = ends
    output = Output(ours)
    os.close(theirs)
    for size in (10, 100_000):
        with pytest.raises(BrokenPipeError), anyio.fail_after(60):
            await output.write(b"x" * size)
    output.close()


async def test_a_file_takes_lines_too(tmp_path: Path) -> None:
    with (tmp_path / "answers").open("wb") as stream:
        output = Output(stream.fileno())
        await output.write(b"one\n")
        await output.write(b"two\n")
        output.close()
    assert (tmp_path / "answers").read_bytes() == b"one\ntwo\n"
