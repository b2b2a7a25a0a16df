"""Build the files of a release from the last commit, and check each of them.

python -m release [FOLDER]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from release.distributions import DistributionError, build_and_compare, export_commit, find_changed_files
from release.installation import InstallationError, check_installation

ROOT = Path(__file__).resolve().parents[1]


def build_release(target: Path) -> list[Path]:
    """Build the files of a release in a temporary folder, check them, and move them to `target`.

    If a check fails, `target` is unchanged. Raises DistributionError, InstallationError.
    """
    with tempfile.TemporaryDirectory(prefix="docyard-release-") as folder:
        home = Path(folder)
        source = home / "source"
        # Files without a commit would make a release that nobody else can build.
        time = export_commit(ROOT, source)
        files = build_and_compare(source, home / "built", time)
        check_installation(files.wheel, source / "requirements.lock", home / "installed")
        target.mkdir(parents=True, exist_ok=True)
        return [_replace(file, target / file.name) for file in sorted((home / "built").iterdir())]


def _replace(source: Path, target: Path) -> Path:
    """Copy a file to its place; a reader of the target sees the old file or the new one."""
    part = target.with_name(f".{target.name}.part")
    shutil.copyfile(source, part)
    os.replace(part, target)
    return target


def main() -> int:
    """Run the command line. Return the exit code: 0 built and checked, 1 a check failed."""
    parser = argparse.ArgumentParser(prog="python -m release", description="Build the files of a release.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "dist", help="default: dist/")
    folder: Path = parser.parse_args().folder
    changed_files = find_changed_files(ROOT)
    if changed_files:
        print(
            f"note: {len(changed_files)} changed files are not in the release, such as {changed_files[0]}; "
            "it is built from the last commit",
            file=sys.stderr,
        )
    try:
        files = build_release(folder)
    except (DistributionError, InstallationError, subprocess.CalledProcessError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for file in files:
        print(file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
