"""Measurements in separate processes, without the memory or caches of earlier measurements.

python -m benchmarks.child MODULE ARGUMENTS-AS-JSON     prints the result of MODULE.measure as JSON
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.memory import MemorySampler, read_peak_mb

ROOT = Path(__file__).resolve().parents[1]


class MeasurementFailed(Exception):
    """A child process or a server failed. The message contains its error."""


def make_child_environment(home: Path) -> dict[str, str]:
    """Return the environment of a child process, with Docyard's user files in the temporary folder `home`.

    Settings of Docyard and Git (`DOCYARD_*`, `GIT_*`) are removed. `PYTHONDONTWRITEBYTECODE` is removed
    too: without cached modules, a start would include their compilation.
    """
    inherited_variables = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("DOCYARD_", "GIT_")) and name != "PYTHONDONTWRITEBYTECODE"
    }
    return inherited_variables | {
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_CACHE_HOME": str(home / "cache"),
    }


def measure(module: str, home: Path, **arguments: Any) -> dict[str, Any]:
    """Return the result of `benchmarks.<module>.measure(**arguments)` in a new process, with `peak_mb`.

    `peak_mb` is the peak of the total memory of the process and its children.
    """
    command = [sys.executable, "-m", "benchmarks.child", module, json.dumps(arguments, default=str)]
    with (
        subprocess.Popen(
            command,
            cwd=ROOT,
            env=make_child_environment(home),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
        MemorySampler(process.pid) as sampler,
    ):
        output, errors = process.communicate()
    if process.returncode:
        raise MeasurementFailed(f"{module}: {errors.strip()}")
    result: dict[str, Any] = json.loads(output)
    return result | {"peak_mb": max(result["peak_mb"], sampler.peak_mb)}


if __name__ == "__main__":
    result = import_module(f"benchmarks.{sys.argv[1]}").measure(**json.loads(sys.argv[2]))
    print(json.dumps({**result, "peak_mb": read_peak_mb()}))
