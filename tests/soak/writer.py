"""A writer process that runs a number of operations, and retries each operation until its commit."""

from __future__ import annotations

import random
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.soak.clients import WriterClient, WriteRefused, open_client
from tests.soak.ledger import Answer, Call, Ledger, LedgerCall

SKELETON = (
    "# {title}\n\n## Tasks {{#tasks}}\n\n- [ ] Begin\n\n## Log {{#log}}\n\nThe log.\n\n"
    "## Parts {{#parts}}\n\nThe parts.\n\n## Notes {{#notes}}\n\nA user writes here.\n"
)
RETRY_TIMEOUT_S = 90.0
_PAUSE_PERIOD_S = 4.0


def make_shared_documents(count: int = 6) -> dict[str, str]:
    """Return the initial documents, by path, that all writers and the user edit."""
    return {f"shared/page-{number}.md": SKELETON.format(title=f"Page {number}") for number in range(count)}


@dataclass(frozen=True, slots=True)
class Job:
    """The job of a writer process.

    With a `home`, the process writes through a server with this home; with `urls`, through these nodes.
    """

    repo: Path
    ledger: Path
    shared_paths: tuple[str, ...]
    number: int
    operation_count: int
    seed: int
    durable: bool = False
    home: Path | None = None
    # The number of restarts of the writer with this number after a kill.
    restart_count: int = 0
    # All writers pause this long in each period, because the user can push only while no writer commits.
    pause_s: float = 0.0
    # The writer makes no call after this time, in seconds since the epoch.
    end_time: float | None = None
    urls: tuple[str, ...] = ()


class Writer:
    """A writer that chooses its calls by a seeded random generator, and tracks its sections."""

    def __init__(self, job: Job, client: WriterClient) -> None:
        self._job = job
        self._client = client
        self._random = random.Random(f"{job.seed}-{job.number}-{job.restart_count}")
        self._count = 0
        # The marks of the sections and documents that only this writer changes.
        self._sections: dict[tuple[str, str], list[str]] = {}
        self._documents: dict[str, list[str]] = {}
        self._tasks: list[tuple[str, str]] = []
        self._weights_by_choice: dict[Callable[[int], Call | None], int] = {
            self._add_task: 24,
            self._append_content: 22,
            self._add_section: 14,
            self._complete_task: 12,
            self._update_section: 10,
            self._add_tasks: 8,
            self._create_document: 6,
            self._remove_section: 2,
            self._remove_document: 2,
        }

    def run(self, ledger: Ledger) -> None:
        """Run all operations, one call after another.

        First retry the unanswered calls of a killed writer with this ledger, with the same idempotency keys.
        """
        record = ledger.read()
        self._count = sum(len(ledger_call.call.items) for ledger_call in record.calls.values())
        for ledger_call in record.unanswered_calls:
            ledger.add_answer(self._retry_until_committed(ledger_call))
        number = len(record.calls)
        while self._count < self._job.operation_count and not self._has_ended():
            if self._job.pause_s and time.time() % _PAUSE_PERIOD_S > _PAUSE_PERIOD_S - self._job.pause_s:
                time.sleep(self._job.pause_s)
            ledger_call = self._choose_call(number, self._job.operation_count - self._count)
            ledger.add_call(ledger_call)
            ledger.add_answer(self._retry_until_committed(ledger_call))
            number += 1
            self._count += len(ledger_call.call.items)

    def _has_ended(self) -> bool:
        return self._job.end_time is not None and time.time() >= self._job.end_time

    def _retry_until_committed(self, ledger_call: LedgerCall) -> Answer:
        refusals: list[str] = []
        deadline = time.monotonic() + RETRY_TIMEOUT_S
        while True:
            start = time.monotonic()
            try:
                call = ledger_call.call
                commit = self._client.write(
                    call.operation_name, call.items, base=call.base, key=ledger_call.key
                )
            except WriteRefused as error:
                refusals.append(error.code)
                if time.monotonic() > deadline:
                    raise
                time.sleep(self._random.uniform(0.005, 0.05))
            else:
                return Answer(ledger_call.number, commit, refusals, time.monotonic() - start)

    def _choose_call(self, number: int, remaining: int) -> LedgerCall:
        key = f"soak-{self._job.seed}-{self._job.number}-{number}"
        while True:
            [choice] = self._random.choices([*self._weights_by_choice], [*self._weights_by_choice.values()])
            call = choice(remaining)
            if call is not None:
                return LedgerCall(number, key, call)

    def _make_mark(self, offset: int = 0) -> str:
        return f"w{self._job.number}n{self._count + offset}"

    def _choose_shared_path(self) -> str:
        return self._random.choice(self._job.shared_paths)

    def _add_task(self, _remaining: int) -> Call:
        path, mark = self._choose_shared_path(), self._make_mark()
        self._tasks.append((path, mark))
        fields = {"file": path, "slug": "tasks", "title": f"Do «{mark}» soon"}
        return Call("add_task", [fields], added_marks=[mark])

    def _append_content(self, _remaining: int) -> Call:
        mark = self._make_mark()
        fields = {"file": self._choose_shared_path(), "slug": "log", "content": f"Entry «{mark}» of the log."}
        return Call("append_content", [fields], added_marks=[mark])

    def _add_section(self, _remaining: int) -> Call:
        path, mark = self._choose_shared_path(), self._make_mark()
        self._sections[path, f"parts/part-{mark}"] = [mark]
        fields = {"file": path, "title": f"Part {mark}", "parent_slug": "parts", "content": f"Text «{mark}»."}
        return Call("add_section", [fields], added_marks=[mark])

    def _complete_task(self, _remaining: int) -> Call | None:
        if not self._tasks:
            return None
        path, task = self._tasks.pop(self._random.randrange(len(self._tasks)))
        text, commit = self._client.read(path, "tasks")
        titles = [line for line in text.splitlines() if line.startswith("- [")]
        [index] = [index for index, title in enumerate(titles) if f"«{task}»" in title]
        mark = self._make_mark()
        fields = {"file": path, "slug": f"tasks[{index}]", "note": f"Done «{mark}»"}
        return Call("complete_task", [fields], added_marks=[mark], completed_marks=[task], base=commit)

    def _update_section(self, _remaining: int) -> Call | None:
        if not self._sections:
            return None
        path, slug = self._random.choice([*self._sections])
        old_marks, mark = self._sections[path, slug], self._make_mark()
        self._sections[path, slug] = [mark]
        _, commit = self._client.read(path, slug)
        fields = {"file": path, "slug": slug, "content": f"Better text «{mark}»."}
        return Call("update_content", [fields], added_marks=[mark], removed_marks=old_marks, base=commit)

    def _add_tasks(self, remaining: int) -> Call | None:
        size = self._random.randint(2, 4)
        if size > remaining:
            return None
        path = self._choose_shared_path()
        marks = [self._make_mark(offset) for offset in range(size)]
        self._tasks += [(path, mark) for mark in marks]
        items = [{"file": path, "slug": "tasks", "title": f"Do «{mark}» together"} for mark in marks]
        return Call("add_task", items, added_marks=marks)

    def _create_document(self, _remaining: int) -> Call:
        mark, folder = self._make_mark(), f"writer-{self._job.number}"
        self._documents[f"{folder}/page-{mark}.md"] = [mark]
        fields = {"title": f"Page {mark}", "content": f"Page «{mark}».", "folder": folder}
        return Call("create_document", [fields], added_marks=[mark])

    def _remove_section(self, _remaining: int) -> Call | None:
        if not self._sections:
            return None
        path, slug = self._random.choice([*self._sections])
        removed_marks = self._sections.pop((path, slug))
        _, commit = self._client.read(path, slug)
        return Call(
            "remove_section", [{"file": path, "slug": slug}], removed_marks=removed_marks, base=commit
        )

    def _remove_document(self, _remaining: int) -> Call | None:
        if not self._documents:
            return None
        path = self._random.choice([*self._documents])
        removed_marks = self._documents.pop(path)
        _, commit = self._client.read(path, "_preamble")
        return Call("remove_document", [{"path": path}], removed_marks=removed_marks, base=commit)


def run_writer(job: Job) -> None:
    """Run a writer's process, and record its failures in its ledger."""
    ledger = Ledger(job.ledger)
    try:
        with open_client(
            job.repo, home=job.home, durable=job.durable, urls=job.urls, number=job.number
        ) as client:
            Writer(job, client).run(ledger)
    except BaseException:
        ledger.add_failure(traceback.format_exc())
        raise SystemExit(1) from None
