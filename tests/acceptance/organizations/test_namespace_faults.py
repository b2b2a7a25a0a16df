"""Namespaces whose repository vanishes, is rewritten, or is huge: each fails alone."""

from __future__ import annotations

import http.client
import json
import shutil
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

import pygit2
import pytest
from sqlalchemy import update

from docyard.database.tables import NAMESPACES
from tests.acceptance.organizations.servers import OrganizationsServer, Site, wait_until
from tests.organizations import create_organization, mark_change
from tests.repositories import create_repository


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Return a site with the organization `globex`, which has the namespaces `good` and `bad`."""
    site = Site(tmp_path, "sqlite:///server.sqlite")
    for name in ("good", "bad"):
        create_repository(tmp_path / name, {f"{name}.md": f"# {name.title()}\n\nAbout zebras.\n"})
    create_organization(
        site.database,
        "globex",
        {name: {"repo": name} for name in ("good", "bad")},
        {"docs": ["bad", "good"]},
        [("*", "", "reader")],
    )
    return site


def search(server: OrganizationsServer, namespace: str = "*") -> tuple[list[str], str]:
    """Return the documents that were found, and the text of the answer."""
    reply = server.search(
        "zebras", token=server.site.operator_token, path="/o/globex/docs/mcp", namespace=namespace
    )
    content = reply.read_result()
    return sorted(source["document"] for source in content.get("sources", [])), reply.body


def check_failure(server: OrganizationsServer) -> None:
    """Check that only the namespace `bad` has failed, and that only operators see the whole reason."""
    assert server.search().read_result()["sources"]  # another organization
    assert search(server, "good")[0] == ["good.md"]
    hits, text = search(server)
    assert hits == ["good.md"]
    failed_hits, failed_text = search(server, "bad")
    assert failed_hits == []
    for answer in (text, failed_text):
        assert str(server.site.folder) not in answer
    wait_until(lambda: server.read_state() == (200, "degraded"), "the degraded state")
    [entry] = server.read_details()["namespaces"]
    assert (entry["organization"], entry["name"]) == ("globex", "bad")
    assert entry["reason"]
    assert "namespaces" not in server.read_details(server.site.token)
    assert "Traceback" not in server.read_log()


def test_vanished_repository_fails_alone_and_is_used_again(site: Site, tmp_path: Path) -> None:
    with site.serve() as server:
        wait_until(lambda: search(server)[0] == ["bad.md", "good.md"], "the indexes")
        (tmp_path / "bad").rename(tmp_path / "elsewhere")
        wait_until(lambda: search(server)[0] == ["good.md"], "the failure")
        check_failure(server)
        (tmp_path / "elsewhere").rename(tmp_path / "bad")
        wait_until(lambda: search(server)[0] == ["bad.md", "good.md"], "recovery")
        wait_until(lambda: server.read_state() == (200, "ok"), "recovery")


def test_rewritten_repository_is_searched_at_its_new_commit(site: Site, tmp_path: Path) -> None:
    repository = tmp_path / "bad"
    with site.serve() as server:
        wait_until(lambda: search(server)[0] == ["bad.md", "good.md"], "the indexes")

        def run_git(*arguments: str) -> None:
            subprocess.run(
                ("git", "-c", "user.name=A", "-c", "user.email=a@example.org", *arguments),
                cwd=repository,
                check=True,
                capture_output=True,
            )

        run_git("checkout", "--quiet", "--orphan", "other")
        run_git("rm", "-rfq", "--cached", ".")
        (repository / "new.md").write_text("# New\n\nAbout zebras.\n")
        run_git("add", "new.md")
        run_git("commit", "--quiet", "-m", "New")
        run_git("branch", "-f", "main", "other")
        run_git("checkout", "--quiet", "-f", "main")
        run_git("branch", "-D", "other")
        run_git("reflog", "expire", "--expire=now", "--all")
        run_git("gc", "--prune=now", "--quiet")
        wait_until(lambda: search(server)[0] == ["good.md", "new.md"], "the new commit")
        assert search(server, "bad")[0] == ["new.md"]
        wait_until(lambda: server.read_state() == (200, "ok"), "the state")
        assert "Traceback" not in server.read_log()


def write_huge_tree(folder: Path) -> None:
    """Commit a tree of 10^8 files, which only nine objects contain."""
    repository = pygit2.Repository(folder)
    blob = repository.create_blob(b"# Page\n")
    tree, mode = blob, pygit2.enums.FileMode.BLOB
    for _ in range(8):
        builder = repository.TreeBuilder()
        for number in range(10):
            suffix = ".txt" if mode == pygit2.enums.FileMode.BLOB else ""
            builder.insert(f"{number}{suffix}", tree, mode)
        tree, mode = builder.write(), pygit2.enums.FileMode.TREE
    author = pygit2.Signature("A", "a@example.org")
    parent = repository.head.target
    repository.create_commit("HEAD", author, author, "Huge", tree, [parent])


@pytest.mark.slow
def test_huge_repository_delays_no_other_namespace(site: Site, tmp_path: Path) -> None:
    with site.serve() as server:
        wait_until(lambda: search(server)[0] == ["bad.md", "good.md"], "the indexes")
        write_huge_tree(tmp_path / "bad")
        stop_event = threading.Event()

        def search_huge_namespace() -> None:
            while not stop_event.is_set():
                with suppress(OSError, http.client.HTTPException):
                    search(server, "bad")

        threads = [threading.Thread(target=search_huge_namespace) for _ in range(10)]
        for thread in threads:
            thread.start()
        try:
            end_time = time.monotonic() + 30
            slowest = 0.0
            while time.monotonic() < end_time:
                start_time = time.monotonic()
                assert search(server, "good")[0] == ["good.md"]
                slowest = max(slowest, time.monotonic() - start_time)
                time.sleep(0.1)
        finally:
            stop_event.set()
            for thread in threads:
                thread.join()
        assert slowest < 5
        assert "Traceback" not in server.read_log()


def test_invalid_settings_in_the_database_fail_alone(site: Site) -> None:
    with site.serve() as server:
        wait_until(lambda: search(server)[0] == ["bad.md", "good.md"], "the indexes")
        with site.database.begin() as connection:
            statement = update(NAMESPACES).where(NAMESPACES.c.id == "ns_globex_bad")
            connection.execute(statement.values(settings={"repo": "bad", "unknown": json.dumps([1])}))
        mark_change(site.database)
        wait_until(lambda: search(server)[0] == ["good.md"], "the change")
        assert server.search().read_result()["sources"]
        assert "Traceback" not in server.read_log()


def test_repository_that_is_a_file_fails_alone(site: Site, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "bad")
    (tmp_path / "bad").write_text("not a repository")
    with site.serve() as server:
        wait_until(lambda: search(server)[0] == ["good.md"], "the index")
        check_failure(server)
