"""Sources of a server: selection, searches in one or all, failures of one source, and a changed file."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from index.query import EmptyQuery
from index.service import SearchPage, VectorSearchUnavailable
from index.sources.settings import read_sources_file
from index.sources.source import SourceUnavailable
from index.sources.sources import (
    NamespaceNotFound,
    NamespaceRequired,
    NoNamespacesConfigured,
    Sources,
    SourcesDifference,
    diff_sources_files,
    search_sources,
)
from tests.documentation_sources import (
    TWO_SOURCES,
    create_source_repositories,
    open_test_sources,
    write_sources_file,
)
from tests.repositories import Repo
from workspace.revisions import RefNotFound
from workspace.snapshot import snapshot
from workspace.snapshot.snapshot import Listing

LISTING_WAIT_ATTRIBUTE = "index.sources.source._MAX_LISTING_WAIT_S"
RETRY_AFTER_ATTRIBUTE = "index.sources.source._RETRY_AFTER_S"


@pytest.fixture
def repositories(tmp_path: Path) -> tuple[Repo, Repo]:
    return create_source_repositories(tmp_path)


@pytest.fixture
def sources(
    tmp_path: Path, repositories: tuple[Repo, Repo], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Sources]:
    monkeypatch.setattr(RETRY_AFTER_ATTRIBUTE, 0.0)
    opened_sources = open_test_sources(write_sources_file(tmp_path))
    yield opened_sources
    opened_sources.close()


def list_addresses(sources: Sources, query: str, namespace: str | None = "*") -> list[str]:
    page = search_sources(sources.select(namespace), query, limit=10)
    return [f"{hit.source.name}:{hit.hit.address}" for hit in page.hits]


def test_namespace_selects_sources(sources: Sources) -> None:
    assert [source.name for source in sources.select("tutorials")] == ["tutorials"]
    assert [source.name for source in sources.select("*")] == ["api-reference", "tutorials"]
    for namespace in (None, "", "  "):
        with pytest.raises(NamespaceRequired, match=r"available: api-reference, tutorials$"):
            sources.select(namespace)
    with pytest.raises(NamespaceNotFound) as error_info:
        sources.select("tutorial")
    assert error_info.value.details["nearest"] == ["tutorials"]
    with pytest.raises(NamespaceNotFound):
        sources.select("*", allows_all=False)


def test_only_source_needs_no_namespace(tmp_path: Path, repositories: tuple[Repo, Repo]) -> None:
    sources = open_test_sources(write_sources_file(tmp_path, '[sources.guides]\nrepo = "guides"\n'))
    for namespace in (None, "", "*", "guides"):
        assert list_addresses(sources, "shell", namespace) == ["guides:install.md#steps"]


def test_server_without_sources_has_no_namespaces(tmp_path: Path) -> None:
    sources = open_test_sources(write_sources_file(tmp_path, ""))
    for namespace in (None, "*", "api"):
        with pytest.raises(NoNamespacesConfigured, match="No documentation namespaces configured"):
            sources.select(namespace)


def test_only_the_folder_of_a_source_is_searched_and_read(sources: Sources) -> None:
    assert list_addresses(sources, "cursor") == ["api-reference:docs/paging.md#cursors"]
    [source] = sources.select("api-reference")
    with source.open() as index:
        assert list(index.workspace.snapshot().documents) == ["docs/errors.md", "docs/paging.md"]


def test_only_served_history_can_be_read(sources: Sources, repositories: tuple[Repo, Repo]) -> None:
    first_commit = repositories[1].head()
    repositories[1].git("branch", "draft")
    repositories[1].git("checkout", "-q", "draft")
    draft_commit = repositories[1].commit({"draft.md": "# Draft\n\nUnpublished.\n"})
    repositories[1].git("checkout", "-q", "-")
    repositories[1].commit({"install.md": "# Install\n\nChanged.\n"})
    [source] = sources.select("tutorials")
    with source.open() as index:
        assert index.workspace.at(first_commit).commit == first_commit
        for ref in ("draft", draft_commit):
            with pytest.raises(RefNotFound):
                index.workspace.at(ref)


def test_branch_is_followed_and_tag_never_changes(tmp_path: Path, repositories: tuple[Repo, Repo]) -> None:
    repositories[1].git("tag", "v1")
    text = '[sources.v1]\nrepo = "guides"\nref = "v1"\n[sources.latest]\nrepo = "guides"\n'
    sources = open_test_sources(write_sources_file(tmp_path, text))
    assert list_addresses(sources, "zebra") == []
    repositories[1].commit({"zoo.md": "# Zoo\n\nA zebra.\n"})
    assert list_addresses(sources, "zebra") == ["latest:zoo.md#_preamble"]
    assert list_addresses(sources, "shell", "v1") == ["v1:install.md#steps"]


def test_searched_repository_is_not_written(sources: Sources, repositories: tuple[Repo, Repo]) -> None:
    before = sorted(path for path in (repositories[1].path / ".git").rglob("*"))
    list_addresses(sources, "installer")
    assert sorted(path for path in (repositories[1].path / ".git").rglob("*")) == before


def test_rank_fusion_prefers_the_source_with_more_words_of_the_question(sources: Sources) -> None:
    page = search_sources(sources.select("*"), "RateLimitError retry", limit=10)
    assert page.hits[0].hit.address == "docs/errors.md#rate-limits"
    scores = [hit.score for hit in page.hits]
    assert scores == sorted(scores, reverse=True)
    assert set(page.commits) == {"api-reference", "tutorials"}


def test_repeated_question_is_searched_once_for_each_commit(
    sources: Sources, repositories: tuple[Repo, Repo], monkeypatch: pytest.MonkeyPatch
) -> None:
    [source] = sources.select("tutorials")
    searches: list[str] = []
    with source.open() as index:
        search = index.search

        def count_search(query: str, **options: Any) -> SearchPage:
            searches.append(query)
            return search(query, **options)

        monkeypatch.setattr(index, "search", count_search)
    assert source.search("retry", 5) == source.search("retry", 5)
    assert searches == ["retry"]
    source.search("retry", 6)
    source.search("shell", 5)
    assert searches == ["retry", "retry", "shell"]
    repositories[1].commit({"zoo.md": "# Zoo\n\nRetry the zebra.\n"})
    assert any(hit.filepath == "zoo.md" for hit in source.search("retry", 5).hits)
    assert len(searches) == 4


def test_search_for_vectors_is_refused_after_the_same_question_by_words(sources: Sources) -> None:
    assert search_sources(sources.select("tutorials"), "retry", limit=3).hits
    with pytest.raises(VectorSearchUnavailable):
        search_sources(sources.select("tutorials"), "retry", limit=3, search_type="vector")


def test_word_is_missing_only_if_no_source_contains_it(sources: Sources) -> None:
    page = search_sources(sources.select("*"), "cursor installer unicorn", limit=10)
    assert page.missing_words == ("unicorn",)
    page = search_sources(sources.select("tutorials"), "cursor installer unicorn", limit=10)
    assert page.missing_words == ("cursor", "unicorn")


def test_invalid_query_is_not_a_failure_of_a_source(sources: Sources) -> None:
    with pytest.raises(EmptyQuery):
        search_sources(sources.select("*"), " ", limit=10)
    assert all(source.failure is None for source in sources)


def test_removed_source_fails_alone_and_returns_by_itself(
    tmp_path: Path, sources: Sources, repositories: tuple[Repo, Repo]
) -> None:
    assert len(list_addresses(sources, "retry")) == 3
    repositories[1].path.rename(tmp_path / "elsewhere")
    page = search_sources(sources.select("*"), "retry", limit=10)
    assert [hit.source.name for hit in page.hits] == ["api-reference"]
    assert list(page.unavailable) == ["tutorials"]
    with pytest.raises(SourceUnavailable):
        search_sources(sources.select("tutorials"), "retry", limit=10)
    (tmp_path / "elsewhere").rename(repositories[1].path)
    assert len(list_addresses(sources, "retry")) == 3
    assert all(source.failure is None for source in sources)


def test_rewritten_source_is_searched_again(sources: Sources, repositories: tuple[Repo, Repo]) -> None:
    assert len(list_addresses(sources, "shell")) == 1
    path = repositories[1].path
    shutil.rmtree(path)
    repository = Repo(path)
    path.mkdir()
    repository.git("init", "-q", "-b", "main")
    for name, value in (("user.name", "Ada"), ("user.email", "ada@example.org")):
        repository.git("config", name, value)
    repository.commit({"other.md": "# Other\n\nA walrus.\n"})
    assert list_addresses(sources, "walrus") == ["tutorials:other.md#_preamble"]
    assert list_addresses(sources, "installer") == []


def test_damaged_source_fails_alone(
    tmp_path: Path, sources: Sources, repositories: tuple[Repo, Repo]
) -> None:
    for file in (repositories[1].path / ".git" / "objects").rglob("*"):
        if file.is_file():
            file.chmod(0o600)
            file.write_bytes(b"damaged")
    page = search_sources(sources.select("*"), "retry", limit=10)
    assert [hit.source.name for hit in page.hits] == ["api-reference"]
    assert list(page.unavailable) == ["tutorials"]


def test_commit_with_too_many_files_is_listed_once(
    sources: Sources, repositories: tuple[Repo, Repo], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as limited:
        limited.setattr(snapshot, "MAX_FILES", 1)
        with pytest.raises(SourceUnavailable, match="more than 1 files"):
            list_addresses(sources, "installer", "tutorials")
    with pytest.raises(SourceUnavailable, match="more than 1 files"):  # the commit is not listed again
        list_addresses(sources, "installer", "tutorials")
    repositories[1].commit({"more.md": "# More\n\nThe installer of more.\n"})
    assert "tutorials:more.md#_preamble" in list_addresses(sources, "installer")
    assert all(source.failure is None for source in sources)


def test_calls_do_not_wait_for_a_long_listing(sources: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    listing_started, listing_ended = threading.Event(), threading.Event()
    read = Listing.read

    def read_slowly(*arguments: Any) -> Listing:
        listing_started.set()
        listing_ended.wait(30)
        return read(*arguments)

    monkeypatch.setattr(LISTING_WAIT_ATTRIBUTE, 0.0)
    monkeypatch.setattr(Listing, "read", read_slowly)
    [source] = sources.select("tutorials")
    thread = threading.Thread(target=source.search, args=("installer", 1))
    thread.start()
    assert listing_started.wait(30)
    monkeypatch.setattr(LISTING_WAIT_ATTRIBUTE, 60.0)  # the wait of the listing under way is over
    with pytest.raises(SourceUnavailable, match="being listed"):
        source.search("installer", 1)
    listing_ended.set()
    thread.join()
    assert source.search("installer", 1).hits


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ('repo = "absent"', "does not exist"),
        ('repo = "."', "not a Git repository"),
        ('repo = "guides"\nref = "absent"', "names no branch"),
        ('artifact = "guides"', "artifact"),
        ('url = "https://host.invalid/x.git"', "not been fetched yet"),
        ('repo = "api/docs"', "it is a folder in a repository"),
        ('repo = "api"\nfolder = "dosc"', "no folder 'dosc'"),
        ('repo = "api"\nfolder = "docs/errors.md"', "no folder 'docs/errors.md'"),
    ],
)
def test_source_that_cannot_be_opened_has_a_reason(
    tmp_path: Path, repositories: tuple[Repo, Repo], settings: str, reason: str
) -> None:
    sources = open_test_sources(write_sources_file(tmp_path, f"[sources.a]\n{settings}\n"))
    with pytest.raises(SourceUnavailable, match=reason):
        search_sources(sources.select("a"), "retry", limit=10)


def test_ref_that_is_not_served_does_not_show_whether_it_exists(
    sources: Sources, repositories: tuple[Repo, Repo]
) -> None:
    repositories[0].git("branch", "hidden")
    repositories[0].git("checkout", "-q", "hidden")
    repositories[0].commit({"docs/secret.md": "# Secret\n"})
    repositories[0].git("checkout", "-q", "main")
    [source] = sources.select("api-reference")
    messages = set()
    for ref in ("hidden", "hiden", "nothing", "0" * 40):
        with source.open() as index, pytest.raises(RefNotFound) as error_info:
            index.workspace.at(ref)
        messages.add((error_info.value.message, error_info.value.fix, str(error_info.value.details)))
    assert len(messages) == 1


def test_work_tree_and_git_folder_are_repositories(tmp_path: Path, repositories: tuple[Repo, Repo]) -> None:
    repositories[1].git("worktree", "add", "-q", str(tmp_path / "linked"), "-b", "other")
    for path in ("guides", "guides/.git", "linked"):
        text = f'[sources.a]\nrepo = "{path}"\nref = "main"\n'
        assert list_addresses(open_test_sources(write_sources_file(tmp_path, text)), "shell")


def test_empty_repository_is_a_source_without_documents(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    Repo(tmp_path / "empty").git("init", "-q", "-b", "main")
    sources = open_test_sources(write_sources_file(tmp_path, '[sources.a]\nrepo = "empty"\n'))
    assert list_addresses(sources, "retry") == []
    [source] = sources
    assert source.stats() == (0, source.stats().last_updated, None)


def test_stats_have_count_time_and_commit(sources: Sources, repositories: tuple[Repo, Repo]) -> None:
    [source] = sources.select("api-reference")
    stats = source.stats()
    assert (stats.document_count, stats.source_commit) == (2, repositories[0].head())
    assert (
        stats.last_updated
        == repositories[0].git("log", "-1", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", "--format=%cd").strip()
    )


def test_plan_and_replacement_of_the_file(tmp_path: Path, sources: Sources) -> None:
    [tutorials] = sources.select("tutorials")
    text = TWO_SOURCES.replace('folder = "docs"', 'folder = "internal"') + '[sources.new]\nrepo = "guides"\n'
    content = read_sources_file(write_sources_file(tmp_path, text))
    plan = diff_sources_files(sources.file, content)
    assert plan == SourcesDifference(("new",), ("api-reference",), (), ("tutorials",))
    assert sources.replace(content) == plan
    assert sources.select("tutorials") == (tutorials,)
    assert list_addresses(sources, "secret") == ["api-reference:internal/notes.md#_preamble"]
    assert sources.replace(read_sources_file(write_sources_file(tmp_path, ""))).removed == (
        "api-reference",
        "tutorials",
        "new",
    )
    assert len(sources) == 0
