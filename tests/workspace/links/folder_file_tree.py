"""A folder on the disk as a file tree, in which links can be resolved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from workspace.config.config import WorkspaceConfig
from workspace.validation.file_tree import FileSetTree
from workspace.validation.files import list_folder


def read_folder(root: Path, config: WorkspaceConfig) -> FileSetTree:
    """Return the current files of a folder, with settings that may differ from those of the folder."""
    return FileSetTree(replace(list_folder(root, None), settings=config))
