"""Checks of the search index. None of them builds, mends or follows it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from docyard.checkup.finding import Finding, Severity, count

if TYPE_CHECKING:
    from workspace.workspace import Workspace

AREA = "index"
_REBUILD = "docyard index rebuild"


def check_index(workspace: Workspace) -> Iterator[Finding]:
    """What is wrong with the index of the served branch, and what is left of others."""
    from index.service import SearchIndex

    status = SearchIndex(workspace).status()
    if status.folder is None:
        yield Finding(
            Severity.WARNING,
            AREA,
            "the index has no folder that only this user can write, so each process builds its own in memory",
            "Let this user write the repository's Git folder, or its own cache folder.",
        )
        return
    if status.blocked:
        yield Finding(
            Severity.ERROR,
            AREA,
            f"nothing can be searched: of the index's files, {' and '.join(status.blocked)} cannot be used "
            "(a folder or a link in its place, or its permissions)",
            f'cd "$(git rev-parse --git-common-dir)/docyard/index/{status.folder.name}" && '
            f"rm -r {' '.join(status.blocked)}",
        )
    elif status.damaged:
        yield Finding(Severity.ERROR, AREA, "the index is damaged; the next search rebuilds it", _REBUILD)
    elif status.state is None:
        yield Finding(Severity.NOTE, AREA, "there is no index yet; the first search builds it", _REBUILD)
    elif not status.is_current:
        yield Finding(
            Severity.NOTE, AREA, "the index is behind the branch; the next search brings it up to date"
        )
    yield from _orphans(workspace, status.folder.parent, status.folder.name, status.schema)


def _orphans(workspace: Workspace, parent: Path, own: str, schema: int) -> Iterator[Finding]:
    """Folders of this user's that no index will use again, as far as can be told."""
    from index.location import index_name

    branch = "x"
    suffix = index_name(schema, branch).removeprefix(f"{schema}-{branch}")
    used = {own, *(index_name(schema, name) for name in workspace.git.branches())}
    left = [
        entry.name
        for entry in sorted(parent.iterdir())
        if entry.is_dir()
        and entry.name not in used
        and entry.name.endswith(suffix)
        and _is_left(entry.name.partition("-"), schema)
    ]
    if left:
        names = " ".join(left[:10])
        yield Finding(
            Severity.WARNING,
            AREA,
            f"{count(left, 'index folder', 'index folders')} of earlier versions or of deleted branches: "
            "they only take up room",
            f'cd "$(git rev-parse --git-common-dir)/docyard/index" && rm -r {names}',
        )


def _is_left(name: tuple[str, str, str], schema: int) -> bool:
    """Whether a folder is of this version or an earlier one. A detached work tree's own is not judged."""
    version, _, rest = name
    return version.isdecimal() and (
        int(version) < schema or (int(version) == schema and not rest.startswith("detached-"))
    )
