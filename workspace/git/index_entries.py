"""Entries of Git's index as bytes (gitformat-index, "Index entry"), and the checksum behind them."""

from __future__ import annotations

from hashlib import sha1

FIXED = 62
"""Bytes of an entry before its name, and before the two of what is `EXTENDED`."""

CHECKSUM = 20
"""Bytes of the checksum."""

LONG = 0xFFF
"""The length that flags have for names that are at least as long."""

EXTENDED = 0x4000
"""The flag that two more bytes of flags follow."""


def fixed_part(new: tuple[str, int], name: bytes, extended: int) -> bytes:
    """The bytes before the name; zeros for what stat(2) says of the file have Git look at it again."""
    id, mode = new
    flags = min(len(name), LONG) | extended
    return bytes(24) + mode.to_bytes(4, "big") + bytes(12) + bytes.fromhex(id) + flags.to_bytes(2, "big")


def padded(entry: bytes) -> bytes:
    """An entry of version 2 or 3, which ends with one to eight zeros."""
    return entry + bytes(8 - len(entry) % 8)


def compressed(name: bytes, previous: bytes) -> bytes:
    """A name as version 4 has it: how much of the one before goes, and what follows instead."""
    pairs = zip(name, previous, strict=False)
    shared = next((at for at, (one, two) in enumerate(pairs) if one != two), min(len(name), len(previous)))
    value = len(previous) - shared
    digits = [value & 127]
    while value := value >> 7:
        value -= 1
        digits.append(128 | value & 127)
    return bytes(reversed(digits)) + name[shared:] + b"\0"


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """A number as in packs' offsets (gitformat-pack), and where what follows begins."""
    byte = data[position]
    value = byte & 127
    while byte & 128:
        position += 1
        byte = data[position]
        value = (value + 1 << 7) + (byte & 127)
    return value, position + 1


def flags_of(fixed: bytes | bytearray) -> int:
    """The flags in the fixed part of an entry."""
    return fixed[60] << 8 | fixed[61]


def checksum(data: bytes) -> bytes:
    """The checksum of what stands before it."""
    return sha1(data, usedforsecurity=False).digest()


def signed(*parts: bytes | memoryview) -> bytes:
    """An index of these parts, with its checksum."""
    digest = sha1(usedforsecurity=False)
    for part in parts:
        digest.update(part)
    return b"".join((*parts, digest.digest()))
