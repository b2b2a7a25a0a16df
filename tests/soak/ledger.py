"""The calls and responses of each writer, and the marks that must be in the documents after them.

The text of every operation contains a unique mark, such as `«w3n17»`. A ledger is a file of JSON lines: one
before each call, one after its response. So it is complete even if its writer is killed.
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
    """A repeatable call, and the marks that it adds, removes and ticks."""

    tool: str
    items: Sequence[Mapping[str, str]]
    adds: Sequence[str] = ()
    removes: Sequence[str] = ()
    ticks: Sequence[str] = ()
    base: str | None = None


@dataclass(frozen=True, slots=True)
class Requested:
    """A requested call, with its number in this ledger and its key."""

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
    """The file of a writer."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add_call(self, requested: Requested) -> None:
        """Record a call before it is sent."""
        self._append({"requested": asdict(requested)})

    def add_answer(self, answered: Answer) -> None:
        """Record a response."""
        self._append({"answered": asdict(answered)})

    def fail(self, problem: str) -> None:
        """Record a failure: a response that is neither a success nor a refusal to retry."""
        self._append({"failed": problem})

    def read(self) -> Record:
        """Return all entries of the file."""
        record = Record()
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
class Record:
    """The parsed ledger of one writer."""

    requested: dict[int, Requested] = field(default_factory=dict)
    answered: dict[int, Answer] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)

    def add(self, entry: dict[str, Any]) -> None:
        """Add one entry."""
        if "requested" in entry:
            requested = Requested(**{**entry["requested"], "call": Call(**entry["requested"]["call"])})
            self.requested[requested.number] = requested
        elif "answered" in entry:
            answered = Answer(**entry["answered"])
            self.answered[answered.number] = answered
        else:
            self.failed.append(entry["failed"])

    @property
    def unanswered(self) -> list[Requested]:
        """Return the calls without a recorded answer."""
        return [requested for number, requested in self.requested.items() if number not in self.answered]


@dataclass(frozen=True, slots=True)
class Expected:
    """The marks that must occur once, those that may occur, and the ticked tasks."""

    once: frozenset[str]
    perhaps: frozenset[str]
    ticked: frozenset[str]

    @classmethod
    def of(cls, records: Iterable[Record]) -> Expected:
        """Compute the expected marks from the ledgers of all writers."""
        once: set[str] = set()
        perhaps: set[str] = set()
        ticked: set[str] = set()
        for record in records:
            for number, requested in sorted(record.requested.items()):
                if number in record.answered:
                    once.update(requested.call.adds)
                    once.difference_update(requested.call.removes)
                    ticked.update(requested.call.ticks)
                else:
                    perhaps.update(requested.call.adds)
                    perhaps.update(requested.call.removes)
                    once.difference_update(requested.call.removes)
        return cls(frozenset(once), frozenset(perhaps), frozenset(ticked))

    def compare(self, texts: Iterable[str]) -> Verdict:
        """Compare the texts of all documents with the expected marks."""
        counter: Counter[str] = Counter()
        ticks: set[str] = set()
        for text in texts:
            counter.update(MARK.findall(text))
            for line in text.splitlines():
                if line.startswith("- [x] "):
                    ticks.update(MARK.findall(line))
        known = self.once | self.perhaps
        return Verdict(
            lost=sorted(self.once - counter.keys()),
            doubled=sorted(mark for mark, times in counter.items() if times > 1),
            returned=sorted(counter.keys() - known),
            unticked=sorted((self.ticked & self.once) - ticks),
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """Missing marks, duplicate marks, removed marks that are present again, and missing ticks."""

    lost: list[str]
    doubled: list[str]
    returned: list[str]
    unticked: list[str]

    @property
    def is_clean(self) -> bool:
        """Return True if there is no problem."""
        return not (self.lost or self.doubled or self.returned or self.unticked)
