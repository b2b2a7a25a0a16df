"""A client for tests that kill it: `python killed_client.py LINES LOG EXIT_CODE COMMAND…`.

The client starts the command as its server, writes the contents of the file LINES to the server, prints
"sent", and sleeps. The server writes its standard error to the file LOG. A shell writes the exit code of the
server to the file EXIT_CODE, even if the client was killed.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

_SCRIPT = '"$@"; echo $? > "$0.new"; mv "$0.new" "$0"'

lines_path, log_path, exit_code_path, *command = sys.argv[1:]
with open(log_path, "wb") as log:
    server = subprocess.Popen(
        ["/bin/sh", "-c", _SCRIPT, exit_code_path, *command],
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
    )
assert server.stdin is not None
server.stdin.write(Path(lines_path).read_bytes())
print("sent", flush=True)
time.sleep(600)
