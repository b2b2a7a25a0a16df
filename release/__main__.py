"""Build the files of a release from the last commit, and try each of them in a new environment.

python -m release [FOLDER] --node FOLDER --tools FOLDER
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from docyard import __version__
from release.bill_of_materials import write_bill
from release.bundle import find_packing_command, pack_bundle, try_bundle, write_bundle_files
from release.distributions import build_and_compare, compare_files, export_commit, find_changed_files
from release.installation import (
    Installer,
    check_size,
    create_repository,
    try_installation,
    try_server,
    write_versions,
)
from release.programs import ReleaseError
from release.registry_entry import ENTRY_FILE, build_entry, format_entry, try_entry
from release.site import build_site, pack_site, try_site
from release.upgrade import try_upgrade

ROOT = Path(__file__).resolve().parents[1]


class Release(NamedTuple):
    """A release that is built: `built` has its files, `source` those of the commit, and `home` all others.

    `time` is the time of the commit, in seconds. `node` and `tools` are environments of the Makefile.
    """

    home: Path
    time: int
    node: Path
    tools: Path
    installer: Installer

    @property
    def source(self) -> Path:
        return self.home / "source"

    @property
    def built(self) -> Path:
        return self.home / "built"

    @property
    def wheel(self) -> Path:
        return self.name_file("-py3-none-any.whl")

    @property
    def docyard(self) -> Path:
        """Return the program of the installed wheel."""
        return self.home / "wheel/bin/docyard"

    def name_file(self, suffix: str) -> Path:
        """Return the path of a file of the release."""
        return self.built / f"docyard-{__version__}{suffix}"


def build_release(target: Path, node: Path, tools: Path) -> list[Path]:
    """Build the files of a release in a temporary folder, check them, and move them to `target`.

    `node` and `tools` are environments that the Makefile makes. If a check fails, `target` is unchanged.
    Raises ReleaseError.
    """
    with tempfile.TemporaryDirectory(prefix="docyard-release-") as folder:
        home = Path(folder)
        # A release with files that are in no commit could not be built again from a clone.
        time = export_commit(ROOT, home / "source")
        versions = write_versions(home / "source/requirements.lock", home / "versions.txt")
        release = Release(home, time, node, tools, Installer(tools / "bin/uv", versions))
        _run("distributions", _build_distributions, release)
        # The next steps use this installation, and find its libraries in the cache of uv.
        _run("installation", _install_wheel, release)
        steps = {
            "commands": _try_wheel,
            "bundle": _build_bundle,
            "source archive": _try_sdist,
            "site": _build_site,
            "server.json": _build_entry,
            "upgrade": _try_upgrade,
            "bill": _build_bill,
            "platforms": _check_platforms,
        }
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            futures = [pool.submit(_run, name, step, release) for name, step in steps.items()]
            for future in as_completed(futures):
                if future.exception() is not None:
                    pool.shutdown(cancel_futures=True)
                future.result()
        # Python has written the bytecode of the modules that the commands import.
        _run("size", _check_size, release)
        target.mkdir(parents=True, exist_ok=True)
        return [_replace(file, target / file.name) for file in sorted(release.built.iterdir())]


def _run(name: str, step: Callable[[Release], str], release: Release) -> None:
    """Run a step, and print its seconds and its summary. Raises ReleaseError."""
    begin = monotonic()
    try:
        summary = step(release)
    except ReleaseError as error:
        raise ReleaseError(f"{name}: {error}") from error
    print(f"{monotonic() - begin:5.1f} s  {name}: {summary}", flush=True)


def _build_distributions(release: Release) -> str:
    build_and_compare(release.source, release.built, release.time)
    return "two builds of the wheel and of the source archive have equal bytes"


def _install_wheel(release: Release) -> str:
    release.installer.install(release.wheel, release.home / "wheel")
    return "the wheel is in a new environment"


def _try_wheel(release: Release) -> str:
    return try_installation(release.home / "wheel", release.home / "wheel-user", __version__)


def _try_sdist(release: Release) -> str:
    venv, home = release.home / "sdist", release.home / "sdist-user"
    release.installer.install(release.name_file(".tar.gz"), venv)
    home.mkdir()
    folder = create_repository(venv / "bin/docyard", home)
    return f"installed; {try_server([str(venv / 'bin/docyard'), 'serve', '-C', str(folder)], folder, home)}"


def _build_bundle(release: Release) -> str:
    command, folder = find_packing_command(release.node), release.home / "bundle"
    write_bundle_files(release.wheel, release.source / "requirements.lock", folder)
    bundle, second_bundle = release.name_file(".mcpb"), release.home / "second.mcpb"
    for file in (bundle, second_bundle):
        pack_bundle(command, folder, file, release.time)
    compare_files(bundle, second_bundle)
    summary = try_bundle(bundle, release.installer, release.docyard, release.home / "bundle-user")
    return f"valid, packed twice with equal bytes, and started as its manifest says; {summary}"


def _build_site(release: Release) -> str:
    archive, second_archive = release.name_file("-site.zip"), release.home / "second-site.zip"
    for file in (archive, second_archive):
        pack_site(build_site(release.tools / "bin/zensical", release.source), file, release.time)
    compare_files(archive, second_archive)
    return f"built twice with equal bytes; {try_site(archive, release.home / 'site')}"


def _build_entry(release: Release) -> str:
    if (release.source / ENTRY_FILE.name).read_text(encoding="utf-8") != format_entry():
        raise ReleaseError("server.json differs from the metadata of the package; run `make docs`")
    (release.built / ENTRY_FILE.name).write_text(format_entry(), encoding="utf-8")
    home = release.home / "entry-user"
    summary = try_entry(build_entry(), release.wheel, release.installer, release.docyard, home)
    return f"valid, and started as it says; {summary}"


def _build_bill(release: Release) -> str:
    write_bill(release.source, release.home / "bill", release.name_file(".cdx.json"), release.time)
    return "a valid bill of materials"


def _try_upgrade(release: Release) -> str:
    return try_upgrade(release.docyard, release.source, release.home / "upgrade")


def _check_platforms(release: Release) -> str:
    return release.installer.check_platforms(release.wheel, release.home / "platforms")


def _check_size(release: Release) -> str:
    return check_size(release.home / "wheel")


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
    for name, purpose in (
        ("node", "Node.js and the tool that packs bundles"),
        ("tools", "uv and Zensical"),
    ):
        parser.add_argument(f"--{name}", type=Path, required=True, help=f"the environment with {purpose}")
    arguments = parser.parse_args()
    changed_files = find_changed_files(ROOT)
    if changed_files:
        print(
            f"note: {len(changed_files)} changed files are not in the release, such as {changed_files[0]}; "
            "it is built from the last commit",
            file=sys.stderr,
        )
    try:
        files = build_release(arguments.folder, arguments.node.absolute(), arguments.tools.absolute())
    except (ReleaseError, subprocess.CalledProcessError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for file in files:
        print(file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
