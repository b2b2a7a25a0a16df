"""`docyard` that waits up to a minute for Git's locks, for tests that hold locks or run on a slow machine."""

from __future__ import annotations

import sys

from docyard.cli.main import main
from workspace.publishing import locks

locks.WAIT_FOR_GIT_S = 60.0
# A worker process that multiprocessing spawns imports this module again.
if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
