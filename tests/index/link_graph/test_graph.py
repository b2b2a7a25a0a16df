"""The link graph: it is updated with its branch, and documents that are not in it yet are scanned."""

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

DOCUMENTS = {
    "a.md": "# A\n\nTo [b](b.md#part), [c](docs/c.md) and [the web](https://example.org/).\n",
    "b.md": "# B\n\n## Part\n\nBack to [a][].\n\n[a]: <a.md>\n",
    "docs/c.md": "# C\n\n![b](../b.md) <a href='/a.md#a'>x</a>\n",
    "docs/README.md": "# Docs\n\nAll of [c](c).\n",
}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "repository", DOCUMENTS)


@pytest.fixture
def workspace(repo: Repo) -> Workspace:
    return Workspace.open(repo.path)


def open_graph(workspace: Workspace) -> LinkGraph:
    """Open the graph as another process does."""
    return SearchIndex(workspace).links


@pytest.fixture
def graph(workspace: Workspace) -> Iterator[LinkGraph]:
    graph = open_graph(workspace)
    yield graph
    graph.close()


def find_links(graph: LinkGraph, workspace: Workspace, commit: str | None = None) -> dict[str, object]:
    """Return, for each document and folder, the records of the documents that link to it."""
    snapshot = workspace.snapshot(commit)
    paths = {path for document in snapshot.documents for path in (document, document.rpartition("/")[0])}
    return {path: graph.find_records(snapshot, path) for path in sorted(paths)}


def find_links_in_new_graph(workspace: Workspace, commit: str | None = None) -> dict[str, object]:
    """Return what `find_links` returns, from a new graph in memory."""
    graph = LinkGraph(workspace, IndexLocation(lambda: "memory", lambda name: []))
    with closing(graph):
        graph.update_to(workspace.snapshot(commit))
        return find_links(graph, workspace, commit)


def find_graph_file(repo: Repo) -> Path:
    (file,) = (repo.path / ".git" / "docyard" / "index").glob("*/links-*.sqlite")
    return file


def find_linking_paths(graph: LinkGraph, workspace: Workspace, path: str) -> list[str]:
    return list(graph.find_linking_documents(workspace.snapshot(), [path]))


def test_graph_returns_linking_documents_and_references(graph: LinkGraph, workspace: Workspace) -> None:
    graph.update_to(workspace.snapshot())
    assert find_linking_paths(graph, workspace, "a.md") == ["a.md", "b.md", "docs/c.md"]
    assert find_linking_paths(graph, workspace, "docs/c.md") == ["a.md", "docs/README.md", "docs/c.md"]
    assert find_linking_paths(graph, workspace, "docs/README.md") == ["docs/README.md"]
    records = graph.find_records(workspace.snapshot(), "b.md")
    assert records is not None
    assert [(path, [item.destination for item in record.references]) for path, record in records] == [
        ("a.md", ["b.md#part", "docs/c.md"]),
        ("docs/c.md", ["../b.md", "/a.md#a"]),
    ]


def test_long_record_is_read_again_after_change(graph: LinkGraph, workspace: Workspace, repo: Repo) -> None:
    repo.commit({"toc.md": "\n".join(f"- [x](docs/c.md#{number}) [y](b.md)" for number in range(150))})
    graph.update_to(workspace.snapshot())
    for ending in ("", "- [z](b.md)\n"):
        if ending:
            repo.commit({"toc.md": (repo.path / "toc.md").read_text() + "\n" + ending})
        for _ in range(2):
            records = dict(graph.find_records(workspace.snapshot(), "b.md") or [])
            links = [item.destination for item in records["toc.md"].references]
            assert links == ["b.md"] * (150 + bool(ending))


def test_documents_are_scanned_before_the_graph_is_built(graph: LinkGraph, workspace: Workspace) -> None:
    assert graph.find_records(workspace.snapshot(), "a.md") is None
    assert find_linking_paths(graph, workspace, "a.md") == ["a.md", "b.md", "docs/c.md"]


def test_graph_is_ready_once_the_documents_are_read(
    graph: LinkGraph, workspace: Workspace, repo: Repo
) -> None:
    assert not graph.is_ready(workspace.snapshot())
    graph.update_to(workspace.snapshot())
    repo.commit({"d.md": "# D\n"})
    assert graph.is_ready(workspace.snapshot())


def test_query_updates_the_graph_after_an_edit(graph: LinkGraph, workspace: Workspace, repo: Repo) -> None:
    graph.update_to(workspace.snapshot())
    repo.commit({"new.md": "[a](a.md)\n", "b.md": "# B\n"})
    assert find_linking_paths(graph, workspace, "a.md") == ["a.md", "docs/c.md", "new.md"]
    with closing(LinkStore(find_graph_file(repo))) as store:
        state = store.read_state()
        assert state is not None
        assert state.commit == repo.head()


def test_incrementally_updated_graph_equals_a_fresh_graph(workspace: Workspace, repo: Repo) -> None:
    rng = random.Random(7)
    names = [*DOCUMENTS, "docs/d.md", "e/index.md", "e/f.md"]
    graph = open_graph(workspace)
    graph.update_to(workspace.snapshot())
    commits = [repo.head()]
    for number in range(12):
        for name in rng.sample(names, rng.randint(1, 3)):
            file = repo.path / name
            if file.exists() and rng.random() < 0.3:
                file.unlink()
                continue
            links = "\n\n".join(
                f"[x]({os.path.relpath(rng.choice(names), os.path.dirname(name) or '.')})"
                for _ in range(rng.randint(0, 4))
            )
            repo.write({name: f"# {number}\n\n{links}\n"})
        commits.append(repo.commit({}))
        assert find_links(graph, workspace) == find_links_in_new_graph(workspace)
        old_commit = rng.choice(commits)
        assert find_links(graph, workspace, old_commit) == find_links_in_new_graph(workspace, old_commit)
    graph.close()
    assert find_links(open_graph(workspace), workspace) == find_links_in_new_graph(workspace)


def test_query_at_another_commit_does_not_change_graph(
    graph: LinkGraph, workspace: Workspace, repo: Repo
) -> None:
    first = repo.head()
    repo.commit({"b.md": "# B\n", "new.md": "[a](a.md)\n"})
    graph.update_to(workspace.snapshot())
    old_snapshot = workspace.snapshot(first)
    assert list(graph.find_linking_documents(old_snapshot, ["a.md"])) == ["a.md", "b.md", "docs/c.md"]
    assert find_linking_paths(graph, workspace, "a.md") == ["a.md", "docs/c.md", "new.md"]


def test_reset_of_the_branch_restores_old_links(graph: LinkGraph, workspace: Workspace, repo: Repo) -> None:
    before = find_links_in_new_graph(workspace)
    repo.commit({"b.md": "# B\n", "new.md": "[a](a.md)\n"})
    graph.update_to(workspace.snapshot())
    repo.git("reset", "-q", "--hard", "HEAD~1")
    assert find_links(graph, workspace) == before


def test_graph_at_a_pruned_commit_is_rebuilt(graph: LinkGraph, workspace: Workspace, repo: Repo) -> None:
    repo.commit({"b.md": "# B\n"})
    graph.update_to(workspace.snapshot())
    repo.git("reset", "-q", "--hard", "HEAD~1")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    reopened_workspace = Workspace.open(repo.path)
    new_graph = open_graph(reopened_workspace)
    assert new_graph.find_records(reopened_workspace.snapshot(), "a.md") is None
    assert find_linking_paths(new_graph, reopened_workspace, "a.md") == ["a.md", "b.md", "docs/c.md"]
    new_graph.update_to(reopened_workspace.snapshot())
    assert find_links(new_graph, reopened_workspace) == find_links_in_new_graph(reopened_workspace)


def test_changed_link_rules_change_links(graph: LinkGraph, workspace: Workspace, repo: Repo) -> None:
    repo.commit({"wiki.md": "[[c]]\n"})
    graph.update_to(workspace.snapshot())
    assert "wiki.md" not in find_linking_paths(graph, workspace, "docs/c.md")
    repo.commit({"docyard.toml": "[links]\nwiki = true\n"})
    assert "wiki.md" in find_linking_paths(graph, workspace, "docs/c.md")
    graph.update_to(workspace.snapshot())
    assert find_links(graph, workspace) == find_links_in_new_graph(workspace)
    assert "wiki.md" in find_linking_paths(graph, workspace, "docs/c.md")


def test_removed_graph_file_is_recreated(graph: LinkGraph, workspace: Workspace, repo: Repo) -> None:
    graph.update_to(workspace.snapshot())
    for file in find_graph_file(repo).parent.glob("links*"):
        file.unlink()
    assert find_linking_paths(graph, workspace, "a.md") == ["a.md", "b.md", "docs/c.md"]
    graph.update_to(workspace.snapshot())
    assert find_links(open_graph(workspace), workspace) == find_links_in_new_graph(workspace)


def test_moved_repository_reuses_its_graph_and_copy_does_not(
    graph: LinkGraph, workspace: Workspace, repo: Repo, tmp_path: Path
) -> None:
    graph.update_to(workspace.snapshot())
    repo.path.rename(tmp_path / "moved")
    moved_workspace = Workspace.open(tmp_path / "moved")
    moved_graph = open_graph(moved_workspace)
    assert moved_graph.find_records(moved_workspace.snapshot(), "a.md") is not None
    shutil.copytree(tmp_path / "moved", tmp_path / "copied")
    copied_workspace = Workspace.open(tmp_path / "copied")
    assert open_graph(copied_workspace).find_records(copied_workspace.snapshot(), "a.md") is None


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_links_are_found_if_git_directory_is_not_writable(workspace: Workspace, repo: Repo) -> None:
    (repo.path / ".git").chmod(0o500)
    try:
        graph = open_graph(workspace)
        graph.update_to(workspace.snapshot())
        assert find_links(graph, workspace) == find_links_in_new_graph(workspace)
    finally:
        (repo.path / ".git").chmod(0o700)


def test_graph_without_private_folder_stays_in_memory(workspace: Workspace, tmp_path: Path) -> None:
    blocking_file = tmp_path / "blocked"
    blocking_file.write_text("a file where a folder should be")
    graph = LinkGraph(workspace, IndexLocation(lambda: "x", lambda name: [blocking_file]))
    with closing(graph):
        graph.update_to(workspace.snapshot())
        assert find_links(graph, workspace) == find_links_in_new_graph(workspace)


def test_tree_without_documents_has_no_links(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "none", {"code.py": "1\n"})
    workspace = Workspace.open(repo.path)
    with closing(open_graph(workspace)) as graph:
        graph.update_to(workspace.snapshot())
        assert graph.find_records(workspace.snapshot(), "a.md") == []


def _update_repeatedly(path: Path, round_count: int) -> None:
    workspace = Workspace.open(path)
    with closing(open_graph(workspace)) as graph:
        for _ in range(round_count):
            graph.update_to(workspace.snapshot())


@pytest.mark.process
def test_processes_share_one_graph(repo: Repo, workspace: Workspace) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_update_repeatedly, args=(repo.path, 40)) for _ in range(2)]
    for process in processes:
        process.start()
    with closing(open_graph(workspace)) as graph:
        for number in range(10):
            repo.commit({f"new-{number}.md": "[a](a.md)\n"})
            graph.update_to(workspace.snapshot())
            assert f"new-{number}.md" in find_linking_paths(graph, workspace, "a.md")
        for process in processes:
            process.join()
            assert process.exitcode == 0
        assert find_links(graph, workspace) == find_links_in_new_graph(workspace)


def test_background_thread_builds_the_graph(graph: LinkGraph, workspace: Workspace) -> None:
    graph.update_in_background(workspace.snapshot()).join()
    assert graph.find_records(workspace.snapshot(), "a.md") is not None
