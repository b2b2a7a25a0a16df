"""Nodes that serve a branch: one index in PostgreSQL, which each node follows with its own clone."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from index.port import EngineUnavailable
from index.postgres.database import Database
from index.postgres.options import EngineOptions, create_engine_options
from index.service import SearchIndex, SearchPage
from index.sources.settings import SourceSettings
from index.sources.source import Source
from index.whoosh_engine.engine import WhooshEngine
from tests.call_hooks import run_after_call
from tests.postgres_server import run_postgres
from tests.repositories import Repo
from workspace.workspace import Workspace

pytestmark = pytest.mark.process

OpenIndex = Callable[..., SearchIndex]

MEMO = {"new.md": "# New\n\nAn okapi.\n"}
LETTER = {"letter.md": "# Letter\n\nA quagga.\n"}


@pytest.fixture
def open_node_index(url: str, repo: Repo, tmp_path: Path) -> OpenIndex:
    """Return a function that opens the index of a node, with a clone at a path or the repository itself."""

    def open_index(
        name: str, path: Path | None = None, database_url: str = url, **options: Any
    ) -> SearchIndex:
        workspace = Workspace.open(path or repo.path)
        engine = create_engine_options(database_url, **options)._replace(repository="docs")
        return SearchIndex(workspace, location=tmp_path / name, engine=engine)

    return open_index


def describe(page: SearchPage) -> tuple[str | None, bool, list[str]]:
    return page.commit, page.is_stale, [hit.filepath for hit in page.hits]


def test_second_node_reads_what_the_first_has_indexed(open_node_index: OpenIndex, repo: Repo) -> None:
    first, second = open_node_index("first"), open_node_index("second")
    reports: list[str] = []
    expected = first.search("errors", limit=50)
    page = second.search("errors", limit=50, progress=lambda done, total, text: reports.append(text))
    assert (page.hits, page.commit, reports) == (expected.hits, repo.head(), [])
    for number in range(6):
        repo.commit({"new.md": f"# New {number}\n\nAn okapi.\n"})
        nodes = (first, second) if number % 2 else (second, first)
        assert [describe(node.search("okapi")) for node in nodes] == [(repo.head(), False, ["new.md"])] * 2
    assert first.count_taxonomy_values() == second.count_taxonomy_values()
    second.rebuild()
    assert first.search("errors", limit=50).hits == second.search("errors", limit=50).hits
    status = second.status()
    assert (status.engine, status.is_current, status.is_damaged) == ("postgresql", True, False)


def test_cursor_of_one_node_continues_on_another(open_node_index: OpenIndex) -> None:
    first, second = open_node_index("first"), open_node_index("second")
    first_page = first.search("retry", limit=1)
    assert first_page.next_cursor is not None
    next_page = second.search("retry", limit=1, cursor=first_page.next_cursor)
    assert next_page.hits == first.search("retry", limit=2).hits[1:]


@pytest.mark.guarantee
def test_stopped_database_gives_stale_results_and_fresh_ones_after_its_start(
    open_node_index: OpenIndex, repo: Repo
) -> None:
    with run_postgres() as server:
        url = server.create_database()
        node, new_node = (open_node_index(name, database_url=url) for name in ("first", "second"))
        commit = node.update_to_tip()
        server.stop()
        # At the tip, the database is not needed.
        assert describe(node.search("zanzibar limits"))[:2] == (commit, False)
        repo.commit(MEMO)
        assert describe(node.search("okapi")) == (commit, True, [])
        assert node.search("errors").hits
        with pytest.raises(EngineUnavailable):
            new_node.search("okapi")
        server.start()
        time.sleep(1.1)
        for index in (node, new_node):
            assert describe(index.search("okapi")) == (repo.head(), False, ["new.md"])


def test_clone_that_is_behind_leaves_the_index_to_the_node_that_is_ahead(
    open_node_index: OpenIndex, repo: Repo, tmp_path: Path
) -> None:
    late_clone = Repo(shutil.copytree(repo.path, tmp_path / "clone"))
    first, late, restarted = (
        open_node_index("first"),
        open_node_index("late", late_clone.path),
        open_node_index("restarted", late_clone.path),
    )
    old_commit = late.update_to_tip()
    repo.commit(MEMO)
    first.update_to_tip()
    assert describe(late.search("okapi")) == (old_commit, False, [])
    # The text of the new document is missing in this clone.
    page = restarted.search("okapi")
    assert (describe(page), page.hits[0].text) == ((repo.head(), True, ["new.md"]), b"")
    assert first.status().is_current
    # After the limit, the commit counts as one that was removed from the branch.
    impatient = open_node_index("impatient", late_clone.path, max_lag_s=-10.0)
    assert describe(impatient.search("okapi")) == (old_commit, False, [])
    assert describe(first.search("okapi")) == (repo.head(), False, ["new.md"])


def test_values_are_counted_while_the_clone_lacks_the_indexed_commit(
    open_node_index: OpenIndex, repo: Repo, tmp_path: Path
) -> None:
    clone = Repo(shutil.copytree(repo.path, tmp_path / "clone"))
    first, late = open_node_index("first"), open_node_index("late", clone.path)
    repo.commit(MEMO)
    first.update_to_tip()
    assert late.count_taxonomy_values() == first.count_taxonomy_values() != {}


def test_metadata_describes_a_commit_of_the_clone_while_another_node_indexes_a_later_one(
    open_node_index: OpenIndex, repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = Repo(shutil.copytree(repo.path, tmp_path / "clone"))
    node, other = open_node_index("node", clone.path), open_node_index("other")
    node.update_to_tip()
    commit = clone.commit(MEMO)
    repo.git("pull", "-q", str(clone.path))
    repo.commit(LETTER)
    run_after_call(monkeypatch, WhooshEngine, "apply", other.update_to_tip)
    assert node.update_to_tip() == commit
    metadata = node.metadata()
    assert metadata is not None
    assert metadata.stats.source_commit == commit
    assert describe(other.search("quagga")) == (repo.head(), False, ["letter.md"])


def test_branch_that_was_set_back_is_indexed_again(open_node_index: OpenIndex, repo: Repo) -> None:
    node = open_node_index("first")
    old_commit = node.update_to_tip()
    repo.commit(MEMO)
    assert node.search("okapi").hits
    repo.git("reset", "--hard", "-q", str(old_commit))
    assert describe(node.search("okapi"))[1] is True
    impatient = open_node_index("impatient", max_lag_s=-10.0)
    assert describe(impatient.search("okapi")) == (old_commit, False, [])


def test_erased_text_is_in_no_row_of_the_database(open_node_index: OpenIndex, repo: Repo, url: str) -> None:
    node = open_node_index("first")
    repo.commit({"new.md": "# New\n\nAn okapi.\n"})
    node.update_to_tip()

    def find_rows() -> int:
        with psycopg.connect(url) as connection:
            statement = (
                "SELECT count(*) FROM docyard_index_segments WHERE position('okapi'::bytea IN data) > 0"
            )
            return int(connection.execute(statement).fetchall()[0][0])

    assert find_rows() == 1
    repo.commit({"new.md": "# New\n"})
    node.erase()
    assert find_rows() == 0
    assert node.search("errors").hits


def test_branches_and_repositories_have_namespaces_of_their_own(repo: Repo, url: str, tmp_path: Path) -> None:
    def make_namespace_id(branch: str | None = None, repository: str = "") -> str:
        options = EngineOptions(Database(url), repository=repository)
        index = SearchIndex(Workspace.open(repo.path, branch=branch), location=tmp_path, engine=options)
        return index._live._make_namespace_id()

    repo.git("branch", "other")
    ids = [make_namespace_id(), make_namespace_id("other"), make_namespace_id(repository="docs")]
    repo.git("remote", "add", "origin", "https://ana:secret@example.org/docs.git")
    ids.append(make_namespace_id())
    repo.git("remote", "set-url", "origin", "https://example.org/docs.git")
    assert make_namespace_id() == ids[-1]
    assert len(set(ids)) == len(ids) == 4
    assert "secret" not in " ".join(ids)


def test_index_of_a_deleted_branch_is_deleted_after_a_week(repo: Repo, url: str, tmp_path: Path) -> None:
    def build(branch: str, path: Path | None = None) -> SearchIndex:
        workspace = Workspace.open(path or repo.path, branch=branch)
        index = SearchIndex(workspace, location=tmp_path / branch, engine=create_engine_options(url))
        index.update_to_tip()
        return index

    def list_branches(table: str) -> list[str]:
        with psycopg.connect(url) as connection:
            rows = connection.execute(f"SELECT DISTINCT namespace_id FROM {table} ORDER BY 1")
            return sorted(id.partition(" ")[2] for (id,) in rows)

    def age(days: int) -> None:
        with psycopg.connect(url) as connection:
            connection.execute(f"UPDATE docyard_index_heads SET changed_at = now() - interval '{days} days'")

    other = Repo(shutil.copytree(repo.path, tmp_path / "other-repository"))
    for repository, name in ((repo, "docs"), (other, "other")):
        repository.git("remote", "add", "origin", f"https://example.org/{name}.git")
    for branch in ("deleted", "kept", "on-remote"):
        repo.git("branch", branch)
        other.git("branch", branch)
        build(branch)
    build("deleted", other.path)
    index = build("main")
    repo.git("update-ref", "refs/remotes/origin/on-remote", "on-remote")
    repo.git("branch", "-q", "-D", "deleted", "on-remote")
    age(6)
    index.sweep()
    assert list_branches("docyard_index_heads") == ["deleted", "deleted", "kept", "main", "on-remote"]
    age(8)
    index.sweep()
    for table in ("docyard_index_heads", "docyard_index_segments"):
        # One of the other repository stays.
        assert list_branches(table) == ["deleted", "kept", "main", "on-remote"]
    repo.git("branch", "-q", "-D", "kept")
    age(8)
    repo.git("branch", "new")
    build("new")
    assert list_branches("docyard_index_heads") == ["deleted", "main", "new", "on-remote"]


def test_source_uses_the_same_index_on_each_node(repo: Repo, url: str, tmp_path: Path) -> None:
    def open_source(node: str, organization: str = "") -> Source:
        settings = SourceSettings(repo=str(repo.path))
        folders = (tmp_path, tmp_path / node / "clones", tmp_path / node / "indexes")
        return Source(
            "docs", settings, *folders, organization=organization, engine=EngineOptions(Database(url))
        )

    reports: list[str] = []

    def report(done: int, total: int, text: str) -> None:
        reports.append(text)

    expected = open_source("first").search("errors", 10, report)
    assert expected.hits
    assert reports
    reports.clear()
    assert open_source("second").search("errors", 10, report).hits == expected.hits
    assert reports == []
    assert open_source("second", organization="acme").search("errors", 10, report).hits == expected.hits
    assert reports
