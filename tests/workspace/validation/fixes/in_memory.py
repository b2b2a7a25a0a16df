"""Fix finders for files in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from workspace.config.config import WorkspaceConfig
from workspace.document.document import Document
from workspace.validation.files import FileSet
from workspace.validation.fixes.change import FixedDocument
from workspace.validation.fixes.fix import FixFinder, fix_document
from workspace.validation.run import RuleSelection


@dataclass(frozen=True)
class MemoryFiles:
    """The bytes of files by path (`workspace.validation.files.FileReader`)."""

    files: Mapping[str, bytes]

    def get_size(self, path: str) -> int:
        return len(self.files[path])

    def read(self, path: str) -> bytes:
        return self.files[path]


@dataclass(frozen=True)
class KnownMoves:
    """A fixed list of moves (`workspace.validation.fixes.broken_link.MoveLookup`)."""

    documents: Mapping[str, str] = field(default_factory=dict)
    sections: Mapping[tuple[str, str], tuple[str, str]] = field(default_factory=dict)

    def find_document(self, path: str) -> str | None:
        return self.documents.get(path)

    def find_section(self, path: str, fragment: str) -> tuple[str, str] | None:
        return self.sections.get((path, fragment))


def build_fix_finder(
    files: Mapping[str, bytes],
    *rules: str,
    moves: KnownMoves | None = None,
    settings: WorkspaceConfig | None = None,
) -> FixFinder:
    """Return a fix finder for files, with these rules, or with all enabled rules if none are given."""
    config = settings or WorkspaceConfig()
    file_set = FileSet(frozenset(files), frozenset(), MemoryFiles(files), config)
    selection = RuleSelection(config.validation, frozenset(rules) or None)
    return FixFinder(files=file_set, selection=selection, moves=moves or KnownMoves())


def fix_single_document(data: bytes, *rules: str, path: str = "doc.md") -> FixedDocument:
    """Return a document after its fixes; the workspace contains only this document."""
    return fix_document(Document.parse(data, path), build_fix_finder({path: data}, *rules))
