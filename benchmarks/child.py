"""A measurement in a process of its own, so that its memory is its own and no earlier one has warmed it.

python -m benchmarks.child MODULE ARGUMENTS-AS-JSON     prints what MODULE.measure gave, as JSON
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.memory import Watch, peak_mb

ROOT = Path(__file__).resolve().parents[1]


class MeasurementFailed(Exception):
    """A child process ended with an error; its last words are the message."""


def environment(home: Path) -> dict[str, str]:
    """Return the variables of a child: what Docyard keeps for a user goes to `home`, and is gone with it.

    Python may keep compiled modules, as it does unless it is told otherwise: a start that compiles all
    that it imports measures the compiler.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("DOCYARD_", "GIT_")) and name != "PYTHONDONTWRITEBYTECODE"
    }
    return kept | {"XDG_STATE_HOME": str(home / "state"), "XDG_CACHE_HOME": str(home / "cache")}


def measure(module: str, home: Path, **arguments: Any) -> dict[str, Any]:
    """Return what `benchmarks.<module>.measure(**arguments)` gives in a fresh process, and its `peak_mb`.

    The peak is that of the process and of all that it started, together.
    """
    command = [sys.executable, "-m", "benchmarks.child", module, json.dumps(arguments, default=str)]
    with (
        subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment(home),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
        Watch(process.pid) as watch,
    ):
        output, errors = process.communicate()
    if process.returncode:
        raise MeasurementFailed(f"{module}: {errors.strip()}")
    result: dict[str, Any] = json.loads(output)
    return result | {"peak_mb": max(result["peak_mb"], watch.peak_mb)}


if __name__ == "__main__":
    found = import_module(f"benchmarks.{sys.argv[1]}").measure(**json.loads(sys.argv[2]))
    print(json.dumps({**found, "peak_mb": peak_mb()}))
