"""Git's commits and trees as values, and their encoding (git-scm "Git Internals", 10.2)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

TREE_MODE = 0o040000
FILE_MODE = 0o100644
EXECUTABLE_MODE = 0o100755
LINK_MODE = 0o120000
SUBMODULE_MODE = 0o160000

_MODES = {
    b"40000": TREE_MODE,
    b"100644": FILE_MODE,
    b"100755": EXECUTABLE_MODE,
    b"120000": LINK_MODE,
    b"160000": SUBMODULE_MODE,
}
_TREE_ENTRY = re.compile(rb"([0-7]+) ([^\0]+)\0(.{20})", re.DOTALL)
_SIGNATURE = re.compile(r"(.*?) ?<([^>]*)>(?: (-?\d+) ([-+])(\d\d)(\d\d))?.*")
_UNSAFE_IN_NAMES = re.compile(r"[\x00-\x20\x7f<>]+")


class TreeEntry(NamedTuple):
    """An entry of a tree: a name, the 40-digit id of an object, and a mode such as 0o100644.

    A tuple, not a dataclass: each file of a workspace has an entry, and tuples are three times faster.
    """

    name: str
    id: str
    mode: int

    @property
    def is_tree(self) -> bool:
        return self.mode == TREE_MODE

    @property
    def is_blob(self) -> bool:
        """Return True for a regular file, executable or not; False for links and submodules."""
        return self.mode & 0o170000 == 0o100000


class Head(NamedTuple):
    """The checked-out branch (None when detached) and commit (None when unborn) of a work tree."""

    branch: str | None
    commit: str | None


@dataclass(frozen=True, slots=True)
class Signature:
    """An author or committer: `time` is in seconds since 1970 UTC, `utc_offset_minutes` is positive east."""

    name: str
    email: str
    time: int
    utc_offset_minutes: int = 0

    def format_line(self) -> str:
        """Return the form in commits and reflogs, `Name <email> 1700000000 +0100`, cleaned as in Git."""
        offset = self.utc_offset_minutes
        zone = f"{'-' if offset < 0 else '+'}{abs(offset) // 60:02}{abs(offset) % 60:02}"
        return f"{_clean_text(self.name) or 'unknown'} <{_clean_text(self.email)}> {max(self.time, 0)} {zone}"


@dataclass(frozen=True, slots=True)
class Commit:
    """A parsed commit. Texts that cannot be decoded contain replacement characters."""

    id: str
    tree: str
    parents: tuple[str, ...]
    author: Signature
    committer: Signature
    message: str


def parse_tree(data: bytes) -> tuple[TreeEntry, ...]:
    """Return the entries of a tree object in order; names that are not UTF-8 contain surrogate escapes."""
    return tuple(
        TreeEntry(name.decode("utf-8", "surrogateescape"), id_bytes.hex(), _MODES.get(mode) or int(mode, 8))
        for mode, name, id_bytes in _TREE_ENTRY.findall(data)
    )


def encode_tree(entries: Iterable[TreeEntry]) -> bytes:
    """Return a tree object's bytes, sorted by Git's rule: a folder sorts as if it ended with a slash."""
    rows = []
    for name, id, mode in entries:
        name_bytes = name.encode("utf-8", "surrogateescape")
        rows.append(
            (
                name_bytes + b"/" if mode == TREE_MODE else name_bytes,
                b"%o %b\0" % (mode, name_bytes) + bytes.fromhex(id),
            )
        )
    return b"".join(entry for _, entry in sorted(rows))


def parse_commit(id: str, data: bytes) -> Commit:
    """Return a parsed commit object; fields that are missing in a malformed commit are empty."""
    header, _, message = data.partition(b"\n\n")
    fields: dict[bytes, list[bytes]] = {}
    for line in header.split(b"\n"):
        name, _, value = line.partition(b" ")
        fields.setdefault(name, []).append(value)
    encoding = _find_last(fields, b"encoding").decode("ascii", "replace") or "utf-8"
    try:
        "".encode(encoding)
    except LookupError:
        encoding = "utf-8"
    return Commit(
        id,
        _find_last(fields, b"tree").decode("ascii"),
        tuple(parent.decode("ascii") for parent in fields.get(b"parent", ())),
        _parse_signature(_find_last(fields, b"author").decode(encoding, "replace")),
        _parse_signature(_find_last(fields, b"committer").decode(encoding, "replace")),
        message.decode(encoding, "replace"),
    )


def hash_object(kind: str, data: bytes) -> str:
    """Return the id that an object of these bytes has; `kind` is "blob", "tree" or "commit"."""
    header = b"%s %d\0" % (kind.encode(), len(data))
    return hashlib.sha1(header + data, usedforsecurity=False).hexdigest()


def hash_blob(data: bytes) -> str:
    """Return the id that a blob of these bytes has."""
    return hash_object("blob", data)


def encode_commit(
    tree: str, parents: Iterable[str], author: Signature, committer: Signature, message: str
) -> bytes:
    """Return a commit object's bytes; the message loses NULs and ends with one line break."""
    lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
    lines += [f"author {author.format_line()}", f"committer {committer.format_line()}"]
    text = message.replace("\0", "").strip("\n")
    return ("\n".join(lines) + f"\n\n{text}\n").encode("utf-8", "replace")


def _find_last(fields: dict[bytes, list[bytes]], name: bytes) -> bytes:
    return fields.get(name, [b""])[-1]


def _parse_signature(line: str) -> Signature:
    match = _SIGNATURE.fullmatch(line)
    if match is None:
        return Signature(line, "", 0)
    name, email, time, sign, hours, minutes = match.groups(default="0")
    offset = int(hours) * 60 + int(minutes)
    return Signature(name, email, int(time), -offset if sign == "-" else offset)


def _clean_text(text: str) -> str:
    return _UNSAFE_IN_NAMES.sub(" ", text).strip(" .,:;\"'")
