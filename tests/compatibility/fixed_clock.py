"""Run `docyard` with a fixed clock and seeded random numbers.

    python tests/compatibility/fixed_clock.py SECONDS [--kill before|after] serve -C …

With `--kill` the process kills itself immediately before or after the commit point: the rename of a branch's
file. An audit hook, which Python calls for each rename, detects the rename.
"""

from __future__ import annotations

import datetime
import os
import random
import secrets
import signal
import sys
import time
from pathlib import Path


def main() -> None:
    """Fix the clock and the random numbers, then run `docyard` with the remaining arguments."""
    timestamp, *arguments = sys.argv[1:]
    rng = random.Random(int(timestamp))
    time.time = lambda: float(timestamp)

    class FixedDatetime(datetime.datetime):
        """A datetime class whose current time is fixed."""

        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> FixedDatetime:
            return cls.fromtimestamp(int(timestamp), tz)

    datetime.datetime = FixedDatetime  # type: ignore[misc]
    secrets.token_bytes = lambda count=None: rng.randbytes(count or 32)  # type: ignore[assignment]
    secrets.choice = rng.choice  # type: ignore[assignment]
    secrets.randbelow = rng.randrange
    sys.path.remove(str(Path(__file__).parent))
    if arguments[0] == "--kill":
        _, when, *arguments = arguments
        kill_at_commit_point(when)
    sys.argv = ["docyard", *arguments]
    from docyard.__main__ import main as docyard

    docyard()


def kill_at_commit_point(when: str) -> None:
    """Kill this process before the rename of a branch's file, or at the next event after it."""
    has_committed = False

    def kill_at_rename(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal has_committed
        if has_committed and event != "os.kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if event == "os.rename" and "/refs/heads/" in os.fsdecode(str(arguments[1])):
            if when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            has_committed = True

    sys.addaudithook(kill_at_rename)


if __name__ == "__main__":
    main()
