"""What each writer asked for and was answered, and which marks must therefore be in the documents.

Every operation carries a mark of its own in its text, such as `«w3n17»`. A ledger is a file of JSON lines:
one before each call, one after its answer; so it is whole even if its writer is killed.
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
    """One call, whole, so that it can be repeated; and the marks that it adds, takes away and ticks."""

    tool: str
    items: Sequence[Mapping[str, str]]
    adds: Sequence[str] = ()
    removes: Sequence[str] = ()
    ticks: Sequence[str] = ()
    base: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that is made, with its number in this ledger and its key."""

    number: int
    key: str
    call: Call


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to a call: its commit, the refusals before it, the seconds of the call that succeeded."""

    number: int
    commit: str
    refusals: Sequence[str]
    seconds: float


class Ledger:
    """The file of one writer."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def ask(self, asked: Asked) -> None:
        """Note a call before it is made."""
        self._append({"asked": asdict(asked)})

    def answer(self, answered: Answered) -> None:
        """Note the answer."""
        self._append({"answered": asdict(answered)})

    def fail(self, story: str) -> None:
        """Note what must never happen: an answer that is neither a success nor a refusal to try again."""
        self._append({"failed": story})

    def read(self) -> Record:
        """All that the file holds."""
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
    """What one writer's ledger says."""

    asked: dict[int, Asked] = field(default_factory=dict)
    answered: dict[int, Answered] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)

    def add(self, entry: dict[str, Any]) -> None:
        """Take in one line."""
        if "asked" in entry:
            asked = Asked(**{**entry["asked"], "call": Call(**entry["asked"]["call"])})
            self.asked[asked.number] = asked
        elif "answered" in entry:
            answered = Answered(**entry["answered"])
            self.answered[answered.number] = answered
        else:
            self.failed.append(entry["failed"])

    @property
    def unanswered(self) -> list[Asked]:
        """The calls whose outcome the writer never learnt."""
        return [asked for number, asked in self.asked.items() if number not in self.answered]


@dataclass(frozen=True, slots=True)
class Expected:
    """The marks that must be there once, those that may be, and the tasks that are ticked."""

    once: frozenset[str]
    perhaps: frozenset[str]
    ticked: frozenset[str]

    @classmethod
    def of(cls, records: Iterable[Record]) -> Expected:
        """What the ledgers of all writers ask of the documents."""
        once: set[str] = set()
        perhaps: set[str] = set()
        ticked: set[str] = set()
        for record in records:
            for number, asked in sorted(record.asked.items()):
                if number in record.answered:
                    once.update(asked.call.adds)
                    once.difference_update(asked.call.removes)
                    ticked.update(asked.call.ticks)
                else:
                    perhaps.update(asked.call.adds)
                    perhaps.update(asked.call.removes)
                    once.difference_update(asked.call.removes)
        return cls(frozenset(once), frozenset(perhaps), frozenset(ticked))

    def compare(self, texts: Iterable[str]) -> Verdict:
        """Hold the texts of all documents against this."""
        found: Counter[str] = Counter()
        ticks: set[str] = set()
        for text in texts:
            found.update(MARK.findall(text))
            for line in text.splitlines():
                if line.startswith("- [x] "):
                    ticks.update(MARK.findall(line))
        known = self.once | self.perhaps
        return Verdict(
            lost=sorted(self.once - found.keys()),
            doubled=sorted(mark for mark, times in found.items() if times > 1),
            returned=sorted(found.keys() - known),
            unticked=sorted((self.ticked & self.once) - ticks),
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """Marks that are missing, are there twice, or were removed and are back; and ticks that are gone."""

    lost: list[str]
    doubled: list[str]
    returned: list[str]
    unticked: list[str]

    @property
    def is_clean(self) -> bool:
        """Whether all is as it must be."""
        return not (self.lost or self.doubled or self.returned or self.unticked)
