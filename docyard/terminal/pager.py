"""A pager for output that is longer than the terminal, as Git uses one.

The output of a command is collected, and printed when the command ends: directly if it fits on the terminal,
else by a pager. What is written to standard error after the first output is a note on the output, so it
stays in its place. Progress bars are written earlier, and are not collected.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO

from docyard import environment
from docyard.environment import is_terminal


class _CollectedOutput(io.TextIOWrapper):
    """The output of a command that is printed later on a terminal, so that colours and widths are its own."""

    def __init__(self, encoding: str) -> None:
        self._bytes = io.BytesIO()
        super().__init__(
            self._bytes, encoding=encoding, errors="backslashreplace", newline="", write_through=True
        )

    def isatty(self) -> bool:
        return True

    @property
    def data(self) -> bytes:
        """Return the output so far."""
        return self._bytes.getvalue()


class _Notes(io.TextIOBase):
    """Standard error, whose text is collected with the output after the output has begun."""

    def __init__(self, output: _CollectedOutput, stream: TextIO) -> None:
        self._output = output
        self._stream = stream

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding

    def fileno(self) -> int:
        return self._stream.fileno()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        return (self._output if self._output.data else self._stream).write(text)

    def flush(self) -> None:
        self._stream.flush()


@contextmanager
def page_output(uses_pager: bool | None) -> Iterator[None]:
    """Collect the output of a command, and print it in a pager if it is longer than the terminal.

    `uses_pager` is True to use the pager for short output, too, and False to use none. Nothing is collected
    if standard output is not a terminal.
    """
    command = environment.find_pager()
    stdout, stderr = sys.stdout, sys.stderr
    if uses_pager is False or not command or not is_terminal(stdout):
        yield
        return
    output = _CollectedOutput(stdout.encoding)
    sys.stdout = output
    if is_terminal(stderr):
        sys.stderr = _Notes(output, stderr)
    is_interrupted = False
    try:
        yield
    except KeyboardInterrupt:
        is_interrupted = True
        raise
    finally:
        sys.stdout, sys.stderr = stdout, stderr
        _print_output(output.data, None if is_interrupted else command, always=uses_pager is True)


def _print_output(data: bytes, command: str | None, *, always: bool) -> None:
    if not data:
        return
    if command is not None and (always or not _fits_terminal(data.decode(errors="replace"))):
        if _run_pager(command, data):
            return
        print(f"note: the pager {command!r} cannot be started, so the output has no pager", file=sys.stderr)
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _fits_terminal(text: str) -> bool:
    """Return True if a text and the next prompt fit on the terminal."""
    import shutil

    import click
    from rich.cells import cell_len

    size = shutil.get_terminal_size()
    lines = click.unstyle(text).expandtabs().splitlines()
    if len(lines) >= size.lines:
        return False
    return sum(max(1, -(-cell_len(line) // size.columns)) for line in lines) < size.lines


def _run_pager(command: str, data: bytes) -> bool:
    """Print bytes in a pager. Return False if it cannot be started."""
    import shlex
    import signal
    import subprocess

    try:
        arguments = shlex.split(command)
        process = subprocess.Popen(arguments, stdin=subprocess.PIPE, env=_build_variables())
    except (OSError, ValueError, IndexError):  # ValueError: an open quote; IndexError: no word
        return False
    # Ctrl-C belongs to the pager: it ends a search in it, for example. A started pager keeps its own handler.
    previous_handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process.communicate(data)  # a pager may end before it has read everything
    finally:
        signal.signal(signal.SIGINT, previous_handler)
    return True


def _build_variables() -> Mapping[str, str]:
    """Return the variables of a pager: less shows colours, and quits if the output fits, as for Git."""
    return {"LESS": "FRX", "LV": "-c", **environment.copy_variables()}
