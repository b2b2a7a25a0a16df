"""Objects and refs after a power loss: empty, truncated, or full of zeros."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests import repositories
from tests.repositories import Repo
from workspace.errors import WorkspaceError
from workspace.git.store import GitStore
from workspace.publishing.batch import Batch
from workspace.publishing.publish import publish

FILES = {"README.md": "# Example\n", "guides/setup.md": "# Setup\n\nSteps.\n", "guides/other.md": "# Other\n"}
CHANGES: Mapping[str, bytes | None] = {"guides/setup.md": b"# Setup\n\nNew steps.\n", "guides/other.md": None}

DAMAGES: Mapping[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "truncated": lambda data: data[: len(data) // 2],
    "zeros": lambda data: bytes(len(data)),
}


def make_repository(path: Path) -> Repo:
    """Make a repository with a fixed commit, so that the same batch makes the same objects."""
    repo = repositories.create_empty_repository(path)
    repo.write(FILES)
    repo.git("add", "-A")
    signature = repositories.make_signature()
    commit = GitStore(path).put_commit(repo.git("write-tree").strip(), (), signature, signature, "First")
    repo.git("update-ref", "refs/heads/main", commit)
    return repo


def read_objects(repo: Repo) -> dict[str, bytes]:
    folder = repo.path / ".git" / "objects"
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.glob("??/*")}


def publish_changes(path: Path, base: str) -> tuple[str, str]:
    """Publish the batch; return "committed" and the commit, or an error's code and message."""
    batch = Batch("main", base, CHANGES, "Agent", repositories.make_signature())
    try:
        return "committed", publish(GitStore(path), batch, durable=True)
    except WorkspaceError as error:
        return error.code, f"{error.message} {error.fix}"


def publish_in_separate_process(repo: Repo, base: str) -> tuple[str, str]:
    """Publish in a separate process, since libgit2 never returns from some damaged objects."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply_async(publish_changes, (repo.path, base)).get(timeout=60)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repository(tmp_path / "repo")


@pytest.fixture
def expected_objects(tmp_path: Path) -> dict[str, bytes]:
    """Return the objects that the batch makes: a blob, two trees and a commit."""
    other_repo = make_repository(tmp_path / "other")
    before = read_objects(other_repo)
    publish_changes(other_repo.path, other_repo.head())
    new_objects = {path: data for path, data in read_objects(other_repo).items() if path not in before}
    kinds = [other_repo.git("cat-file", "-t", path.replace("/", "")).strip() for path in new_objects]
    assert sorted(kinds) == ["blob", "commit", "tree", "tree"]
    return new_objects


@pytest.mark.guarantee
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize(
    "object_index",
    [None, *(pytest.param(number, marks=pytest.mark.slow) for number in range(4))],
    ids=["all", "first", "second", "third", "fourth"],
)
def test_damaged_object_is_replaced_by_the_next_commit(
    repo: Repo, expected_objects: dict[str, bytes], object_index: int | None, damage: str
) -> None:
    chosen_paths = (
        sorted(expected_objects) if object_index is None else [sorted(expected_objects)[object_index]]
    )
    for path in chosen_paths:
        object_path = repo.path / ".git" / "objects" / path
        object_path.parent.mkdir(exist_ok=True)
        object_path.write_bytes(DAMAGES[damage](expected_objects[path]))
        object_path.chmod(0o444)
    result, commit = publish_in_separate_process(repo, repo.head())
    assert (result, commit) == ("committed", repo.head())
    assert repo.fsck() == ""
    assert repo.status() == ""
    assert repo.git("show", "HEAD:guides/setup.md").encode() == CHANGES["guides/setup.md"]
    repo_objects = read_objects(repo)
    assert {path: repo_objects[path] for path in expected_objects} == expected_objects


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_object_of_served_commit_raises_damaged_repo(repo: Repo, damage: str) -> None:
    tree = repo.git("rev-parse", "HEAD^{tree}").strip()
    object_path = repo.path / ".git" / "objects" / tree[:2] / tree[2:]
    object_path.chmod(0o644)
    object_path.write_bytes(DAMAGES[damage](object_path.read_bytes()))
    before = read_objects(repo)
    assert publish_in_separate_process(repo, repo.head())[0] == "DAMAGED_REPO"
    assert read_objects(repo) == before
    assert (repo.path / "guides/setup.md").read_text() == FILES["guides/setup.md"]


@pytest.mark.guarantee
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_ref_refuses_writes_and_is_unchanged(repo: Repo, damage: str) -> None:
    base = repo.head()
    ref = repo.path / ".git" / "refs" / "heads" / "main"
    ref.write_bytes(DAMAGES[damage](ref.read_bytes()))
    before = ref.read_bytes()
    code, message = publish_in_separate_process(repo, base)
    assert code != "committed"
    assert str(repo.path) not in message
    assert ref.read_bytes() == before
    assert (repo.path / "guides/setup.md").read_text() == FILES["guides/setup.md"]
    assert not list(repo.path.rglob("*.lock")) or [path.name for path in repo.path.rglob("*.lock")] == [
        "write.lock"
    ]
