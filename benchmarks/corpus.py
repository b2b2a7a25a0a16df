"""A folder of Markdown, and a repository made of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from workspace.git import Entry, GitStore, Signature, initialise
from workspace.objects import FILE_MODE, TREE_MODE

BRANCH = "main"


def markdown_files(root: Path) -> list[Path]:
    """The `*.md` files of a folder, sorted; those in folders that begin with a dot are no documents."""
    return [
        path
        for path in sorted(root.rglob("*.md"))
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(root).parts[:-1])
    ]
