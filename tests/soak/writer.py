"""One writer: a process that asks for a number of operations, again and again until each was taken."""

from __future__ import annotations

import random
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.soak.doors import Door, Refused, open_door
from tests.soak.ledger import Answered, Asked, Call, Ledger

SKELETON = (
    "# {title}\n\n## Tasks {{#tasks}}\n\n- [ ] Begin\n\n## Log {{#log}}\n\nThe log.\n\n"
    "## Parts {{#parts}}\n\nThe parts.\n\n## Notes {{#notes}}\n\nA person writes here.\n"
)
# A call that was refused so many seconds has not been answered.
PATIENCE = 90.0
_TURN = 4.0


def shared_documents(count: int = 6) -> dict[str, str]:
    """The documents that all writers and the person share, by their paths, as they are at the beginning."""
    return {f"shared/page-{number}.md": SKELETON.format(title=f"Page {number}") for number in range(count)}


@dataclass(frozen=True, slots=True)
class Job:
    """What one writer process is to do. With a `home` it starts a server there and writes through it."""

    repo: Path
    ledger: Path
    shared: tuple[str, ...]
    number: int
    operations: int
    seed: int
    durable: bool = False
    home: Path | None = None
    # How many writers of this number were killed before.
    life: int = 0
    # Every four seconds, all writers rest for so many: a push needs a moment in which the branch stands.
    rest: float = 0.0
    # The time, as time.time() counts it, after which no further call is made.
    until: float | None = None


class Writer:
    """The choice of the next call, by a random generator of a known seed, and what this writer owns."""

    def __init__(self, job: Job, door: Door) -> None:
        self._job = job
        self._door = door
        self._random = random.Random(f"{job.seed}-{job.number}-{job.life}")
        self._count = 0
        # Sections by document and address, and documents, that only this writer changes: with their marks.
        self._sections: dict[tuple[str, str], list[str]] = {}
        self._pages: dict[str, list[str]] = {}
        self._tasks: list[tuple[str, str]] = []
        self._choices: dict[Callable[[int], Call | None], int] = {
            self._add_task: 24,
            self._append: 22,
            self._add_section: 14,
            self._complete: 12,
            self._update: 10,
            self._batch: 8,
            self._create: 6,
            self._remove_section: 2,
            self._remove_page: 2,
        }

    def run(self, ledger: Ledger) -> None:
        """Ask for all operations, one call after the other.

        What a writer of this ledger that was killed left in doubt is repeated first, with its key.
        """
        before = ledger.read()
        self._count = sum(len(asked.call.items) for asked in before.asked.values())
        for asked in before.unanswered:
            ledger.answer(self._until_taken(asked))
        number = len(before.asked)
        while self._count < self._job.operations and not self._is_over():
            if self._job.rest and time.time() % _TURN > _TURN - self._job.rest:
                time.sleep(self._job.rest)
            asked = self._next(number, self._job.operations - self._count)
            ledger.ask(asked)
            ledger.answer(self._until_taken(asked))
            number += 1
            self._count += len(asked.call.items)

    def _is_over(self) -> bool:
        return self._job.until is not None and time.time() >= self._job.until

    def _until_taken(self, asked: Asked) -> Answered:
        refusals: list[str] = []
        until = time.monotonic() + PATIENCE
        while True:
            began = time.monotonic()
            try:
                call = asked.call
                commit = self._door.write(call.tool, call.items, base=call.base, key=asked.key)
            except Refused as refused:
                refusals.append(refused.code)
                if time.monotonic() > until:
                    raise
                time.sleep(self._random.uniform(0.005, 0.05))
            else:
                return Answered(asked.number, commit, refusals, time.monotonic() - began)

    def _next(self, number: int, room: int) -> Asked:
        key = f"soak-{self._job.seed}-{self._job.number}-{number}"
        while True:
            [choice] = self._random.choices([*self._choices], [*self._choices.values()])
            call = choice(room)
            if call is not None:
                return Asked(number, key, call)

    def _mark(self, ahead: int = 0) -> str:
        return f"w{self._job.number}n{self._count + ahead}"

    def _shared(self) -> str:
        return self._random.choice(self._job.shared)

    def _add_task(self, _room: int) -> Call:
        path, mark = self._shared(), self._mark()
        self._tasks.append((path, mark))
        fields = {"file": path, "slug": "tasks", "title": f"Do «{mark}» soon"}
        return Call("add_task", [fields], adds=[mark])

    def _append(self, _room: int) -> Call:
        mark = self._mark()
        fields = {"file": self._shared(), "slug": "log", "content": f"Entry «{mark}» of the log."}
        return Call("append_content", [fields], adds=[mark])

    def _add_section(self, _room: int) -> Call:
        path, mark = self._shared(), self._mark()
        self._sections[path, f"parts/part-{mark}"] = [mark]
        fields = {"file": path, "title": f"Part {mark}", "parent_slug": "parts", "content": f"Text «{mark}»."}
        return Call("add_section", [fields], adds=[mark])

    def _complete(self, _room: int) -> Call | None:
        if not self._tasks:
            return None
        path, task = self._tasks.pop(self._random.randrange(len(self._tasks)))
        text, commit = self._door.read(path, "tasks")
        titles = [line for line in text.splitlines() if line.startswith("- [")]
        [index] = [index for index, title in enumerate(titles) if f"«{task}»" in title]
        mark = self._mark()
        fields = {"file": path, "slug": f"tasks[{index}]", "note": f"Done «{mark}»"}
        return Call("complete_task", [fields], adds=[mark], ticks=[task], base=commit)

    def _update(self, _room: int) -> Call | None:
        if not self._sections:
            return None
        path, slug = self._random.choice([*self._sections])
        old, mark = self._sections[path, slug], self._mark()
        self._sections[path, slug] = [mark]
        _, commit = self._door.read(path, slug)
        fields = {"file": path, "slug": slug, "content": f"Better text «{mark}»."}
        return Call("update_content", [fields], adds=[mark], removes=old, base=commit)

    def _batch(self, room: int) -> Call | None:
        size = self._random.randint(2, 4)
        if size > room:
            return None
        path = self._shared()
        marks = [self._mark(ahead) for ahead in range(size)]
        self._tasks += [(path, mark) for mark in marks]
        items = [{"file": path, "slug": "tasks", "title": f"Do «{mark}» together"} for mark in marks]
        return Call("add_task", items, adds=marks)

    def _create(self, _room: int) -> Call:
        mark, folder = self._mark(), f"writer-{self._job.number}"
        self._pages[f"{folder}/page-{mark}.md"] = [mark]
        fields = {"title": f"Page {mark}", "content": f"Page «{mark}».", "folder": folder}
        return Call("create_document", [fields], adds=[mark])

    def _remove_section(self, _room: int) -> Call | None:
        if not self._sections:
            return None
        path, slug = self._random.choice([*self._sections])
        removes = self._sections.pop((path, slug))
        _, commit = self._door.read(path, slug)
        return Call("remove_section", [{"file": path, "slug": slug}], removes=removes, base=commit)

    def _remove_page(self, _room: int) -> Call | None:
        if not self._pages:
            return None
        path = self._random.choice([*self._pages])
        removes = self._pages.pop(path)
        _, commit = self._door.read(path, "_preamble")
        return Call("remove_document", [{"path": path}], removes=removes, base=commit)


def run(job: Job) -> None:
    """The body of a writer's process. What must not happen is noted in its ledger."""
    ledger = Ledger(job.ledger)
    try:
        with open_door(job.repo, home=job.home, durable=job.durable) as door:
            Writer(job, door).run(ledger)
    except BaseException:
        ledger.fail(traceback.format_exc())
        raise SystemExit(1) from None
