"""A folder on the disk as a file tree to resolve links in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from workspace.config.config import WorkspaceConfig
from workspace.validation.corpus import Corpus
from workspace.validation.files import list_folder


def folder_world(root: Path, config: WorkspaceConfig) -> Corpus:
    """Return the current files of a folder, with settings that may come from elsewhere."""
    return Corpus(replace(list_folder(root, None), settings=config))
