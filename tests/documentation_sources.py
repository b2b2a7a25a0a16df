"""Documentation sources for tests: a sources file, and the two small repositories that it names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from index.sources.settings import read_sources_file
from index.sources.sources import SourceFolders, Sources
from tests.repositories import Repo, create_repository

API: Mapping[str, str] = {
    "docs/errors.md": (
        "# Errors {#errors}\n\n## Rate limits {#rate-limits}\n\nA `RateLimitError` says when to retry.\n"
    ),
    "docs/paging.md": "# Paging {#paging}\n\n## Cursors {#cursors}\n\nPass the cursor of the page before.\n",
    "internal/notes.md": "# Internal notes\n\nThe cursor is secret here.\n",
}
GUIDES: Mapping[str, str] = {
    "install.md": "# Install\n\n## Steps\n\nRun the installer, then restart the shell.\n",
    "retry.md": "# Retrying\n\n## Backoff\n\nWait twice as long before each retry of a failed page.\n",
}


def create_source_repositories(folder: Path) -> tuple[Repo, Repo]:
    """Create the repositories `api` and `guides` in a folder."""
    repositories = create_repository(folder / "api"), create_repository(folder / "guides")
    repositories[0].commit(API)
    repositories[1].commit(GUIDES)
    return repositories


TWO_SOURCES = """
[sources.api-reference]
repo = "api"
folder = "docs"
description = "Complete API documentation and guides"
permalink = "https://docs.example.com/{page}#{anchor}"

[sources.tutorials]
repo = "guides"
description = "Step-by-step tutorials and examples"
"""


def write_sources_file(folder: Path, text: str = TWO_SOURCES) -> Path:
    """Write the file `sources.toml` into a folder, and return its path."""
    file = folder / "sources.toml"
    file.write_text(text, encoding="utf-8")
    return file


def open_test_sources(file: Path) -> Sources:
    """Open the sources of a sources file, with clones and indexes in the folder of the file."""
    folders = SourceFolders(file.parent, file.parent / "clones", file.parent / "indexes")
    return Sources(read_sources_file(file), folders)
