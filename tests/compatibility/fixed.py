"""Run `docyard` with a fixed clock and seeded random numbers.

    python tests/compatibility/fixed.py SECONDS [--die BEFORE|AFTER] serve -C …

With `--die` the process kills itself right before or right after it renames the file of a branch: there it is
committed. An audit hook, which Python calls for each rename, finds the moment.
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
    moment, *arguments = sys.argv[1:]
    numbers = random.Random(int(moment))
    time.time = lambda: float(moment)

    class FixedDatetime(datetime.datetime):
        """A datetime whose present is the moment."""

        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> FixedDatetime:
            return cls.fromtimestamp(int(moment), tz)

    datetime.datetime = FixedDatetime  # type: ignore[misc]
    secrets.token_bytes = lambda count=None: numbers.randbytes(count or 32)  # type: ignore[assignment]
    secrets.choice = numbers.choice  # type: ignore[assignment]
    secrets.randbelow = numbers.randrange
    sys.path.remove(str(Path(__file__).parent))
    if arguments[0] == "--die":
        _, when, *arguments = arguments
        die_at_commit_point(when)
    sys.argv = ["docyard", *arguments]
    from docyard.__main__ import main as docyard

    docyard()


def die_at_commit_point(when: str) -> None:
    """Kill this process before a branch's file is renamed into its place, or at the next step after that."""
    committed = False

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal committed
        if committed and event != "os.kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if event == "os.rename" and "/refs/heads/" in os.fsdecode(str(arguments[1])):
            if when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            committed = True

    sys.addaudithook(watch)


if __name__ == "__main__":
    main()
