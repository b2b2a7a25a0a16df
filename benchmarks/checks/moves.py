"""Checks that moves and renames preserve every link, over a folder of real Markdown.

    python -m benchmarks.checks.moves FOLDER [--moves 500] [--seed 1]

Every section of the folder gets a unique line that identifies it. Then sections and documents are moved and
renamed at random, each in its own commit, and finally all moves are reverted in reverse order. The checks
read all documents again:

links       a link to a file and a place still has the same target
bytes       every section's text is unchanged, except destinations, the markers of its heading, and anchors
inverse     finally, every document has its old path and bytes, except anchors and destinations

Prints the count of each check and the first disagreements; the exit code is 1 if there are any.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from benchmarks.checks.census import add_marks, document_bytes, links, mark_of, texts
from benchmarks.checks.findings import CheckReport
from benchmarks.corpus import BRANCH, Corpus, make_repository
from docyard.terminal.console import show_progress
from workspace.document.document import Document
from workspace.document.sections import Section
from workspace.edits import MoveDocument, MoveSection, Operation, RenameSection
from workspace.edits.content import check_title
from workspace.errors import WorkspaceError
from workspace.markdown.inline import to_plain_text
from workspace.workspace import Workspace
from workspace.writing.plan import Mode

SHOWN = 20


class Move(NamedTuple):
    """An operation, and a function that returns its inverse once all later ones are reverted."""

    made: Operation
    inverse: Callable[[], Operation]


class Mover:
    """Draws moves and renames, writes them, and builds their inverses."""

    def __init__(self, workspace: Workspace, chance: random.Random) -> None:
        self.workspace = workspace
        self.chance = chance
        self.called = {path: path for path in workspace.snapshot().documents}
        self.refused: WorkspaceError | None = None

    def make(self) -> Iterator[Move]:
        """Yield moves that were written, endlessly; refused ones are drawn again."""
        number = 0
        while True:
            number += 1
            drawn = self.chance.choice((self._rename, self._within, self._between, self._document))(number)
            if drawn is not None:
                yield drawn

    def write(self, operation: Operation) -> Mapping[str, Any] | None:
        """Return the answer of an operation, or None if it was refused or changed nothing."""
        written = self.workspace.write((operation,), mode=Mode.ALL, tool="check_moves", client="check_moves")
        outcome, self.refused = written.steps[0].outcome, written.steps[0].error
        if outcome is None or not written.is_committed:
            return None
        if isinstance(operation, MoveDocument):
            self.called[operation.new_path] = self.called.pop(operation.file)
        return outcome.result

    def _drawn(self) -> tuple[str, Document, Section] | None:
        snapshot = self.workspace.snapshot()
        path = self.chance.choice(list(snapshot.documents))
        document = snapshot.document(path)
        sections = [item for item in document.sections if not item.is_preamble and item.key == item.address]
        return (path, document, self.chance.choice(sections)) if sections else None

    def _rename(self, number: int) -> Move | None:
        drawn = self._drawn()
        if drawn is None:
            return None
        path, document, section = drawn
        title = section.heading.text.title if section.heading else ""
        try:
            if check_title(title) != title or to_plain_text(title) != section.title:
                return None
        except WorkspaceError:
            return None
        made = RenameSection(file=path, slug=section.address, new_title=f"Another title {number}")
        if self.write(made) is None:
            return None
        mark = mark_of(document, section)
        return Move(made, lambda: RenameSection(file=path, slug=self._address(path, mark), new_title=title))

    def _within(self, number: int) -> Move | None:
        drawn = self._drawn()
        return self._moved(*drawn, drawn[0]) if drawn else None

    def _between(self, number: int) -> Move | None:
        drawn, other = self._drawn(), self._drawn()
        return self._moved(*drawn, other[0]) if drawn and other else None

    def _moved(self, path: str, document: Document, section: Section, to: str) -> Move | None:
        target = self.workspace.snapshot().document(to)
        parents = [None, *(item for item in target.sections if not item.is_preamble)]
        parent = self.chance.choice(parents)
        above = document.sections[section.parent] if section.parent is not None else None
        siblings = document.children(above)
        if section.level != (above.level if above else 1) + 1:
            return None  # its level differs from that of its place, and would not be restored
        place = siblings.index(section)
        following = siblings[place + 1] if place + 1 < len(siblings) else None
        marks = [mark_of(document, item) if item else None for item in (section, above, following)]
        made = MoveSection(
            file=path,
            slug=section.address,
            to_file=to if to != path else None,
            parent_slug=parent.address if parent else None,
        )
        if self.write(made) is None:
            return None

        def inverse() -> Operation:
            return MoveSection(
                file=to,
                slug=self._address(to, marks[0]),
                to_file=path if to != path else None,
                parent_slug=self._address(path, marks[1]) if above else None,
                before=self._address(path, marks[2]) if following else None,
            )

        return Move(made, inverse)

    def _address(self, path: str, mark: int | None) -> str:
        """Return the present address of the section with a mark."""
        document = self.workspace.snapshot().document(path)
        return next(item.address for item in document.sections if mark_of(document, item) == mark)

    def _document(self, number: int) -> Move | None:
        documents = list(self.workspace.snapshot().documents)
        path = self.chance.choice(documents)
        folder = PurePosixPath(self.chance.choice(documents)).parent
        new = (folder / f"moved ({number}){PurePosixPath(path).suffix}").as_posix()
        made = MoveDocument(file=path, new_path=new)
        if self.write(made) is None:
            return None
        return Move(made, lambda: MoveDocument(file=new, new_path=path))


def compare(report: CheckReport, check: str, first: Mapping[Any, Any], now: Mapping[Any, Any]) -> None:
    """Compare the present values with the first, key by key; ignore values broken at first."""
    for key, value in first.items():
        if value is None:
            continue
        found = now.get(key)
        report.add(check, None if found == value else f"{key}: {_difference(value, found)}")


def _difference(first: object, now: object) -> str:
    """Describe two values, or two texts from their first difference."""
    if isinstance(first, bytes) and isinstance(now, bytes):
        same = next((at for at, (one, other) in enumerate(zip(first, now, strict=False)) if one != other), 0)
        begin = max(0, same - SHOWN)
        return f"{first[begin : same + 80]!r} became {now[begin : same + 80]!r}"
    return f"{first!r} became {now!r}"


def check(root: Path, moves: int, seed: int) -> CheckReport:
    """Make `moves` moves over a folder, check, revert them, and check again."""
    report = CheckReport()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "repository"
        make_repository(Corpus(add_marks(Corpus.read(root).documents)), place)
        workspace = Workspace.open(place, branch=BRANCH, durable=False)
        mover = Mover(workspace, random.Random(seed))
        start = workspace.snapshot()
        first_links, first_texts, first_whole = (
            links(start, mover.called),
            texts(start),
            document_bytes(start),
        )
        made: list[Move] = []
        with show_progress("Moving") as show:
            for move in mover.make():
                made.append(move)
                report.tried[type(move.made).__name__] += 1
                if show:
                    show(len(made), moves, "Moving")
                if len(made) == moves:
                    break
        tip = workspace.snapshot()
        compare(report, "links", first_links, links(tip, mover.called))
        compare(report, "bytes", first_texts, texts(tip))
        for move in reversed(made):
            inverse = move.inverse()
            if mover.write(inverse) is None:
                report.wrong.append(f"inverse: {inverse} was refused: {mover.refused}")
        tip = workspace.snapshot()
        compare(report, "links reverted", first_links, links(tip, mover.called))
        compare(report, "inverse", first_whole, document_bytes(tip))
    return report


def main() -> int:
    """Run from the command line; return 1 if something disagreed."""
    parser = argparse.ArgumentParser(description="Check that moves and renames preserve every link.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--moves", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    return check(given.folder, given.moves, given.seed).show()


if __name__ == "__main__":
    sys.exit(main())
