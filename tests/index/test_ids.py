"""The ids of hits: each can be fetched, for any names of files and headings."""

from __future__ import annotations

import os

from index.service import SearchIndex
from tests.repositories import Repo


def fetch_hits(index: SearchIndex, query: str) -> list[str]:
    """Return the ids of the hits of a search, and check that each id can be fetched."""
    chunk_ids = [hit.chunk_id for hit in index.search(query, limit=50).hits]
    for chunk_id in chunk_ids:
        passage = index.read_passage(chunk_id)
        assert [chunk.chunk_id for chunk in passage.chunks] == [chunk_id]
        assert passage.text().splitlines()[0].startswith(f"--- Chunk: {chunk_id} (Chunk ")
    return chunk_ids


def test_documents_with_unprintable_names_are_not_indexed(index: SearchIndex, repo: Repo) -> None:
    names = ("a\nb", "a\rb", "a\x1fb", "a\x7fb", "a\x85b", "a\u2028b", os.fsdecode(b"a\xffb"))
    repo.commit({f"odd/{name}.md": "wombat" for name in names} | {"odd/fine.md": "wombat"})
    assert fetch_hits(index, "wombat") == ["odd/fine.md#_preamble"]
    assert index.status().state.files == 5  # type: ignore[union-attr]


def test_chunks_of_unusual_file_names_can_be_fetched(index: SearchIndex, repo: Repo) -> None:
    names = ("C#", "a b", "é", "#", "x" * 240, "a'b", "‮ab", "tasks[0]", "--- Chunk: a (Target) ---")
    repo.commit({f"odd/{name}.md": "# Wombat\n\n## Wombat\n" for name in names})
    assert len(fetch_hits(index, "wombat")) == 2 * len(names)


def test_chunks_of_unusual_headings_can_be_fetched(index: SearchIndex, repo: Repo) -> None:
    headings = (
        "Wombat {#a\x01b}",
        "Wombat {#_preamble}",
        "Wombat {#tasks[0]}",
        "Wombat " + "long " * 8_000,
        "Wombat #",
        "Wombat % 😀",
        "‮Wombat",
        "[0] Wombat",
        "Wombat / wombat",
    )
    sections_text = "".join(f"## {heading}\n\n### Wombat\n\n" for heading in headings)
    repo.commit({"odd.md": f"# Wombat\n\n{sections_text}"})
    assert len(fetch_hits(index, "wombat")) == 1 + 2 * len(headings)
