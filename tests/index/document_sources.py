"""Sources of documents for child processes; some sources fail."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from index.documents import IndexedDocument, UnreadableDocument
from tests.index.documents import make_document


@dataclass(frozen=True)
class NumberedSource:
    """A commit of `count` documents; every fifth is unreadable."""

    count: int
    commit: str | None = "c0ffee"

    def paths(self) -> tuple[str, ...]:
        return tuple(f"{number % 7}/{number:04}.md" for number in range(self.count))

    def read_documents(self, paths: Iterable[str]) -> Iterator[IndexedDocument | UnreadableDocument]:
        for path in paths:
            number = int(path[2:6])
            if number % 5 == 4:
                yield UnreadableDocument(path, f"{number:040x}")
            else:
                yield make_document(
                    path, f"# Page {number}\n\n## Section\n\nword{number % 3}\n", tags=[path[0]]
                )


@dataclass(frozen=True)
class FailingSource(NumberedSource):
    """A source that raises an error in a child, or sends the child a signal, while it is read."""

    signal: int = 0

    def read_documents(self, paths: Iterable[str]) -> Iterator[IndexedDocument | UnreadableDocument]:
        for number, document in enumerate(super().read_documents(paths)):
            if number == 3 and is_child():
                if self.signal:
                    os.kill(os.getpid(), self.signal)
                raise ValueError("this child cannot read")
            yield document


@dataclass(frozen=True)
class ParentFailingSource(NumberedSource):
    """A source that fails in the parent, and never ends in a child."""

    def read_documents(self, paths: Iterable[str]) -> Iterator[IndexedDocument | UnreadableDocument]:
        if not is_child():
            raise KeyError("lost")
        return yield_nothing_forever()


@dataclass(frozen=True)
class PrintingSource(NumberedSource):
    """A source that writes to standard output in a child."""

    def read_documents(self, paths: Iterable[str]) -> Iterator[IndexedDocument | UnreadableDocument]:
        if is_child():
            print("chatter", flush=True)
            os.write(1, b"chatter")
        return super().read_documents(paths)


@dataclass(frozen=True)
class EndlessSource(NumberedSource):
    """A source that never ends; each process creates a file in `folder` when it begins."""

    folder: Path = Path()

    def read_documents(self, paths: Iterable[str]) -> Iterator[IndexedDocument | UnreadableDocument]:
        (self.folder / ("child" if is_child() else "parent")).touch()
        return yield_nothing_forever()


def yield_nothing_forever() -> Iterator[IndexedDocument]:
    while True:
        time.sleep(0.01)
        yield from ()


def is_child() -> bool:
    return multiprocessing.parent_process() is not None
