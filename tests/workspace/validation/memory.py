"""Validators of files in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workspace.validation.files import FileSet
from workspace.validation.rule import Finding
from workspace.validation.run import RuleSelection, Validator


@dataclass(frozen=True)
class MemoryReader:
    """A reader of files whose bytes are in memory."""

    data_by_path: Mapping[str, bytes]

    def get_size(self, path: str) -> int:
        return len(self.data_by_path[path])

    def read(self, path: str) -> bytes:
        return self.data_by_path[path]


def build_file_set(texts: Mapping[str, str | bytes]) -> FileSet:
    """Return a file set with these texts."""
    data_by_path = {path: text.encode() if isinstance(text, str) else text for path, text in texts.items()}
    return FileSet(frozenset(data_by_path), frozenset(), MemoryReader(data_by_path))


def build_validator(texts: Mapping[str, str | bytes], *rules: str) -> Validator:
    """Return a validator of files with these texts, with `rules` or with all enabled rules."""
    files = build_file_set(texts)
    selection = RuleSelection(files.config.validation, frozenset(rules) if rules else None)
    return Validator(files, selection).with_identifier_problems()


def check_texts(texts: Mapping[str, str | bytes], *rules: str) -> list[Finding]:
    """Return the findings in all documents of files with these texts."""
    validator = build_validator(texts, *rules)
    return validator.add_suggestions(validator.check(validator.files.documents))
