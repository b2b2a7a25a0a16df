"""Edits of sections, each committed and then found by a search for a new word."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from benchmarks.corpus import SEED
from benchmarks.search.queries import bind_top_ten
from benchmarks.timing import measure_seconds, measure_warm_seconds, p50_p95_ms
from index.service import SearchIndex
from workspace.document.document import Document
from workspace.edits import AppendContent
from workspace.workspace import Workspace
from workspace.writing.plan import Mode

_WARM_UP = 3


class EditFailed(Exception):
    """An edit was not possible, or a search did not find it."""


def measure(repository: str, count: int, durable: bool, queries: list[str]) -> dict[str, Any]:
    """Measure `count` edits of random sections with a search for each edit, and the time of the commit alone.

    Queries, if any, are measured before and after the edits; `lists` are their results after the edits.
    """
    workspace = Workspace.open(Path(repository), durable=durable)
    search = SearchIndex(workspace)
    search.follow()
    before_s = measure_warm_seconds(bind_top_ten(search), queries)
    whole_s: list[float] = []
    commits_s: list[float] = []
    processor_s: list[float] = []
    for number, (path, slug) in enumerate(draw_sections(workspace, count + _WARM_UP, SEED + durable)):
        word = f"zq{'d' * durable}{number}edit"
        operation = AppendContent(file=path, slug=slug, content=f"A sentence with {word} in it.")
        start = time.process_time()
        commit_s = measure_seconds(lambda: _write(workspace, operation))  # noqa: B023
        search_s = measure_seconds(lambda: _find(search, word, f"{path}#{slug}"))  # noqa: B023
        processor_s.append(time.process_time() - start)
        commits_s.append(commit_s)
        whole_s.append(commit_s + search_s)
    results: dict[str, Any] = {
        "whole": p50_p95_ms(whole_s[_WARM_UP:]),
        "commit": p50_p95_ms(commits_s[_WARM_UP:]),
        "processor": p50_p95_ms(processor_s[_WARM_UP:]),
        "segments": search.status().segments,
    }
    if not queries:
        return results
    find_top_ten = bind_top_ten(search)
    after_s = measure_warm_seconds(find_top_ten, queries)
    return results | {
        "before": p50_p95_ms(before_s),
        "after": p50_p95_ms(after_s),
        "lists": list(map(find_top_ten, queries)),
    }


def draw_sections(workspace: Workspace, count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Yield a document and a section, for documents in random order, repeated if there are too few."""
    rng = random.Random(seed)
    documents = workspace.snapshot().documents
    drawn_sections: list[tuple[str, str]] = []
    for path in rng.sample(list(documents), len(documents)):
        data = workspace.git.blob(documents[path])
        sections = Document.parse(data, path).sections
        # Files with fences or comments are omitted: an open one would contain the appended text.
        if sections and b"```" not in data and b"<!--" not in data:
            drawn_sections.append((path, rng.choice(sections).key))
        if len(drawn_sections) == count:
            break
    if not drawn_sections:
        raise EditFailed("no document can be edited")
    return islice(cycle(drawn_sections), count)


def _write(workspace: Workspace, operation: AppendContent) -> None:
    written = workspace.write([operation], mode=Mode.ALL, tool="benchmark", client="benchmark")
    if not written.is_committed:
        raise EditFailed(f"{operation.file}: {written.steps[0].error}")


def _find(search: SearchIndex, word: str, chunk: str) -> None:
    hits = [hit.chunk_id for hit in search.search(word).hits]
    if hits != [chunk]:
        raise EditFailed(f"{word} must be in {chunk} only, but was found in {hits}")
