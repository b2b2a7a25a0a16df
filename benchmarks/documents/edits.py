"""Edits of sections, each committed and then found by a search for a new word."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from benchmarks.corpus import SEED
from benchmarks.search.queries import make_top_ten_search
from benchmarks.timing import compute_p50_p95_ms, measure_seconds, measure_warm_seconds
from index.service import SearchIndex
from workspace.document.document import Document
from workspace.edits.text import AppendContent
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode

_WARM_UP_EDITS = 3


class EditFailed(Exception):
    """An edit was not possible, or a search did not find the edit."""


def measure(repository: str, count: int, durable: bool, queries: list[str]) -> dict[str, Any]:
    """Measure `count` edits of random sections with a search for each, and the commits alone.

    Queries, if any, are measured before and after the edits. `result_lists` are the results after the edits.
    Raises EditFailed.
    """
    workspace = Workspace.open(Path(repository), durable=durable)
    search = SearchIndex(workspace)
    search.update_to_tip()
    query_times_before = measure_warm_seconds(make_top_ten_search(search), queries)
    edit_times: list[float] = []
    commit_times: list[float] = []
    processor_times: list[float] = []
    for number, (path, slug) in enumerate(draw_sections(workspace, count + _WARM_UP_EDITS, SEED + durable)):
        word = f"zq{'d' * durable}{number}edit"
        operation = AppendContent(file=path, slug=slug, content=f"A sentence with {word} in it.")
        start = time.process_time()
        commit_s = measure_seconds(lambda: write_edit(workspace, operation))  # noqa: B023
        search_s = measure_seconds(lambda: check_only_hit(search, word, f"{path}#{slug}"))  # noqa: B023
        processor_times.append(time.process_time() - start)
        commit_times.append(commit_s)
        edit_times.append(commit_s + search_s)
    results: dict[str, Any] = {
        "edit_and_search": compute_p50_p95_ms(edit_times[_WARM_UP_EDITS:]),
        "commit": compute_p50_p95_ms(commit_times[_WARM_UP_EDITS:]),
        "processor_time": compute_p50_p95_ms(processor_times[_WARM_UP_EDITS:]),
        "segments": search.status().segments,
    }
    if not queries:
        return results
    find_top_ten = make_top_ten_search(search)
    query_times_after = measure_warm_seconds(find_top_ten, queries)
    return results | {
        "queries_before": compute_p50_p95_ms(query_times_before),
        "queries_after": compute_p50_p95_ms(query_times_after),
        "result_lists": list(map(find_top_ten, queries)),
    }


def draw_sections(workspace: Workspace, count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Yield `count` documents in random order, each with a section; repeat documents if there are too few.

    Raises EditFailed if no document can be edited.
    """
    rng = random.Random(seed)
    documents = workspace.snapshot().documents
    drawn_sections: list[tuple[str, str]] = []
    for path in rng.sample(list(documents), len(documents)):
        data = workspace.git.blob(documents[path])
        sections = Document.parse(data, path).sections
        # Files with fences or comments are omitted: an open fence or comment would contain the appended text.
        if sections and b"```" not in data and b"<!--" not in data:
            drawn_sections.append((path, rng.choice(sections).key))
        if len(drawn_sections) == count:
            break
    if not drawn_sections:
        raise EditFailed("no document can be edited")
    return islice(cycle(drawn_sections), count)


def write_edit(workspace: Workspace, operation: AppendContent) -> None:
    """Commit an edit. Raises EditFailed."""
    result = workspace.write([operation], mode=BatchMode.ALL, tool="benchmark", client="benchmark")
    if not result.is_committed:
        raise EditFailed(f"{operation.file}: {result.steps[0].error}")


def check_only_hit(search: SearchIndex, word: str, chunk_id: str) -> None:
    """Raise EditFailed unless the chunk is the only hit of a search for the word."""
    hits = [hit.chunk_id for hit in search.search(word).hits]
    if hits != [chunk_id]:
        raise EditFailed(f"{word} must be in {chunk_id} only, but the hits are {hits}")
