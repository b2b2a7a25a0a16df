"""Lists of nodes that share an index in PostgreSQL: equal to those of the embedded engine, score by score."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from tests.databases import installed_postgres, postgres  # noqa: F401
from tests.index.documents import PATHS, make_random_document, make_random_query
from tests.index.engines import History

_LIMIT = 60


def check_lists(embedded: History, nodes: Sequence[History], rng: Random, count: int) -> None:
    """Compare the lists of random queries, each on one of the nodes."""
    for number in range(count):
        query, node = make_random_query(rng), nodes[number % len(nodes)]
        expected, results = embedded.search(query, limit=_LIMIT), node.search(query, limit=_LIMIT)
        assert (results.hits, results.has_more, results.is_partial, results.generation) == (
            expected.hits,
            expected.has_more,
            expected.is_partial,
            expected.generation,
        )


@pytest.mark.parametrize(
    ("server", "commit_count", "list_count"),
    [
        pytest.param("postgres", 20, 60, marks=pytest.mark.process),
        pytest.param("postgres", 300, 1_600, marks=pytest.mark.slow),
        pytest.param("installed_postgres", 300, 1_600, marks=pytest.mark.slow),
    ],
)
def test_lists_after_many_commits_and_a_rebuild_equal_those_of_the_embedded_engine(
    request: pytest.FixtureRequest, tmp_path: Path, server: str, commit_count: int, list_count: int
) -> None:
    url = request.getfixturevalue(server).create_database()
    folders = [tmp_path / name for name in ("embedded", "first", "second", "new")]
    for folder in folders:
        folder.mkdir(mode=0o700)
    embedded, new_node = History("whoosh", folders[0]), History("postgres", folders[3], url)
    nodes = [History("postgres", folder, url) for folder in folders[1:3]]
    rng = Random(7)
    paths = [*PATHS, *(f"docs/{number}.md" for number in range(40))]
    for number in range(commit_count):
        documents = [make_random_document(rng, path, rng.randrange(12)) for path in rng.sample(paths, 4)]
        deleted_paths = set(rng.sample(paths, 2)) - {document.path for document in documents}
        # The first history commits; the second one finds that its index is at the commit already.
        for history in (embedded, *(nodes if number % 2 else reversed(nodes))):
            history.commit(*documents, deletes=deleted_paths)
    new_node.blobs = embedded.blobs
    for _ in range(2):
        assert {str(history.state()) for history in (*nodes, new_node)} == {str(embedded.state())}
        check_lists(embedded, [*nodes, new_node], rng, list_count)
        embedded.rebuild()
        nodes[0].rebuild()
