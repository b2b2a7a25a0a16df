"""A server restores objects of the last commit that `git prune` removed while the server ran."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import repositories
from tests.repositories import Repo
from tests.stdio_client import RawClient, build_serve_command
from workspace.git.loose import build_loose_path

pytestmark = pytest.mark.process

REVISION_SUFFIX_BY_OBJECT = {"commit": "", "root": "^{tree}", "folder": ":d", "blob": ":d/a.md"}
EDIT_ARGUMENTS = {"operation": "append_content", "file": "d/a.md", "slug": "log", "content": "next"}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    documents = {"README.md": "# Example\n", "d/a.md": "# A\n\n## Log {#log}\n\nfirst\n"}
    return repositories.create_repository(tmp_path / "repo", documents)


@pytest.fixture
def server(repo: Repo) -> Iterator[RawClient]:
    client = RawClient(build_serve_command(repo.path, "--toolsets", "documents,search,proposals"))
    yield client
    client.close()


def delete_objects(repo: Repo, commit: str, *object_names: str) -> None:
    ids = [
        repo.git("rev-parse", f"{commit}{REVISION_SUFFIX_BY_OBJECT[name]}").strip() for name in object_names
    ]
    for id in ids:
        build_loose_path(repo.path / ".git", id).unlink()


@pytest.mark.parametrize(
    "object_names",
    [(name,) for name in REVISION_SUFFIX_BY_OBJECT] + [tuple(REVISION_SUFFIX_BY_OBJECT)],
    ids="-".join,
)
def test_pruned_objects_are_restored_by_next_call(
    repo: Repo, server: RawClient, object_names: tuple[str, ...]
) -> None:
    calls = [
        ("edit_document", EDIT_ARGUMENTS),
        ("view_document", {"file": "d/a.md"}),
        ("view_document", {"operations": [{"file": "d/a.md"}, {"file": "README.md"}]}),
        ("edit_document", {**EDIT_ARGUMENTS, "dry_run": True}),
        ("edit_document", {"operations": [EDIT_ARGUMENTS, EDIT_ARGUMENTS]}),
    ]
    for number, (tool, arguments) in enumerate(calls):
        edit_result = server.call(2 * number + 1, "edit_document", EDIT_ARGUMENTS)["result"]
        delete_objects(repo, edit_result["structuredContent"]["commit"], *object_names)
        response = server.call(2 * number + 2, tool, arguments)["result"]
        assert "DAMAGED_REPO" not in str(response)
        assert not response["isError"]
    server.call(2 * len(calls) + 1, "edit_document", EDIT_ARGUMENTS)
    assert repo.fsck() == ""


@pytest.mark.parametrize("branch", ["proposal", "discussion"])
def test_pruned_commit_of_proposal_is_restored_by_next_call(
    repo: Repo, server: RawClient, branch: str
) -> None:
    result = server.call(1, "create_proposal", {"title": "P", "description": "x"})["result"]
    id = result["structuredContent"]["proposal"]
    server.call(2, "edit_document", {**EDIT_ARGUMENTS, "proposal": id})
    server.call(3, "update_proposal", {"proposal": id, "action": "comment", "text": "hm"})
    refs = repo.git("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads").splitlines()
    [tip] = [
        ref.split()[0] for ref in refs if "heads/main" not in ref and (id in ref) == (branch == "proposal")
    ]
    build_loose_path(repo.path / ".git", tip).unlink()
    comment = {"proposal": id, "action": "comment", "text": "again"}
    calls = [("edit_document", {**EDIT_ARGUMENTS, "proposal": id}), ("update_proposal", comment)]
    for request_id, (tool, arguments) in enumerate(calls, 4):
        response = server.call(request_id, tool, arguments)["result"]
        assert not response["isError"], response
    assert repo.fsck() == ""
