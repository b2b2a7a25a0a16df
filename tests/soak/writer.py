"""A writer process, which makes a number of operations and retries each until it is committed."""

from __future__ import annotations

import random
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.soak.clients import Refused, WriterClient, open_client
from tests.soak.ledger import Answer, Call, Ledger, Requested

SKELETON = (
    "# {title}\n\n## Tasks {{#tasks}}\n\n- [ ] Begin\n\n## Log {{#log}}\n\nThe log.\n\n"
    "## Parts {{#parts}}\n\nThe parts.\n\n## Notes {{#notes}}\n\nA person writes here.\n"
)
# Seconds of refusals after which a call fails.
RETRY_TIMEOUT_S = 90.0
_REST_PERIOD_S = 4.0


def shared_documents(count: int = 6) -> dict[str, str]:
    """Return the initial documents that all writers and the user share, by path."""
    return {f"shared/page-{number}.md": SKELETON.format(title=f"Page {number}") for number in range(count)}


@dataclass(frozen=True, slots=True)
class Job:
    """The job of a writer process. With a `home`, it writes through a server with this home."""

    repo: Path
    ledger: Path
    shared: tuple[str, ...]
    number: int
    operations: int
    seed: int
    durable: bool = False
    home: Path | None = None
    # The count of earlier killed writers with this number.
    life: int = 0
    # Seconds of every four in which all writers pause, because a push needs a time without commits.
    rest: float = 0.0
    # The time.time() after which no further call is made.
    until: float | None = None


class Writer:
    """Chooses the next call by a seeded random generator, and tracks the sections of this writer."""

    def __init__(self, job: Job, client: WriterClient) -> None:
        self._job = job
        self._client = client
        self._random = random.Random(f"{job.seed}-{job.number}-{job.life}")
        self._count = 0
        # Sections by document and address, and documents, with their marks; only this writer changes them.
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
        """Make all operations, one call after another.

        Calls without a response, of a killed writer of this ledger, are first retried with their keys.
        """
        before = ledger.read()
        self._count = sum(len(requested.call.items) for requested in before.requested.values())
        for requested in before.unanswered:
            ledger.add_answer(self._retry_until_committed(requested))
        number = len(before.requested)
        while self._count < self._job.operations and not self._is_over():
            if self._job.rest and time.time() % _REST_PERIOD_S > _REST_PERIOD_S - self._job.rest:
                time.sleep(self._job.rest)
            requested = self._next(number, self._job.operations - self._count)
            ledger.add_call(requested)
            ledger.add_answer(self._retry_until_committed(requested))
            number += 1
            self._count += len(requested.call.items)

    def _is_over(self) -> bool:
        return self._job.until is not None and time.time() >= self._job.until

    def _retry_until_committed(self, requested: Requested) -> Answer:
        refusals: list[str] = []
        until = time.monotonic() + RETRY_TIMEOUT_S
        while True:
            began = time.monotonic()
            try:
                call = requested.call
                commit = self._client.write(call.tool, call.items, base=call.base, key=requested.key)
            except Refused as refused:
                refusals.append(refused.code)
                if time.monotonic() > until:
                    raise
                time.sleep(self._random.uniform(0.005, 0.05))
            else:
                return Answer(requested.number, commit, refusals, time.monotonic() - began)

    def _next(self, number: int, remaining: int) -> Requested:
        key = f"soak-{self._job.seed}-{self._job.number}-{number}"
        while True:
            [choice] = self._random.choices([*self._choices], [*self._choices.values()])
            call = choice(remaining)
            if call is not None:
                return Requested(number, key, call)

    def _mark(self, ahead: int = 0) -> str:
        return f"w{self._job.number}n{self._count + ahead}"

    def _shared(self) -> str:
        return self._random.choice(self._job.shared)

    def _add_task(self, _remaining: int) -> Call:
        path, mark = self._shared(), self._mark()
        self._tasks.append((path, mark))
        fields = {"file": path, "slug": "tasks", "title": f"Do «{mark}» soon"}
        return Call("add_task", [fields], adds=[mark])

    def _append(self, _remaining: int) -> Call:
        mark = self._mark()
        fields = {"file": self._shared(), "slug": "log", "content": f"Entry «{mark}» of the log."}
        return Call("append_content", [fields], adds=[mark])

    def _add_section(self, _remaining: int) -> Call:
        path, mark = self._shared(), self._mark()
        self._sections[path, f"parts/part-{mark}"] = [mark]
        fields = {"file": path, "title": f"Part {mark}", "parent_slug": "parts", "content": f"Text «{mark}»."}
        return Call("add_section", [fields], adds=[mark])

    def _complete(self, _remaining: int) -> Call | None:
        if not self._tasks:
            return None
        path, task = self._tasks.pop(self._random.randrange(len(self._tasks)))
        text, commit = self._client.read(path, "tasks")
        titles = [line for line in text.splitlines() if line.startswith("- [")]
        [index] = [index for index, title in enumerate(titles) if f"«{task}»" in title]
        mark = self._mark()
        fields = {"file": path, "slug": f"tasks[{index}]", "note": f"Done «{mark}»"}
        return Call("complete_task", [fields], adds=[mark], ticks=[task], base=commit)

    def _update(self, _remaining: int) -> Call | None:
        if not self._sections:
            return None
        path, slug = self._random.choice([*self._sections])
        old, mark = self._sections[path, slug], self._mark()
        self._sections[path, slug] = [mark]
        _, commit = self._client.read(path, slug)
        fields = {"file": path, "slug": slug, "content": f"Better text «{mark}»."}
        return Call("update_content", [fields], adds=[mark], removes=old, base=commit)

    def _batch(self, remaining: int) -> Call | None:
        size = self._random.randint(2, 4)
        if size > remaining:
            return None
        path = self._shared()
        marks = [self._mark(ahead) for ahead in range(size)]
        self._tasks += [(path, mark) for mark in marks]
        items = [{"file": path, "slug": "tasks", "title": f"Do «{mark}» together"} for mark in marks]
        return Call("add_task", items, adds=marks)

    def _create(self, _remaining: int) -> Call:
        mark, folder = self._mark(), f"writer-{self._job.number}"
        self._pages[f"{folder}/page-{mark}.md"] = [mark]
        fields = {"title": f"Page {mark}", "content": f"Page «{mark}».", "folder": folder}
        return Call("create_document", [fields], adds=[mark])

    def _remove_section(self, _remaining: int) -> Call | None:
        if not self._sections:
            return None
        path, slug = self._random.choice([*self._sections])
        removes = self._sections.pop((path, slug))
        _, commit = self._client.read(path, slug)
        return Call("remove_section", [{"file": path, "slug": slug}], removes=removes, base=commit)

    def _remove_page(self, _remaining: int) -> Call | None:
        if not self._pages:
            return None
        path = self._random.choice([*self._pages])
        removes = self._pages.pop(path)
        _, commit = self._client.read(path, "_preamble")
        return Call("remove_document", [{"path": path}], removes=removes, base=commit)


def run(job: Job) -> None:
    """Run a writer's process, and record its failures in its ledger."""
    ledger = Ledger(job.ledger)
    try:
        with open_client(job.repo, home=job.home, durable=job.durable) as client:
            Writer(job, client).run(ledger)
    except BaseException:
        ledger.fail(traceback.format_exc())
        raise SystemExit(1) from None
