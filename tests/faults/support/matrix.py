"""One kind of fault, tried at many points of the same batch, and what must hold after each."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.faults.support.forkserver import Ended, ForkServer
from tests.faults.support.scene import Scene
from tests.faults.support.shim import Call, Fault
from tests.repositories import Repo

Tell = Callable[[str], None]
"""Says a line in the summary that ends a run."""

FAULTS = {
    "kill": (Fault.KILL, 0),
    "no space": (Fault.FAIL, errno.ENOSPC),
    "input/output error": (Fault.FAIL, errno.EIO),
    "full for good": (Fault.FULL, errno.ENOSPC),
    "full within a write": (Fault.SHORT, errno.ENOSPC),
}
KINDS = pytest.mark.parametrize("kind", ["checked-out", "bare"])


def steps(sample: int, slow: int = 1) -> pytest.MarkDecorator:
    """Every point in the slow tests, one of so many in the quick ones.

    Where there are hundreds of points, the slow ones take one of so many too, and the soak takes all.
    """
    points = [pytest.param(sample, id="sample")]
    if slow > 1:
        points.append(pytest.param(slow, id="some", marks=pytest.mark.slow))
    points.append(pytest.param(1, id="every", marks=pytest.mark.soak if slow > 1 else pytest.mark.slow))
    return pytest.mark.parametrize("step", points)


class Matrix:
    """One repository and one kind of fault, tried at many points of the same batch."""

    def __init__(
        self, server: ForkServer, scene: Scene, place: Path, fault: str, *, durable: bool = True
    ) -> None:
        self.server = server
        self.scene = scene
        self.place = place
        self.fault, self.error = FAULTS[fault]
        self.durable = durable
        self.struck: Call | None = None
        repo = scene.copy(place)
        whole = server.run("write", repo.path, durable=durable)
        assert whole.committed
        assert scene.check(repo)
        self.calls: Sequence[Call] = whole.calls
        """The calls of a batch that nothing disturbs; their numbers are the points."""

    def points(self, step: int) -> list[int]:
        """The points to try: all that this fault can strike, or some of them."""
        can_strike: dict[Fault, Callable[[Call], bool]] = {
            Fault.FULL: lambda call: call.needs_space,
            Fault.SHORT: lambda call: call.name == "write",
        }
        found = [call.number for call in self.calls if can_strike.get(self.fault, lambda call: True)(call)]
        if step == 1 and self.fault not in can_strike:
            # To the end also where the commit's id asks for a folder that this one had.
            found += range(found[-1] + 1, found[-1] + 4)
        return sorted({*found[::step], found[-1]})

    def while_locked(self) -> list[int]:
        """The points from the taking of the first of Git's locks to the end."""
        first = next(call for call in self.calls if call.name == "link" and call.second.endswith(".lock"))
        return [call.number for call in self.calls if call.number >= first.number]

    def strike(self, point: int) -> tuple[Repo, Ended]:
        """A fresh repository after the batch was struck at a point."""
        repo = self.scene.copy(self.place)
        ended = self.server.run(
            "write", repo.path, point=point, fault=self.fault, error=self.error, durable=self.durable
        )
        self.struck = next((call for call in ended.calls if call.number == point), None)
        if self.struck is None:
            # The commit's own id decides whether its folder is new, so the last points may be past the end.
            assert point > len(self.calls) - 4
            assert ended.committed
        else:
            # On a full disk the last calls that need room may be fewer, for the same reason.
            full = self.fault in (Fault.FULL, Fault.SHORT) and ended.committed
            assert ended.killed or full or refused(ended, self.error), "nothing was refused"
        return repo, ended

    def settle(self, repo: Repo, ended: Ended, undone: Sequence[Call]) -> None:
        """Recover, check that all is old or new as the answer says, and that a retry makes it one commit.

        Where the system refused a log, or the removal of an empty folder, that stays undone.
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
        """The same call with the same key: it commits, or tells of the commit that there is."""
        again = self.server.run("write", repo.path, base=self.scene.base, durable=self.durable)
        expected = {"committed": not committed, "commit": repo.head(), "repeated": committed}
        assert {**again.answer, **expected} == again.answer, f"a retry answered {dict(again.answer)}"


def refused(ended: Ended, error: int) -> list[Call]:
    """The calls that the shim refused."""
    return [call for call in ended.calls if call.result == f"errno {error}"]


def judge(tell: Tell, title: str, count: int, wrong: Sequence[str]) -> None:
    """Say how many points there were, and fail with those that were wrong."""
    tell(f"{title}: {count} points, {len(wrong)} wrong")
    assert not wrong, f"{len(wrong)} of {count} points:\n" + "\n".join(wrong[:30])
