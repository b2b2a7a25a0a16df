"""The calls and responses of each writer, and the marks that the documents must then contain.

The text of every operation contains a unique mark, such as `«w3n17»`. A ledger is a file of JSON lines. A
writer adds one line before each call and one after its response, so a killed writer leaves a complete ledger.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

MARK = re.compile(r"«(w\d+n\d+)»")


@dataclass(frozen=True, slots=True)
class Call:
    """A call that can be repeated, the marks that the call adds and removes, and those of completed tasks."""

    operation_name: str
    items: Sequence[Mapping[str, str]]
    added_marks: Sequence[str] = ()
    removed_marks: Sequence[str] = ()
    completed_marks: Sequence[str] = ()
    base: str | None = None


@dataclass(frozen=True, slots=True)
class LedgerCall:
    """A call of a ledger, with its number in this ledger and its idempotency key."""

    number: int
    key: str
    call: Call


@dataclass(frozen=True, slots=True)
class Answer:
    """The response to a call: its commit, earlier refusals, and the seconds of the successful call."""

    number: int
    commit: str
    refusals: Sequence[str]
    seconds: float


class Ledger:
    """The file in which a writer records its calls."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add_call(self, call: LedgerCall) -> None:
        """Record a call before it is sent."""
        self._append({"call": asdict(call)})

    def add_answer(self, answer: Answer) -> None:
        """Record a response."""
        self._append({"answer": asdict(answer)})

    def add_failure(self, error: str) -> None:
        """Record the text of the error that stopped the writer."""
        self._append({"failure": error})

    def read(self) -> LedgerRecord:
        """Return all entries of the file."""
        record = LedgerRecord()
        for line in self.path.read_text().splitlines() if self.path.exists() else ():
            record.add(json.loads(line))
        return record

    def _append(self, entry: dict[str, object]) -> None:
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            os.write(handle, json.dumps(entry).encode() + b"\n")
        finally:
            os.close(handle)


@dataclass(slots=True)
class LedgerRecord:
    """The parsed ledger of one writer."""

    calls: dict[int, LedgerCall] = field(default_factory=dict)
    answers: dict[int, Answer] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def add(self, entry: dict[str, Any]) -> None:
        """Add one entry."""
        if "call" in entry:
            call = LedgerCall(**{**entry["call"], "call": Call(**entry["call"]["call"])})
            self.calls[call.number] = call
        elif "answer" in entry:
            answer = Answer(**entry["answer"])
            self.answers[answer.number] = answer
        else:
            self.failures.append(entry["failure"])

    @property
    def unanswered_calls(self) -> list[LedgerCall]:
        """Return the calls without a recorded response."""
        return [call for number, call in self.calls.items() if number not in self.answers]


@dataclass(frozen=True, slots=True)
class ExpectedMarks:
    """The marks that must occur once, the marks that may occur, and the marks of completed tasks."""

    required_marks: frozenset[str]
    possible_marks: frozenset[str]
    completed_marks: frozenset[str]

    @classmethod
    def from_records(cls, records: Iterable[LedgerRecord]) -> ExpectedMarks:
        """Compute the expected marks from the ledgers of all writers."""
        required_marks: set[str] = set()
        possible_marks: set[str] = set()
        completed_marks: set[str] = set()
        for record in records:
            for number, ledger_call in sorted(record.calls.items()):
                call = ledger_call.call
                if number in record.answers:
                    required_marks.update(call.added_marks)
                    required_marks.difference_update(call.removed_marks)
                    completed_marks.update(call.completed_marks)
                else:
                    possible_marks.update(call.added_marks)
                    possible_marks.update(call.removed_marks)
                    required_marks.difference_update(call.removed_marks)
        return cls(frozenset(required_marks), frozenset(possible_marks), frozenset(completed_marks))

    def compare(self, texts: Iterable[str]) -> MarkProblems:
        """Compare the texts of all documents with the expected marks, and return the problems."""
        mark_counts: Counter[str] = Counter()
        completed_marks_in_documents: set[str] = set()
        for text in texts:
            mark_counts.update(MARK.findall(text))
            for line in text.splitlines():
                if line.startswith("- [x] "):
                    completed_marks_in_documents.update(MARK.findall(line))
        return MarkProblems(
            lost_marks=sorted(self.required_marks - mark_counts.keys()),
            duplicate_marks=sorted(mark for mark, count in mark_counts.items() if count > 1),
            restored_marks=sorted(mark_counts.keys() - self.required_marks - self.possible_marks),
            uncompleted_marks=sorted(
                (self.completed_marks & self.required_marks) - completed_marks_in_documents
            ),
        )


@dataclass(frozen=True, slots=True)
class MarkProblems:
    """The problems of the documents; a restored mark is in a document although a call removed the mark."""

    lost_marks: list[str]
    duplicate_marks: list[str]
    restored_marks: list[str]
    uncompleted_marks: list[str]

    @property
    def is_clean(self) -> bool:
        """Return True if there is no problem."""
        return not (self.lost_marks or self.duplicate_marks or self.restored_marks or self.uncompleted_marks)
