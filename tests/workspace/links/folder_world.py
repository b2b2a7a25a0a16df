"""A folder on the disk as the world in which links are resolved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from workspace.config.config import WorkspaceConfig
from workspace.validation.corpus import Corpus
from workspace.validation.files import list_folder


def folder_world(root: Path, config: WorkspaceConfig) -> Corpus:
    """The files of a folder as they are now, under settings that need not stand in it."""
    return Corpus(replace(list_folder(root, None), settings=config))
