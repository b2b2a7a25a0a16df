"""The link graph follows its branch, and never omits a document that it has not read."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from index.link_graph.graph import LinkGraph
from index.link_graph.store import LinkStore
from index.service import SearchIndex
from index.storage.location import IndexLocation
from tests.repositories import Repo, create_repository
from workspace.workspace import Workspace

WORDS = {
    "a.md": "# A\n\nTo [b](b.md#part), [c](docs/c.md) and [the web](https://example.org/).\n",
    "b.md": "# B\n\n## Part\n\nBack to [a][].\n\n[a]: <a.md>\n",
    "docs/c.md": "# C\n\n![b](../b.md) <a href='/a.md#a'>x</a>\n",
    "docs/README.md": "# Docs\n\nAll of [c](c).\n",
}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "repository", WORDS)


@pytest.fixture
def workspace(repo: Repo) -> Workspace:
    return Workspace.open(repo.path)


def open_graph(workspace: Workspace) -> LinkGraph:
    """Open the graph as another process would."""
    return SearchIndex(workspace).links


@pytest.fixture
def graph(workspace: Workspace) -> Iterator[LinkGraph]:
    graph = open_graph(workspace)
    yield graph
    graph.close()


def find_links(graph: LinkGraph, workspace: Workspace, commit: str | None = None) -> dict[str, object]:
    """Return for each document and folder the documents that link to it, with their links."""
    snapshot = workspace.snapshot(commit)
    places = {path for document in snapshot.documents for path in (document, document.rpartition("/")[0])}
    return {path: graph.records(snapshot, path) for path in sorted(places)}


def fresh(workspace: Workspace, commit: str | None = None) -> dict[str, object]:
    """Return the same from a fresh graph in memory."""
    graph = LinkGraph(workspace, IndexLocation(lambda: "memory", lambda name: []))
    with closing(graph):
        graph.follow(workspace.snapshot(commit))
        return find_links(graph, workspace, commit)


def file_of(repo: Repo) -> Path:
    (file,) = (repo.path / ".git" / "docyard" / "index").glob("*/links-*.sqlite")
    return file


def sources(graph: LinkGraph, workspace: Workspace, path: str) -> list[str]:
    return list(graph.find_linking_documents(workspace.snapshot(), [path]))


def test_graph_returns_linking_documents_and_references(graph: LinkGraph, workspace: Workspace) -> None:
    graph.follow(workspace.snapshot())
    assert sources(graph, workspace, "a.md") == ["a.md", "b.md", "docs/c.md"]
    assert sources(graph, workspace, "docs/c.md") == ["a.md", "docs/README.md", "docs/c.md"]
    assert sources(graph, workspace, "docs/README.md") == ["docs/README.md"]
    records = graph.records(workspace.snapshot(), "b.md")
    assert records is not None
    assert [(path, [item.destination for item in record.references]) for path, record in records] == [
        ("a.md", ["b.md#part", "docs/c.md"]),
        ("docs/c.md", ["../b.md", "/a.md#a"]),
    ]


def test_long_record_is_read_again_after_change(graph: LinkGraph, workspace: Workspace, repo: Repo) -> None:
    repo.commit({"toc.md": "\n".join(f"- [x](docs/c.md#{number}) [y](b.md)" for number in range(150))})
    graph.follow(workspace.snapshot())
    for ending in ("", "- [z](b.md)\n"):
        if ending:
            repo.commit({"toc.md": (repo.path / "toc.md").read_text() + "\n" + ending})
        for _ in range(2):
            records = dict(graph.records(workspace.snapshot(), "b.md") or [])
            links = [item.destination for item in records["toc.md"].references]
            assert links == ["b.md"] * (150 + bool(ending))


def test_documents_are_scanned_before_the_graph_is_built(graph: LinkGraph, workspace: Workspace) -> None:
    assert graph.records(workspace.snapshot(), "a.md") is None
    assert sources(graph, workspace, "a.md") == ["a.md", "b.md", "docs/c.md"]


def test_query_updates_the_graph_after_an_edit(graph: LinkGraph, workspace: Workspace, repo: Repo) -> None:
    graph.follow(workspace.snapshot())
    repo.commit({"new.md": "[a](a.md)\n", "b.md": "# B\n"})
    assert sources(graph, workspace, "a.md") == ["a.md", "docs/c.md", "new.md"]
    with closing(LinkStore(file_of(repo))) as store:
        state = store.read_state()
        assert state is not None
        assert state.commit == repo.head()


def test_incrementally_updated_graph_equals_a_fresh_graph(workspace: Workspace, repo: Repo) -> None:
    chance = random.Random(7)
    names = [*WORDS, "docs/d.md", "e/index.md", "e/f.md"]
    graph = open_graph(workspace)
    graph.follow(workspace.snapshot())
    commits = [repo.head()]
    for number in range(12):
        for name in chance.sample(names, chance.randint(1, 3)):
            file = repo.path / name
            if file.exists() and chance.random() < 0.3:
                file.unlink()
                continue
            links = "\n\n".join(
                f"[x]({os.path.relpath(chance.choice(names), os.path.dirname(name) or '.')})"
                for _ in range(chance.randint(0, 4))
            )
            repo.write({name: f"# {number}\n\n{links}\n"})
        commits.append(repo.commit({}))
        assert find_links(graph, workspace) == fresh(workspace)
        old_commit = chance.choice(commits)
        assert find_links(graph, workspace, old_commit) == fresh(workspace, old_commit)
    graph.close()
    assert find_links(open_graph(workspace), workspace) == fresh(workspace)


def test_query_at_another_commit_does_not_move_the_graph(
    graph: LinkGraph, workspace: Workspace, repo: Repo
) -> None:
    first = repo.head()
    repo.commit({"b.md": "# B\n", "new.md": "[a](a.md)\n"})
    graph.follow(workspace.snapshot())
    old = workspace.snapshot(first)
    assert list(graph.find_linking_documents(old, ["a.md"])) == ["a.md", "b.md", "docs/c.md"]
    assert sources(graph, workspace, "a.md") == ["a.md", "docs/c.md", "new.md"]


def test_reset_of_the_branch_restores_old_links(graph: LinkGraph, workspace: Workspace, repo: Repo) -> None:
    before = fresh(workspace)
    repo.commit({"b.md": "# B\n", "new.md": "[a](a.md)\n"})
    graph.follow(workspace.snapshot())
    repo.git("reset", "-q", "--hard", "HEAD~1")
    assert find_links(graph, workspace) == before


def test_graph_at_a_pruned_commit_is_rebuilt(graph: LinkGraph, workspace: Workspace, repo: Repo) -> None:
    repo.commit({"b.md": "# B\n"})
    graph.follow(workspace.snapshot())
    repo.git("reset", "-q", "--hard", "HEAD~1")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    again = Workspace.open(repo.path)
    lost = open_graph(again)
    assert lost.records(again.snapshot(), "a.md") is None
    assert sources(lost, again, "a.md") == ["a.md", "b.md", "docs/c.md"]
    lost.follow(again.snapshot())
    assert find_links(lost, again) == fresh(again)


def test_changed_link_rules_change_links(graph: LinkGraph, workspace: Workspace, repo: Repo) -> None:
    repo.commit({"wiki.md": "[[c]]\n"})
    graph.follow(workspace.snapshot())
    assert "wiki.md" not in sources(graph, workspace, "docs/c.md")
    repo.commit({"docyard.toml": "[links]\nwiki = true\n"})
    assert "wiki.md" in sources(graph, workspace, "docs/c.md")
    graph.follow(workspace.snapshot())
    assert find_links(graph, workspace) == fresh(workspace)
    assert "wiki.md" in sources(graph, workspace, "docs/c.md")


def test_removed_graph_file_is_recreated(graph: LinkGraph, workspace: Workspace, repo: Repo) -> None:
    graph.follow(workspace.snapshot())
    for file in file_of(repo).parent.glob("links*"):
        file.unlink()
    assert sources(graph, workspace, "a.md") == ["a.md", "b.md", "docs/c.md"]
    graph.follow(workspace.snapshot())
    assert find_links(open_graph(workspace), workspace) == fresh(workspace)


def test_moved_repository_reuses_its_graph_and_copy_does_not(
    graph: LinkGraph, workspace: Workspace, repo: Repo, tmp_path: Path
) -> None:
    graph.follow(workspace.snapshot())
    repo.path.rename(tmp_path / "moved")
    moved_workspace = Workspace.open(tmp_path / "moved")
    moved_graph = open_graph(moved_workspace)
    assert moved_graph.records(moved_workspace.snapshot(), "a.md") is not None
    shutil.copytree(tmp_path / "moved", tmp_path / "copied")
    copied = Workspace.open(tmp_path / "copied")
    assert open_graph(copied).records(copied.snapshot(), "a.md") is None


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_unwritable_git_directory_stores_the_graph_elsewhere(workspace: Workspace, repo: Repo) -> None:
    (repo.path / ".git").chmod(0o500)
    try:
        graph = open_graph(workspace)
        graph.follow(workspace.snapshot())
        assert find_links(graph, workspace) == fresh(workspace)
    finally:
        (repo.path / ".git").chmod(0o700)


def test_graph_without_private_folder_stays_in_memory(workspace: Workspace, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a folder should be")
    graph = LinkGraph(workspace, IndexLocation(lambda: "x", lambda name: [blocked]))
    with closing(graph):
        graph.follow(workspace.snapshot())
        assert find_links(graph, workspace) == fresh(workspace)


def test_tree_without_documents_has_no_links(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "none", {"code.py": "1\n"})
    workspace = Workspace.open(repo.path)
    with closing(open_graph(workspace)) as graph:
        graph.follow(workspace.snapshot())
        assert graph.records(workspace.snapshot(), "a.md") == []


def _follow(path: Path, rounds: int) -> None:
    workspace = Workspace.open(path)
    with closing(open_graph(workspace)) as graph:
        for _ in range(rounds):
            graph.follow(workspace.snapshot())


@pytest.mark.process
def test_processes_share_one_graph(repo: Repo, workspace: Workspace) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_follow, args=(repo.path, 40)) for _ in range(2)]
    for process in processes:
        process.start()
    with closing(open_graph(workspace)) as graph:
        for number in range(10):
            repo.commit({f"new-{number}.md": "[a](a.md)\n"})
            graph.follow(workspace.snapshot())
            assert f"new-{number}.md" in sources(graph, workspace, "a.md")
        for process in processes:
            process.join()
            assert process.exitcode == 0
        assert find_links(graph, workspace) == fresh(workspace)


def test_background_thread_builds_the_graph(graph: LinkGraph, workspace: Workspace) -> None:
    graph.begin(workspace.snapshot()).join()
    assert graph.records(workspace.snapshot(), "a.md") is not None
