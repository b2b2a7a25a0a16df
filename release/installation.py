"""A distribution in a new environment: its size, the commands of a new user, and calls of an MCP client."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from release.programs import ProgramError, build_variables, call_tools, require, run_program

MAX_INSTALLED_MB = 160
# For these platforms, each library of the lock file has a wheel.
LOCKED_PLATFORMS = ("x86_64-manylinux_2_28", "aarch64-manylinux_2_28", "aarch64-apple-darwin")
# cryptography has no wheel of its locked version there, but one of an earlier version.
OTHER_PLATFORMS = ("x86_64-apple-darwin",)
_RUN_WITHOUT_FCNTL = (
    "import sys; sys.modules['fcntl'] = None; sys.argv = ['docyard', 'serve']; "
    "from docyard.__main__ import main; sys.exit(main())"
)


class Installer(NamedTuple):
    """The program uv, and a file with the locked versions, without hashes."""

    uv: Path
    versions: Path

    @property
    def variables(self) -> dict[str, str]:
        """Return variables with which a server that uv starts has this Python and the cache of this user."""
        cache = run_program(self.uv, "cache", "dir").stdout.strip()
        return {"UV_CACHE_DIR": cache, "UV_PYTHON": sys.executable, "UV_PYTHON_DOWNLOADS": "never"}

    def install(self, distribution: Path, venv: Path) -> None:
        """Install a distribution with its requirements in a new environment. Raises ProgramError."""
        run_program(self.uv, "venv", "--quiet", "--python", sys.executable, venv)
        options = ["--quiet", "--constraint", self.versions, "--python", venv / "bin" / "python"]
        # A source archive is built with the build backend that it names; a library is never built.
        options += ["--only-binary", ":all:"]
        if distribution.suffix != ".whl":
            options += ["--no-binary", "docyard"]
        run_program(self.uv, "pip", "install", *options, distribution)

    def check_platforms(self, wheel: Path, home: Path) -> str:
        """Resolve the requirements of a wheel for each platform. Raises ProgramError if a wheel is missing.

        Nothing is written to `home`.
        """
        options = ("--quiet", "--dry-run", "--only-binary", ":all:", "--python", sys.executable)
        for platform in (*LOCKED_PLATFORMS, *OTHER_PLATFORMS):
            versions = ("--constraint", self.versions) if platform in LOCKED_PLATFORMS else ()
            target = ("--target", home / platform, "--python-platform", platform)
            run_program(self.uv, "pip", "install", *options, *versions, *target, wheel)
        return f"each library has a wheel for {', '.join((*LOCKED_PLATFORMS, *OTHER_PLATFORMS))}"


def write_versions(lock_file: Path, target: Path) -> Path:
    """Write the requirements of a lock file, without hashes, as constraints."""
    target.write_text("\n".join(read_versions(lock_file)) + "\n", encoding="utf-8")
    return target


def read_versions(lock_file: Path) -> list[str]:
    """Return the requirements of a lock file without hashes.

    With hashes in its constraints, an installer would also require a hash of the new wheel.
    """
    lines = lock_file.read_text(encoding="utf-8").replace("\\\n", "").splitlines()
    return [line.partition("--hash=")[0].strip() for line in lines if line and not line.startswith("#")]


def try_installation(venv: Path, home: Path, version: str) -> str:
    """Run the first commands of a user, and the calls of a client, with the Docyard of an environment.

    All files are written in the new folder `home`, which is also the home of the user. Return a summary.
    Raises ProgramError.
    """
    home.mkdir()
    variables, docyard = build_variables(home), venv / "bin" / "docyard"
    require(version, run_program(docyard, "--version", variables=variables).stdout)
    folder = create_repository(docyard, home)
    search = run_program(docyard, "search", "-C", folder, "waits", "second", variables=variables)
    require("guide.md#backoff", search.stdout)
    run_program(docyard, "validate", "-C", folder, variables=variables)
    run_program(docyard, "doctor", "-C", folder, variables=variables)
    refusal = run_program(venv / "bin" / "python", "-c", _RUN_WITHOUT_FCNTL, variables=variables, exit_code=3)
    require("wsl --install", refusal.stderr)
    return try_server([str(docyard), "serve", "-C", str(folder)], folder, home)


def create_repository(docyard: Path, home: Path) -> Path:
    """Create a repository with `docyard init`, commit a document, and return its folder.

    `home` is the home of the user, and has the repository. Raises ProgramError.
    """
    variables, folder = build_variables(home), home / "documents"
    run_program(docyard, "init", folder, variables=variables)
    (folder / "guide.md").write_text("# Guide\n\n## Backoff\n\nA client waits a second.\n", encoding="utf-8")
    for command in (
        ("config", "user.name", "Ann"),
        ("config", "user.email", "ann@example.org"),
        ("add", "guide.md"),
        ("commit", "--quiet", "--message", "Add a guide"),
    ):
        run_program("git", "-C", folder, *command, variables=variables)
    return folder


def try_server(
    command: list[str], folder: Path, home: Path, more_variables: Mapping[str, str] | None = None
) -> str:
    """Search, write and read with a client of a server over stdio. Return a summary. Raises ProgramError."""
    variables = build_variables(home) | dict(more_variables or {})
    section = {"file": "guide.md", "title": "Limits", "content": "Ten calls a second."}
    found, written, read = call_tools(
        command,
        variables,
        [
            ("search_docs", {"query": "waits second"}),
            ("edit_document", {"operation": "add_section", **section}),
            ("view_document", {"file": "guide.md", "slug": "limits"}),
        ],
        home / "server.log",
    )
    require("guide.md#backoff", str(found))
    require("Ten calls a second.", str(read))
    log = run_program("git", "-C", folder, "log", "-1", "--format=%B", variables=variables).stdout
    require("Docyard-Tool: edit_document", log)
    return f"a client searched, wrote section {written['slug']} and read it"


def check_size(venv: Path) -> str:
    """Return the size of the installed packages. Raises ProgramError if it is greater than the limit.

    Bytecode counts as far as Python has written it for the modules that were imported; an installer that
    compiles all modules writes about 50 MB more.
    """
    [site_packages] = venv.glob("lib/python3*/site-packages")
    sizes = {path.name: measure_size(path) for path in site_packages.iterdir()}
    size_mb = sum(sizes.values()) / 2**20
    largest = sorted(sizes, key=lambda name: -sizes[name])[:4]
    summary = f"{size_mb:.0f} MB installed ({', '.join(f'{n} {sizes[n] / 2**20:.0f}' for n in largest)})"
    if size_mb > MAX_INSTALLED_MB:
        raise ProgramError(f"{summary}, and the limit is {MAX_INSTALLED_MB} MB: move a library to an extra")
    return summary


def measure_size(path: Path) -> int:
    """Return the bytes that a file or a folder occupies on the disk, as `du` counts them."""
    paths = [path, *path.rglob("*")] if path.is_dir() else [path]
    return sum(file.lstat().st_blocks * 512 for file in paths)
