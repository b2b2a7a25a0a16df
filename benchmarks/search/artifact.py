"""A full build of an artifact, and a second build after changes of ten documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.corpus import SEED
from benchmarks.documents.edits import EditFailed, draw_sections
from benchmarks.timing import measure_seconds
from index.artifacts.build import build_artifact
from index.artifacts.contents import ContentFilter, read_commit_contents
from index.storage.keys import load_or_create_key
from workspace.edits.text import AppendContent
from workspace.git.reader import GitReader
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode

CHANGED_DOCUMENT_COUNT = 10
"""The number of documents changed in one commit before the second build."""


def measure(repository: str, artifact_folder: str, key_file: str) -> dict[str, Any]:
    """Return the seconds of both builds, from the commit to the artifact, and the bytes of the artifact."""
    git, out, key = GitReader(Path(repository)), Path(artifact_folder), load_or_create_key(Path(key_file))

    def build_once() -> None:
        commit = git.head().commit
        assert commit is not None
        build_artifact(read_commit_contents(git, commit, "benchmark", ContentFilter()), out, key=key)

    first_s = measure_seconds(build_once)
    workspace = Workspace.open(Path(repository), durable=False)
    changes = [
        AppendContent(file=path, slug=slug, content="A sentence more.")
        for path, slug in draw_sections(workspace, CHANGED_DOCUMENT_COUNT, SEED)
    ]
    if not workspace.write(changes, mode=BatchMode.ALL, tool="benchmark", client="benchmark").is_committed:
        raise EditFailed("the documents could not be changed")
    second_s = measure_seconds(build_once)
    size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    return {"first_build_s": first_s, "second_build_s": second_s, "bytes": size}
