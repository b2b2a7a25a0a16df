"""Validation of files in memory, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workspace.validation.files import FileSet
from workspace.validation.rule import Finding
from workspace.validation.run import Selection, Validator


@dataclass(frozen=True)
class MemoryReader:
    """A reader of bytes in memory."""

    data: Mapping[str, bytes]

    def size(self, path: str) -> int:
        return len(self.data[path])

    def read(self, path: str) -> bytes:
        return self.data[path]


def files(held: Mapping[str, str | bytes]) -> FileSet:
    """Return a file set with these texts."""
    data = {path: text.encode() if isinstance(text, str) else text for path, text in held.items()}
    return FileSet(frozenset(data), frozenset(), MemoryReader(data))


def validator(held: Mapping[str, str | bytes], *only: str) -> Validator:
    """Return a validator of such files, with the rules enabled by their settings, or only some."""
    found = files(held)
    return Validator(found, Selection(found.config.validation, frozenset(only) if only else None))


def findings(held: Mapping[str, str | bytes], *only: str) -> list[Finding]:
    """Return the findings in all documents of such files."""
    made = validator(held, *only)
    return made.add_suggestions(made.check(made.files.documents))
