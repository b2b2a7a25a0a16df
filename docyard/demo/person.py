"""The person of the demonstration: a commit made by hand, and the history as they would look at it.

The git program is used where it is installed, since this is what people have, and the repository is the
demonstration's own. Elsewhere the same is done without it.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

NAME, EMAIL = "Dana Reader", "dana@example.com"
MESSAGE = "Say how requests are limited"

# A person's own settings must not decide whether the demonstration works.
_PLAIN = (
    "-c",
    f"user.name={NAME}",
    "-c",
    f"user.email={EMAIL}",
    "-c",
    "commit.gpgsign=false",
    "-c",
    "core.hooksPath=.git/no-hooks",
)


def commit(folder: Path, file: str, text: str, variables: Mapping[str, str]) -> str:
    """Append `text` to a file and commit it as a person does. Returns the command that was used."""
    program = shutil.which("git")
    if program is None:
        _commit_without_git(folder, file, text)
        return "(git is not installed; the same commit was made without it)"
    with (folder / file).open("ab") as stream:
        stream.write(text.encode())
    arguments = ("commit", "--quiet", "--all", "--message", MESSAGE)
    subprocess.run((program, *_PLAIN, *arguments), cwd=folder, env=variables, check=True, capture_output=True)
    return f'git commit --all --message "{MESSAGE}"'


def history(folder: Path, variables: Mapping[str, str]) -> str:
    """What `git log --stat` prints."""
    program = shutil.which("git")
    if program is None:
        return _history_without_git(folder)
    arguments = ("--no-pager", "-c", "log.showSignature=false", "log", "--stat", "--no-color")
    done = subprocess.run((program, *arguments), cwd=folder, env=variables, check=True, capture_output=True)
    return done.stdout.decode(errors="replace").rstrip()


def _commit_without_git(folder: Path, file: str, text: str) -> None:
    from workspace.git import GitStore, Signature
    from workspace.publishing import Batch, publish
    from workspace.workspace import Workspace

    workspace = Workspace.open(folder, read_only=True)
    snapshot = workspace.snapshot()
    author = Signature(NAME, EMAIL, int(time.time()), 0)
    data = snapshot.read(file) + text.encode()
    batch = Batch(workspace.branch or "main", snapshot.commit, {file: data}, MESSAGE, author)
    publish(GitStore(folder), batch, durable=False)


def _history_without_git(folder: Path) -> str:
    from workspace.git import trees
    from workspace.git.ancestry import first_parents
    from workspace.workspace import Workspace

    workspace = Workspace.open(folder, read_only=True)
    lines: list[str] = []
    git, tip = workspace.git, workspace.tip()
    for commit in first_parents(git.commit, git.boundary, tip) if tip is not None else ():
        parent = workspace.git.commit(commit.parents[0]).tree if commit.parents else None
        when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(commit.author.time))
        lines += [
            f"commit {commit.id}",
            f"Author: {commit.author.name} <{commit.author.email}>",
            f"Date:   {when}",
            "",
        ]
        lines += [f"    {line}".rstrip() for line in commit.message.strip().splitlines()]
        lines += [
            "",
            *(f" {change.path}" for change in trees.changes(workspace.git, parent, commit.tree)),
            "",
        ]
    return "\n".join(lines).rstrip()
