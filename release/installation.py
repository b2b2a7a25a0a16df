"""The wheel in a new environment, and the first commands of a user in a new repository."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


class InstallationError(Exception):
    """A command of an installed wheel does not print what it must."""


def check_installation(wheel: Path, lock_file: Path, home: Path) -> None:
    """Install the wheel with the locked versions, then create a repository and search it.

    All files are created in the new folder `home`, which is also the home of the user. Raises
    InstallationError, CalledProcessError.
    """
    home.mkdir()
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "GIT_", "DOCYARD_"))
    } | {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "config"), "XDG_CACHE_HOME": str(home / "cache")}
    venv, folder = home / "environment", home / "documents"
    # The pip of this process installs; a pip in each environment would take ten seconds more.
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    versions = home / "versions.txt"
    versions.write_text("\n".join(read_versions(lock_file)) + "\n")
    pip = (sys.executable, "-m", "pip", "--python", str(venv / "bin" / "python"), "--quiet")
    options = ("--disable-pip-version-check", "--no-compile", "--only-binary", ":all:")
    subprocess.run([*pip, "install", *options, "-c", str(versions), str(wheel)], check=True)

    def run(*command: str) -> str:
        process = subprocess.run(
            command, cwd=home, env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=120
        )
        return process.stdout

    def require(text: str, output: str) -> None:
        if text not in output:
            raise InstallationError(f"{text!r} is missing in the output of the installed wheel: {output!r}")

    docyard = str(venv / "bin" / "docyard")
    require(wheel.name.split("-")[1], run(docyard, "--version"))
    run(docyard, "init", str(folder))
    for key, value in (("user.name", "Ann"), ("user.email", "ann@example.org")):
        run("git", "-C", str(folder), "config", key, value)
    (folder / "guide.md").write_text("# Guide\n\n## Backoff\n\nA client waits a second.\n")
    run("git", "-C", str(folder), "add", "guide.md")
    run("git", "-C", str(folder), "commit", "--quiet", "--message", "Add a guide")
    require("guide.md#backoff", run(docyard, "search", "-C", str(folder), "waits", "second"))


def read_versions(lock_file: Path) -> list[str]:
    """Return the requirements of a lock file without hashes.

    With hashes in its constraints, pip would also require a hash of the new wheel.
    """
    lines = lock_file.read_text(encoding="utf-8").replace("\\\n", "").splitlines()
    return [line.partition("--hash=")[0].strip() for line in lines if line and not line.startswith("#")]
