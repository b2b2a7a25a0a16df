"""Functions that compile the fault shim `shim.c`, arm it in a process, and read its log."""

from __future__ import annotations

import ctypes
import enum
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("shim.c")


class Fault(enum.IntEnum):
    """The fault at the chosen call, in the order of `enum mode` in `shim.c`."""

    NONE = 0  # only count the calls
    KILL = 1  # kill the process before the call
    FAIL = 2  # refuse the call with an error number
    FULL = 3  # refuse each call from then on that needs disk space
    STOP = 4  # stop before the call until a byte arrives from the resume pipe
    SHORT = 5  # write half of the data, and then act as FULL


@dataclass(frozen=True, slots=True)
class Call:
    """A state-changing call; `size` is the size of the file before the call, or -1 without a file."""

    number: int
    name: str
    result: str
    inode: int
    size: int
    path: str
    second_path: str

    @property
    def was_executed(self) -> bool:
        """Return True if the system executed the call."""
        return self.result.isdigit()

    @property
    def needs_space(self) -> bool:
        """Return True if a full disk may refuse the call."""
        return self.name in {"write", "mkdir", "link", "symlink"} or (self.name == "open" and self.size < 0)

    def __str__(self) -> str:
        target = f" -> {self.second_path}" if self.second_path else ""
        return f"#{self.number} {self.name} {self.path}{target}: {self.result}"


def find_unavailable_reason() -> str | None:
    """Return the reason why the shim cannot be used on this system, or None."""
    if not sys.platform.startswith("linux"):
        return "the fault shim is loaded with LD_PRELOAD, which needs Linux"
    if shutil.which("cc") is None:
        return "the fault shim needs a C compiler (cc)"
    return None


def compile_shim(folder: Path) -> Path:
    """Compile the shim into a folder and return the library's path."""
    library = folder / "shim.so"
    command = [
        "cc",
        "-shared",
        "-fPIC",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-o",
        str(library),
        str(SOURCE),
    ]
    process = subprocess.run([*command, "-ldl"], capture_output=True, text=True, check=False)
    if process.returncode:
        raise AssertionError(f"the shim does not compile: {process.stderr}")
    return library


def arm(
    root: str, point: int, fault: Fault, error_number: int, log: int, stopped_pipe: int, resume_pipe: int
) -> None:
    """Start to count calls in this process. `log` and the two pipes are open file descriptors."""
    ctypes.CDLL(None).faults_arm(
        root.encode(), ctypes.c_long(point), int(fault), error_number, log, stopped_pipe, resume_pipe
    )


def disarm() -> int:
    """Stop counting, and return the number of calls."""
    function = ctypes.CDLL(None).faults_disarm
    function.restype = ctypes.c_long
    return int(function())


def read_log(path: Path) -> list[Call]:
    """Return the calls of a process, in order."""
    calls = []
    for line in path.read_text("utf-8", "surrogateescape").splitlines():
        number, name, result, inode, size, first_path, second_path = line.split("\t")
        calls.append(Call(int(number), name, result, int(inode), int(size), first_path, second_path))
    return calls


def find_synced_sizes(calls: Iterable[Call]) -> dict[int, int]:
    """Return the number of synced bytes of each inode that has unsynced bytes."""
    synced_sizes: dict[int, int] = {}
    for call in calls:
        if not call.was_executed:
            continue
        if call.name == "open" and call.size < 0:
            # A new file replaces an older file with the same inode.
            synced_sizes.pop(call.inode, None)
        elif call.name == "truncate":
            synced_sizes[call.inode] = 0
        elif call.name == "write":
            synced_sizes.setdefault(call.inode, max(call.size, 0))
        elif call.name == "fsync":
            synced_sizes.pop(call.inode, None)
    return synced_sizes


def lose_power(root: Path, calls: Sequence[Call]) -> list[Path]:
    """Truncate every file below a folder to its synced bytes, and return the truncated files."""
    synced_sizes = find_synced_sizes(calls)
    truncated_files = []
    for path in sorted(root.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        status = path.stat()
        synced_size = synced_sizes.get(status.st_ino)
        if synced_size is not None and synced_size < status.st_size:
            mode = status.st_mode & 0o7777
            path.chmod(0o600)
            with path.open("r+b") as stream:
                stream.truncate(synced_size)
            path.chmod(mode)
            truncated_files.append(path)
    return truncated_files
