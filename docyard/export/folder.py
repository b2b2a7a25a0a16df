"""The folder of an export.

The files are written to a new folder next to it, which is renamed when it is complete. A folder that exists
is replaced only if it contains nothing but the files of an earlier export, which `export.json` lists.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, ClassVar

from docyard import __version__
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Iterator

LIST_FILE = "export.json"
_FORMAT = "docyard-export-1"


class ExportFolderOccupied(WorkspaceError):
    """The path to export to is not a folder, is inside a Git directory, or has other files."""

    code: ClassVar[str] = "EXPORT_OCCUPIED"


class ExportUnwritable(WorkspaceError):
    """The folder of an export cannot be written, for example because the disk is full."""

    code: ClassVar[str] = "EXPORT_UNWRITABLE"


class ExportFolder:
    """The new folder of an export, and the names of the files that were written to it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.names: set[str] = set()

    def write(self, name: str, data: bytes) -> None:
        """Write a file, whose name is relative to the folder and was not written before."""
        with self.open(name) as stream:
            stream.write(data)

    def open(self, name: str) -> BinaryIO:
        """Open a new file, whose name is relative to the folder, to write it in parts."""
        file = self._folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        self.names.add(name)
        return file.open("xb")


@contextmanager
def replace_folder(folder: Path, commit: str) -> Iterator[ExportFolder]:
    """Yield a new folder, and put it at the path of `folder` if the block succeeds.

    Raises ExportFolderOccupied, ExportUnwritable; the earlier folder is then as it was.
    """
    target = Path(os.path.realpath(folder))
    check_folder(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", suffix=".draft", dir=target.parent))
        try:
            new_folder = ExportFolder(draft / "new")
            yield new_folder
            content = {"format": _FORMAT, "version": __version__, "commit": commit}
            files = sorted([*new_folder.names, LIST_FILE])
            new_folder.write(
                LIST_FILE, json.dumps({**content, "files": files}, indent=1).encode("utf-8") + b"\n"
            )
            _rename_into_place(draft, target)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    except OSError as error:
        raise ExportUnwritable(
            f"the export cannot be written: {error.strerror or type(error).__name__}",
            fix="Free disk space, or fix the permissions of the folder. The earlier export is intact.",
        ) from error


def _rename_into_place(draft: Path, target: Path) -> None:
    check_folder(target)  # files may have been added during a long export
    earlier_folder = draft / "earlier"
    if target.exists():
        target.rename(earlier_folder)
    try:
        (draft / "new").rename(target)
    except OSError:
        if earlier_folder.exists():
            earlier_folder.rename(target)
        raise


def check_folder(folder: Path) -> None:
    """Raise ExportFolderOccupied if an export must not replace this folder."""
    fix = "Name a new folder, an empty one, or that of an earlier export."
    if os.path.lexists(folder) and not folder.is_dir():
        raise ExportFolderOccupied("the path of the export must be a folder", fix=fix)
    for parent in (folder, *folder.parents):
        if (parent / "HEAD").is_file() and (parent / "objects").is_dir() and (parent / "refs").is_dir():
            raise ExportFolderOccupied("the export must not be inside a Git directory", fix=fix)
    if not folder.is_dir():
        return
    listed_names = _read_listed_names(folder)
    other_names = sorted(name for name in _list_names(folder) if name not in listed_names)
    if other_names:
        raise ExportFolderOccupied(
            f"the folder contains files that `docyard export` did not write, such as {other_names[0][:200]}",
            fix=fix,
            entries=other_names[:5],
        )


def _list_names(folder: Path) -> Iterator[str]:
    for parent, folders, files in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(parent, name))]
        for name in (*files, *links):
            yield os.path.relpath(os.path.join(parent, name), folder)


def _read_listed_names(folder: Path) -> frozenset[str]:
    """Return the names of the files of an earlier export; an empty set if the folder is none."""
    with suppress(OSError, ValueError):
        content = json.loads((folder / LIST_FILE).read_bytes())
        if isinstance(content, dict) and content.get("format") == _FORMAT:
            return frozenset(name for name in content.get("files", ()) if isinstance(name, str))
    return frozenset()
