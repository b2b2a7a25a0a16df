"""Edits of sections, each committed and then found by a search for a word of the edit."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from benchmarks.corpus import SEED
from benchmarks.search.queries import best_of
from benchmarks.timing import seconds, spread, warm_seconds
from index.service import SearchIndex
from workspace.document.document import Document
from workspace.edits import AppendContent
from workspace.workspace import Workspace
from workspace.writing.plan import Mode

_WARM_UP = 3


class NotFound(Exception):
    """An edit was not possible, or a search did not find it."""


def measure(repository: str, count: int, durable: bool, queries: list[str]) -> dict[str, Any]:
    """Measure `count` edits of random sections until they are found, and the part of the commit.

    Queries, if any, are measured before and after in this process; `lists` are their results at the end.
    """
    workspace = Workspace.open(Path(repository), durable=durable)
    search = SearchIndex(workspace)
    search.follow()
    before = warm_seconds(best_of(search), queries)
    whole: list[float] = []
    commits: list[float] = []
    processor: list[float] = []
    for number, (path, slug) in enumerate(places(workspace, count + _WARM_UP, SEED + durable)):
        word = f"zq{'d' * durable}{number}edit"
        operation = AppendContent(file=path, slug=slug, content=f"A sentence with {word} in it.")
        start = time.process_time()
        committed = seconds(lambda: _write(workspace, operation))  # noqa: B023
        found = seconds(lambda: _find(search, word, f"{path}#{slug}"))  # noqa: B023
        processor.append(time.process_time() - start)
        commits.append(committed)
        whole.append(committed + found)
    result: dict[str, Any] = {
        "whole": spread(whole[_WARM_UP:]),
        "commit": spread(commits[_WARM_UP:]),
        "processor": spread(processor[_WARM_UP:]),
        "segments": search.status().segments,
    }
    if not queries:
        return result
    best = best_of(search)
    after = warm_seconds(best, queries)
    return result | {"before": spread(before), "after": spread(after), "lists": list(map(best, queries))}


def places(workspace: Workspace, count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Yield documents in random order, repeated if there are too few, with a section of each."""
    chance = random.Random(seed)
    documents = workspace.snapshot().documents
    places: list[tuple[str, str]] = []
    for path in chance.sample(list(documents), len(documents)):
        data = workspace.git.blob(documents[path])
        sections = Document.parse(data, path).sections
        # An open fence or comment would swallow appended text, so such a file is refused.
        if sections and b"```" not in data and b"<!--" not in data:
            places.append((path, chance.choice(sections).key))
        if len(places) == count:
            break
    if not places:
        raise NotFound("no document can be edited")
    return islice(cycle(places), count)


def _write(workspace: Workspace, operation: AppendContent) -> None:
    written = workspace.write([operation], mode=Mode.ALL, tool="benchmark", client="benchmark")
    if not written.is_committed:
        raise NotFound(f"{operation.file}: {written.steps[0].error}")


def _find(search: SearchIndex, word: str, chunk: str) -> None:
    hits = [hit.chunk_id for hit in search.search(word).hits]
    if hits != [chunk]:
        raise NotFound(f"{word} must be in {chunk} only, but was found in {hits}")
