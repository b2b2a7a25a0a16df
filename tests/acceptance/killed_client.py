"""A client to be killed: `python killed_client.py LINES LOG EXIT_CODE COMMAND…`.

The client starts the command as its server, writes the lines of a file to the server, prints "sent", and
sleeps. A shell writes the server's exit code to a file, even after the client was killed.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

_SCRIPT = '"$@"; echo $? > "$0.new"; mv "$0.new" "$0"'

lines, log, exit_code, *command = sys.argv[1:]
with open(log, "wb") as stream:
    server = subprocess.Popen(
        ["/bin/sh", "-c", _SCRIPT, exit_code, *command],
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stream,
    )
assert server.stdin is not None
server.stdin.write(Path(lines).read_bytes())
print("sent", flush=True)
time.sleep(600)
