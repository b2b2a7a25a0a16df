"""A full build of an artifact, and a build after changes of ten documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.corpus import SEED
from benchmarks.documents.edits import NotFound, places
from benchmarks.timing import seconds
from index.artifacts.build import build_artifact
from index.artifacts.contents import ContentFilter, read_commit_contents
from index.storage.keys import load_or_create_key
from workspace.edits import AppendContent
from workspace.git.reader import GitReader
from workspace.workspace import Workspace
from workspace.writing.plan import Mode

CHANGED = 10
"""The number of documents changed in one commit before the second build."""


def measure(repository: str, out: str, key: str) -> dict[str, Any]:
    """Measure both builds from the commit to the artifact in seconds, and its bytes."""
    git, place, secret = GitReader(Path(repository)), Path(out), load_or_create_key(Path(key))

    def make() -> None:
        commit = git.head().commit
        assert commit is not None
        build_artifact(read_commit_contents(git, commit, "benchmark", ContentFilter()), place, key=secret)

    full = seconds(make)
    workspace = Workspace.open(Path(repository), durable=False)
    changes = [
        AppendContent(file=path, slug=slug, content="A sentence more.")
        for path, slug in places(workspace, CHANGED, SEED)
    ]
    if not workspace.write(changes, mode=Mode.ALL, tool="benchmark", client="benchmark").is_committed:
        raise NotFound("the documents could not be changed")
    again = seconds(make)
    size = sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
    return {"full_s": full, "again_s": again, "bytes": size}
