"""One section edited, committed, and found by a search for a word that only the edit brought."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from benchmarks.corpus import SEED
from benchmarks.timing import seconds, spread
from index.service import SearchIndex
from workspace.document import Document
from workspace.edits import AppendContent
from workspace.plan import Mode
from workspace.workspace import Workspace

_WARM_UP = 3


class NotFound(Exception):
    """An edit that a search did not find."""


def measure(repository: str, count: int, durable: bool) -> dict[str, Any]:
    """The whole way of `count` edits in sections drawn by chance, and the commit's part of it."""
    workspace = Workspace.open(Path(repository), durable=durable)
    search = SearchIndex(workspace)
    search.follow()
    whole: list[float] = []
    commits: list[float] = []
    processor: list[float] = []
    for number, (path, slug) in enumerate(_places(workspace, count + _WARM_UP, SEED + durable)):
        word = f"zq{'d' * durable}{number}edit"
        operation = AppendContent(file=path, slug=slug, content=f"A sentence with {word} in it.")
        start = time.process_time()
        committed = seconds(lambda: _write(workspace, operation))  # noqa: B023
        found = seconds(lambda: _find(search, word, f"{path}#{slug}"))  # noqa: B023
        processor.append(time.process_time() - start)
        commits.append(committed)
        whole.append(committed + found)
    return {
        "whole": spread(whole[_WARM_UP:]),
        "commit": spread(commits[_WARM_UP:]),
        "processor": spread(processor[_WARM_UP:]),
    }


def _places(workspace: Workspace, count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Documents in an order drawn by chance, over again if there are too few, and a section of each."""
    chance = random.Random(seed)
    documents = workspace.snapshot().documents
    places: list[tuple[str, str]] = []
    for path in chance.sample(list(documents), len(documents)):
        data = workspace.git.blob(documents[path])
        sections = Document.parse(data, path).sections
        # An open fence or comment would swallow what is appended after it, so such a file is refused.
        if sections and b"```" not in data and b"<!--" not in data:
            places.append((path, chance.choice(sections).key))
        if len(places) == count:
            break
    if not places:
        raise NotFound("There is no document that could be edited.")
    return islice(cycle(places), count)


def _write(workspace: Workspace, operation: AppendContent) -> None:
    written = workspace.write([operation], mode=Mode.ALL, tool="benchmark", client="benchmark")
    if not written.is_committed:
        raise NotFound(f"{operation.file}: {written.steps[0].error}")


def _find(search: SearchIndex, word: str, chunk: str) -> None:
    hits = [hit.chunk_id for hit in search.search(word).hits]
    if hits != [chunk]:
        raise NotFound(f"{word} ought to be in {chunk} alone, and was found in {hits}")
