"""Check that moves and renames preserve every link, over a folder of real Markdown.

    python -m benchmarks.checks.moves FOLDER [--moves 500] [--seed 1]

Every section of the folder gets a unique line as a mark; documents whose headings a mark would change are
omitted. Then sections are moved and renamed, and documents are moved, at random and each in its own commit.
Finally all moves are reverted in reverse order. The checks parse all documents again:

links           after the moves, each link has the same target file and section as before
bytes           after the moves, the text below each heading is as before, except destinations of links, line
                endings, and white space at both ends
links reverted  after the reverts, each link has the same target file and section as before
inverse         every revert is possible; then every document has its old path and bytes, except destinations
                of links and anchors of headings

Prints the counts of moves and checks and the first problems; the exit code is 1 if there is a problem.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from benchmarks.checks.check_report import CheckReport
from benchmarks.checks.marked_sections import (
    add_marks,
    find_mark,
    map_links_to_targets,
    map_marks_to_texts,
    normalize_documents,
)
from benchmarks.corpus import BRANCH, Corpus, make_repository
from docyard.terminal.console import show_progress
from workspace.document.document import Document
from workspace.document.sections import Section
from workspace.edits.content import check_title
from workspace.edits.documents import MoveDocument
from workspace.edits.operation import Operation
from workspace.edits.sections import MoveSection, RenameSection
from workspace.errors import WorkspaceError
from workspace.markdown.inline import to_plain_text
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode

CONTEXT_BYTES = 20


class Move(NamedTuple):
    """A committed operation, and a function that returns its inverse.

    Before the function is called, all later operations must be reverted.
    """

    operation: Operation
    make_inverse: Callable[[], Operation]


class RandomMover:
    """A generator of random moves and renames. It commits each of them, and returns each with its inverse."""

    def __init__(self, workspace: Workspace, rng: random.Random) -> None:
        self.workspace = workspace
        self.rng = rng
        self.original_paths = {path: path for path in workspace.snapshot().documents}
        self.last_error: WorkspaceError | None = None

    def commit_random_moves(self) -> Iterator[Move]:
        """Commit random moves endlessly, and yield each. A refused move is replaced by another one."""
        number = 0
        while True:
            number += 1
            move = self.rng.choice(
                (
                    self._commit_rename,
                    self._commit_move_within_document,
                    self._commit_move_between_documents,
                    self._commit_document_move,
                )
            )(number)
            if move is not None:
                yield move

    def write(self, operation: Operation) -> Mapping[str, Any] | None:
        """Commit an operation and return its result; None if the operation was refused or had no effect."""
        result = self.workspace.write(
            (operation,), mode=BatchMode.ALL, tool="check_moves", client="check_moves"
        )
        outcome, self.last_error = result.steps[0].outcome, result.steps[0].error
        if outcome is None or not result.is_committed:
            return None
        if isinstance(operation, MoveDocument):
            self.original_paths[operation.new_path] = self.original_paths.pop(operation.file)
        return outcome.result

    def _draw_section(self) -> tuple[str, Document, Section] | None:
        snapshot = self.workspace.snapshot()
        path = self.rng.choice(list(snapshot.documents))
        document = snapshot.document(path)
        sections = [item for item in document.sections if not item.is_preamble and item.key == item.address]
        return (path, document, self.rng.choice(sections)) if sections else None

    def _commit_rename(self, number: int) -> Move | None:
        section_choice = self._draw_section()
        if section_choice is None:
            return None
        path, document, section = section_choice
        title = section.heading.text.title if section.heading else ""
        try:
            if check_title(title) != title or to_plain_text(title) != section.title:
                return None
        except WorkspaceError:
            return None
        operation = RenameSection(file=path, slug=section.address, new_title=f"Another title {number}")
        if self.write(operation) is None:
            return None
        mark = find_mark(document, section)
        return Move(
            operation, lambda: RenameSection(file=path, slug=self._find_address(path, mark), new_title=title)
        )

    def _commit_move_within_document(self, number: int) -> Move | None:
        section_choice = self._draw_section()
        return self._commit_section_move(*section_choice, section_choice[0]) if section_choice else None

    def _commit_move_between_documents(self, number: int) -> Move | None:
        section_choice, other = self._draw_section(), self._draw_section()
        return self._commit_section_move(*section_choice, other[0]) if section_choice and other else None

    def _commit_section_move(
        self, path: str, document: Document, section: Section, target_path: str
    ) -> Move | None:
        target = self.workspace.snapshot().document(target_path)
        parents = [None, *(item for item in target.sections if not item.is_preamble)]
        parent = self.rng.choice(parents)
        old_parent = document.sections[section.parent] if section.parent is not None else None
        siblings = document.children(old_parent)
        if section.level != (old_parent.level if old_parent else 1) + 1:
            return None  # the inverse gives a section the level below that of the parent
        position = siblings.index(section)
        next_sibling = siblings[position + 1] if position + 1 < len(siblings) else None
        marks = [find_mark(document, item) if item else None for item in (section, old_parent, next_sibling)]
        operation = MoveSection(
            file=path,
            slug=section.address,
            to_file=target_path if target_path != path else None,
            parent_slug=parent.address if parent else None,
        )
        if self.write(operation) is None:
            return None

        def make_inverse() -> Operation:
            return MoveSection(
                file=target_path,
                slug=self._find_address(target_path, marks[0]),
                to_file=path if target_path != path else None,
                parent_slug=self._find_address(path, marks[1]) if old_parent else None,
                before=self._find_address(path, marks[2]) if next_sibling else None,
            )

        return Move(operation, make_inverse)

    def _find_address(self, path: str, mark: int | None) -> str:
        """Return the present address of the section with a mark."""
        document = self.workspace.snapshot().document(path)
        return next(item.address for item in document.sections if find_mark(document, item) == mark)

    def _commit_document_move(self, number: int) -> Move | None:
        documents = list(self.workspace.snapshot().documents)
        path = self.rng.choice(documents)
        folder = PurePosixPath(self.rng.choice(documents)).parent
        new_path = (folder / f"moved ({number}){PurePosixPath(path).suffix}").as_posix()
        operation = MoveDocument(file=path, new_path=new_path)
        if self.write(operation) is None:
            return None
        return Move(operation, lambda: MoveDocument(file=new_path, new_path=path))


def compare_values(
    report: CheckReport, check: str, original: Mapping[Any, Any], present: Mapping[Any, Any]
) -> None:
    """Compare present values with the original values, key by key; ignore original values that are None."""
    for key, value in original.items():
        if value is None:
            continue
        present_value = present.get(key)
        report.add(
            check,
            None if present_value == value else f"{key}: {_describe_difference(value, present_value)}",
        )


def _describe_difference(original: object, present: object) -> str:
    """Describe two values, or two texts near their first difference."""
    if isinstance(original, bytes) and isinstance(present, bytes):
        offset = next(
            (
                index
                for index, (left, right) in enumerate(zip(original, present, strict=False))
                if left != right
            ),
            0,
        )
        start = max(0, offset - CONTEXT_BYTES)
        return f"{original[start : offset + 80]!r} became {present[start : offset + 80]!r}"
    return f"{original!r} became {present!r}"


def check_folder(root: Path, count: int, seed: int) -> CheckReport:
    """Make `count` moves over a folder, check, revert the moves, and check again."""
    report = CheckReport()
    with tempfile.TemporaryDirectory() as folder:
        repository = Path(folder) / "repository"
        make_repository(Corpus(add_marks(Corpus.read(root).documents)), repository)
        workspace = Workspace.open(repository, branch=BRANCH, durable=False)
        mover = RandomMover(workspace, random.Random(seed))
        snapshot = workspace.snapshot()
        original_links, original_texts, original_documents = (
            map_links_to_targets(snapshot, mover.original_paths),
            map_marks_to_texts(snapshot),
            normalize_documents(snapshot),
        )
        moves_made: list[Move] = []
        with show_progress("Moving") as report_progress:
            for move in mover.commit_random_moves():
                moves_made.append(move)
                report.counts[type(move.operation).__name__] += 1
                if report_progress:
                    report_progress(len(moves_made), count, "Moving")
                if len(moves_made) == count:
                    break
        tip = workspace.snapshot()
        compare_values(report, "links", original_links, map_links_to_targets(tip, mover.original_paths))
        compare_values(report, "bytes", original_texts, map_marks_to_texts(tip))
        for move in reversed(moves_made):
            inverse = move.make_inverse()
            if mover.write(inverse) is None:
                report.problems.append(f"inverse: {inverse} was refused: {mover.last_error}")
        tip = workspace.snapshot()
        compare_values(
            report, "links reverted", original_links, map_links_to_targets(tip, mover.original_paths)
        )
        compare_values(report, "inverse", original_documents, normalize_documents(tip))
    return report


def main() -> int:
    """Run from the command line; return 1 if a check failed."""
    parser = argparse.ArgumentParser(description="Check that moves and renames preserve every link.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--moves", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    return check_folder(options.folder, options.moves, options.seed).print_and_get_exit_code()


if __name__ == "__main__":
    sys.exit(main())
