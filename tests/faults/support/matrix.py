"""A fault, injected at many points of the same batch, and the checks after each."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.faults.support.forkserver import Ended, ForkServer
from tests.faults.support.scene import Scene
from tests.faults.support.shim import Call, Fault
from tests.repositories import Repo

ReportLine = Callable[[str], None]
"""Adds a line to the final summary of a run."""

FAULTS = {
    "kill": (Fault.KILL, 0),
    "no space": (Fault.FAIL, errno.ENOSPC),
    "input/output error": (Fault.FAIL, errno.EIO),
    "full for good": (Fault.FULL, errno.ENOSPC),
    "full within a write": (Fault.SHORT, errno.ENOSPC),
}
KINDS = pytest.mark.parametrize("kind", ["checked-out", "bare"])


def steps(sample: int, slow: int = 1) -> pytest.MarkDecorator:
    """Parametrize `step`: every point in the slow tests, one of `sample` in the quick tests.

    With `slow` above 1, the slow tests run one of `slow` points, and the soak tests all points.
    """
    points = [pytest.param(sample, id="sample")]
    if slow > 1:
        points.append(pytest.param(slow, id="some", marks=pytest.mark.slow))
    points.append(pytest.param(1, id="every", marks=pytest.mark.soak if slow > 1 else pytest.mark.slow))
    return pytest.mark.parametrize("step", points)


class Matrix:
    """A repository and a fault, injected at many points of the same batch."""

    def __init__(
        self, server: ForkServer, scene: Scene, place: Path, fault: str, *, durable: bool = True
    ) -> None:
        self.server = server
        self.scene = scene
        self.place = place
        self.fault, self.error = FAULTS[fault]
        self.durable = durable
        self.failed_call: Call | None = None
        repo = scene.copy(place)
        whole = server.run("write", repo.path, durable=durable)
        assert whole.committed
        assert scene.check(repo)
        self.calls: Sequence[Call] = whole.calls
        """The calls of a batch without a fault; their numbers are the points."""

    def points(self, step: int) -> list[int]:
        """Return every `step`-th of the points that this fault can affect."""
        can_strike: dict[Fault, Callable[[Call], bool]] = {
            Fault.FULL: lambda call: call.needs_space,
            Fault.SHORT: lambda call: call.name == "write",
        }
        numbers = [call.number for call in self.calls if can_strike.get(self.fault, lambda call: True)(call)]
        if step == 1 and self.fault not in can_strike:
            # A few more points, because a commit id may need a further folder for its object.
            numbers += range(numbers[-1] + 1, numbers[-1] + 4)
        return sorted({*numbers[::step], numbers[-1]})

    def locked_points(self) -> list[int]:
        """Return the points from the first of Git's locks to the end."""
        first = next(call for call in self.calls if call.name == "link" and call.second.endswith(".lock"))
        return [call.number for call in self.calls if call.number >= first.number]

    def inject(self, point: int) -> tuple[Repo, Ended]:
        """Return a fresh repository after a fault at a point of the batch, and the end of the child."""
        repo = self.scene.copy(self.place)
        ended = self.server.run(
            "write", repo.path, point=point, fault=self.fault, error=self.error, durable=self.durable
        )
        self.failed_call = next((call for call in ended.calls if call.number == point), None)
        if self.failed_call is None:
            # A commit id may need a new folder for its object, so the last points may be past the end.
            assert point > len(self.calls) - 4
            assert ended.committed
        else:
            # For the same reason, fewer of the last calls may need space on a full disk.
            full = self.fault in (Fault.FULL, Fault.SHORT) and ended.committed
            assert ended.killed or full or refused(ended, self.error), "nothing was refused"
        return repo, ended

    def recover_and_retry(self, repo: Repo, ended: Ended, undone: Sequence[Call]) -> None:
        """Recover; check that the state agrees with the response, and that a retry gives one commit.

        A reflog or a removal of an empty folder that the system refused is not repeated.
        """
        logged = not any("/logs/" in call.path for call in undone)
        folders = not any(call.name == "rmdir" for call in undone)
        self.server.run("recover", repo.path)
        committed = self.scene.check(repo, logged=logged, folders=folders)
        if not ended.killed:
            assert committed == ended.committed, f"the answer was {dict(ended.answer)}"
        self.retry(repo, committed=committed)
        assert self.scene.check(repo, logged=logged, folders=folders), "a retry did not commit"

    def retry(self, repo: Repo, *, committed: bool) -> None:
        """Repeat the call with the same key: it commits, or returns the existing commit."""
        again = self.server.run("write", repo.path, base=self.scene.base, durable=self.durable)
        expected = {"committed": not committed, "commit": repo.head(), "repeated": committed}
        assert {**again.answer, **expected} == again.answer, f"a retry answered {dict(again.answer)}"


def refused(ended: Ended, error: int) -> list[Call]:
    """Return the calls that the shim refused."""
    return [call for call in ended.calls if call.result == f"errno {error}"]


def report_points(report_line: ReportLine, title: str, count: int, wrong: Sequence[str]) -> None:
    """Report the number of points, and fail with the failed points."""
    report_line(f"{title}: {count} points, {len(wrong)} wrong")
    assert not wrong, f"{len(wrong)} of {count} points:\n" + "\n".join(wrong[:30])
