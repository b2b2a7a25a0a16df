"""`docyard` that waits only three seconds for the decision that a merge lacks."""

from __future__ import annotations

import sys

from docyard.cli.main import main
from docyard.mcp_server import review_page

review_page.DECISION_TIMEOUT_S = 3.0
# A worker process that multiprocessing spawns imports this module again.
if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
