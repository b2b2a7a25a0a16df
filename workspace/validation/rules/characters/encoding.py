"""Bytes that programs interpret differently: invalid UTF-8, and NUL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.validation.rule import ByteFinding, Rule, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.validation.rule import RuleContext

_UTF_16_BOMS = (b"\xff\xfe", b"\xfe\xff")


def _find_problems(context: RuleContext) -> Iterator[ByteFinding]:
    data = context.data
    if data.startswith(_UTF_16_BOMS):
        yield ByteFinding(0, 2, "the file is UTF-16, and is read as UTF-8", "Save the file as UTF-8.")
        return
    try:
        data.decode()
    except UnicodeDecodeError as error:
        yield ByteFinding(error.start, error.end, "the bytes here are not UTF-8", "Save the file as UTF-8.")
    nul_offset = data.find(b"\0")
    if nul_offset >= 0:
        yield ByteFinding(
            nul_offset,
            nul_offset + 1,
            "a NUL byte, which CommonMark replaces by U+FFFD",
            "Remove the NUL byte.",
        )


RULE = Rule("encoding", Severity.ERROR, "The bytes are not UTF-8, or one is NUL.", _find_problems)
