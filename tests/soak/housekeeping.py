"""Git's housekeeping in loops while writers run: one thread for each command, until `stop`."""

from __future__ import annotations

import subprocess
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.repositories import Repo, git_environment

COMMANDS: Sequence[Sequence[str]] = (
    ("gc", "--quiet", "--prune=now"),
    ("repack", "-adq"),
    ("maintenance", "run", "--quiet"),
    ("pack-refs", "--all"),
)


class Housekeeping:
    """Loops of Git's own commands. `rounds` counts successful runs, `failed` the failed runs.

    Git's commands may refuse to run concurrently, such as two runs of `git gc`; only writers must not fail.
    """

    def __init__(self, repo: Repo, commands: Sequence[Sequence[str]] = COMMANDS, pause: float = 0.05) -> None:
        self.rounds: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self._repo = repo
        self._pause = pause
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._loop, args=(command,), daemon=True) for command in commands
        ]

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the loops until the block ends, and wait for each running command."""
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in self._threads:
                thread.join(120)

    def line(self) -> str:
        """Return the counts as a line to print."""
        rounds = ", ".join(f"{count} x git {name}" for name, count in sorted(self.rounds.items()))
        return f"housekeeping: {rounds}; refused by Git itself: {dict(self.failed)}"

    def _loop(self, command: Sequence[str]) -> None:
        while not self._stop.wait(self._pause):
            completed = subprocess.run(
                ["git", *command],
                cwd=self._repo.path,
                env=git_environment(),
                capture_output=True,
                check=False,
            )
            counts = self.failed if completed.returncode else self.rounds
            counts[command[0]] += 1
