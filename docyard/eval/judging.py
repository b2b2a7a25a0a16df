"""What a case expects, at one commit: the documents, and the sections where it names any."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from docyard.eval.cases import Case, Problem
from index.page import chunk_id
from workspace.document.addresses import resolve_section, split_address
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from workspace.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Expected:
    """Grades by document, for the list of pages; by chunk id, for the list of chunks, unless none is named.

    A document's grade is the best of those given to it and to its sections. What the commit does not have
    stays in the grades, as something that is not found, and is told in `unknown`.
    """

    pages: Mapping[str, int]
    chunks: Mapping[str, int]
    unknown: tuple[Problem, ...]


def expected(case: Case, snapshot: Snapshot) -> Expected:
    """Look up the addresses of a case; a section may be named by any name that it answers to."""
    pages: dict[str, int] = {}
    chunks: dict[str, int] = {}
    unknown = []
    for address, grade in case.expected.items():
        path, key = split_address(address, snapshot.documents)
        try:
            snapshot.blob(path)
            key = None if key is None else _key(snapshot, path, key)
        except WorkspaceError as error:
            unknown.append(Problem(case.file, case.line, error.message))
        pages[path] = max(grade, pages.get(path, grade))
        if key is not None:
            chunk = chunk_id(path, key)
            chunks[chunk] = max(grade, chunks.get(chunk, grade))
    return Expected(pages, chunks, tuple(unknown))


def _key(snapshot: Snapshot, path: str, fragment: str) -> str:
    document = snapshot.document(path)
    section = document.section_by_key(fragment)
    return (section or resolve_section(document, fragment)).key
