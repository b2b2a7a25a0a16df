"""`docyard` as it is, but that it waits for Git's locks as long as a test on a busy machine holds them."""

from __future__ import annotations

import sys

from docyard.cli.main import main
from workspace.publishing import locks

locks.WAIT_FOR_GIT = 60.0
# A worker process that multiprocessing spawns imports this module again.
if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
