"""Git's housekeeping commands, which run in loops while writers run: one thread for each command."""

from __future__ import annotations

import subprocess
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.repositories import Repo, build_git_environment

COMMANDS: Sequence[Sequence[str]] = (
    ("gc", "--quiet", "--prune=now"),
    ("repack", "-adq"),
    ("maintenance", "run", "--quiet"),
    ("pack-refs", "--all"),
)


class Housekeeping:
    """Loops of housekeeping commands. `success_counts` and `failure_counts` count the runs of each command.

    A command of Git may fail because another command runs, such as a second `git gc`; writers must not fail.
    """

    def __init__(
        self, repo: Repo, commands: Sequence[Sequence[str]] = COMMANDS, pause_s: float = 0.05
    ) -> None:
        self.success_counts: Counter[str] = Counter()
        self.failure_counts: Counter[str] = Counter()
        self._repo = repo
        self._pause_s = pause_s
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._loop, args=(command,), daemon=True) for command in commands
        ]

    @contextmanager
    def run_loops(self) -> Iterator[None]:
        """Run the loops until the block ends, and wait for each running command."""
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in self._threads:
                thread.join(120)

    def format_line(self) -> str:
        """Return the counts as a line to print."""
        success_counts = ", ".join(
            f"{count} x git {name}" for name, count in sorted(self.success_counts.items())
        )
        return f"housekeeping: {success_counts}; refused by Git itself: {dict(self.failure_counts)}"

    def _loop(self, command: Sequence[str]) -> None:
        while not self._stop.wait(self._pause_s):
            process = subprocess.run(
                ["git", *command],
                cwd=self._repo.path,
                env=build_git_environment(),
                capture_output=True,
                check=False,
            )
            counts = self.failure_counts if process.returncode else self.success_counts
            counts[command[0]] += 1
