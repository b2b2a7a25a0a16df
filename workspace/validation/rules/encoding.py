"""Bytes that programs interpret differently: invalid UTF-8, and NUL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.validation.rule import Rule, Severity, Spot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.validation.rule import Subject

_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def _find(subject: Subject) -> Iterator[Spot]:
    data = subject.data
    if data.startswith(_UTF_16):
        yield Spot(0, 2, "the file is UTF-16, and is read as UTF-8", "Save it as UTF-8.")
        return
    try:
        data.decode()
    except UnicodeDecodeError as error:
        yield Spot(error.start, error.end, "the bytes here are not UTF-8", "Save the file as UTF-8.")
    nul = data.find(b"\0")
    if nul >= 0:
        yield Spot(nul, nul + 1, "a NUL byte, which CommonMark replaces by U+FFFD", "Take it out.")


RULE = Rule("encoding", Severity.ERROR, "The bytes are not UTF-8, or one is NUL.", _find)
