"""Build the files of a release from the last commit, and check each of them.

python -m release [FOLDER] [--node FOLDER]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from docyard import __version__
from release.bill_of_materials import BillError, write_bill
from release.bundle import BundleError, find_packing_command, pack_bundle, write_bundle_files
from release.distributions import DistributionError, build_and_compare, export_commit, find_changed_files
from release.installation import InstallationError, check_installation

ROOT = Path(__file__).resolve().parents[1]


def build_release(target: Path, packing_command: list[str] | None) -> list[Path]:
    """Build the files of a release in a temporary folder, check them, and move them to `target`.

    `packing_command` packs the bundle; without it, there is none. If a check fails, `target` is unchanged.
    Raises BillError, BundleError, DistributionError, InstallationError.
    """
    with tempfile.TemporaryDirectory(prefix="docyard-release-") as folder:
        home = Path(folder)
        source = home / "source"
        # A release with files that are in no commit could not be built again from a clone.
        time = export_commit(ROOT, source)
        files = build_and_compare(source, home / "built", time)
        check_installation(files.wheel, source / "requirements.lock", home / "installed")
        write_bill(source, home / "bill", home / "built" / f"docyard-{__version__}.cdx.json", time)
        if packing_command:
            write_bundle_files(files.wheel, source / "requirements.lock", home / "bundle")
            bundle = home / "built" / f"docyard-{__version__}.mcpb"
            pack_bundle(packing_command, home / "bundle", bundle, time)
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
    parser.add_argument(
        "--node", type=Path, help="the environment with Node.js and the tool that packs bundles"
    )
    arguments = parser.parse_args()
    changed_files = find_changed_files(ROOT)
    if changed_files:
        print(
            f"note: {len(changed_files)} changed files are not in the release, such as {changed_files[0]}; "
            "it is built from the last commit",
            file=sys.stderr,
        )
    try:
        if arguments.node is None:
            print("note: there is no bundle without --node; `make dist` passes it", file=sys.stderr)
        packing_command = find_packing_command(arguments.node) if arguments.node else None
        files = build_release(arguments.folder, packing_command)
    except (
        BillError,
        BundleError,
        DistributionError,
        InstallationError,
        subprocess.CalledProcessError,
    ) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for file in files:
        print(file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
