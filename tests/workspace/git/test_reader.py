"""`GitReader` reads repositories of every supported kind, and refuses all other kinds."""

from __future__ import annotations

import errno
import gc
import os
import random
import shutil
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pygit2
import pytest

from tests import repositories
from tests.loops import loop_over
from workspace.branch import BranchNotFound
from workspace.git.index_file import IndexFile, SplitIndex
from workspace.git.objects import FILE_MODE, Head, Signature, TreeEntry
from workspace.git.reader import GitReader
from workspace.git.repository import (
    DamagedRepository,
    NotARepository,
    UnsupportedRepository,
    find_settings_error,
    make_refused_repository_error,
    translate_write_errors,
)
from workspace.git.store import GitStore, find_merge_base
from workspace.workspace import Workspace

SIGNATURE = Signature("Ada", "ada@example.org", 1_700_000_000, -90)


def test_normal_repository_is_read(tmp_path: Path) -> None:
    repo = repositories.create_repository(tmp_path / "repo")
    git = GitReader(repo.path)
    assert git.head() == Head("main", repo.head())
    assert git.worktree == repo.path
    assert git.git_dir == git.common_dir == repo.path / ".git"
    assert not git.is_bare
    assert git.branches() == ("main",)
    assert git.identity() == (repositories.NAME, repositories.EMAIL)


def test_subfolder_opens_its_repository(tmp_path: Path) -> None:
    repo = repositories.create_repository(tmp_path)
    assert GitReader(repo.path / "guides" / "deep").worktree == repo.path


def test_bare_repository_has_no_work_tree(tmp_path: Path) -> None:
    git = GitReader(repositories.create_bare_repository(tmp_path / "repo.git").path)
    assert git.is_bare
    assert git.worktree is None
    assert git.head().branch == "main"
    assert git.worktrees_of("main") == ()


def test_unborn_repository_has_no_tip(tmp_path: Path) -> None:
    git = GitReader(repositories.create_empty_repository(tmp_path).path)
    assert git.head() == Head("main", None)
    assert git.tip("main") is None


def test_detached_head_has_no_branch(tmp_path: Path) -> None:
    repo = repositories.create_detached_repository(tmp_path)
    git = GitReader(repo.path)
    assert git.head() == Head(None, repo.head())
    assert git.worktrees_of("main") == ()


def test_symbolic_head_resolves_to_branch(tmp_path: Path) -> None:
    repo = repositories.create_repository(tmp_path)
    repo.git("symbolic-ref", "refs/heads/master", "refs/heads/main")
    repo.git("symbolic-ref", "HEAD", "refs/heads/master")
    git = GitReader(repo.path)
    assert git.head() == Head("main", repo.head())
    assert git.worktrees_of("main") != ()
    assert git.tip("master") is None
    with pytest.raises(BranchNotFound, match="another name"):
        Workspace.open(repo.path, branch="master")


def test_cyclic_symbolic_refs_have_no_commit(tmp_path: Path) -> None:
    repo = repositories.create_repository(tmp_path)
    for name, target in (("one", "two"), ("two", "one")):
        (tmp_path / ".git" / "refs" / "heads" / name).write_text(f"ref: refs/heads/{target}\n")
    repo.write({".git/HEAD": "ref: refs/heads/one\n"})
    git = GitReader(repo.path)
    assert git.head().commit is None
    assert git.worktrees_of("main") == ()


@loop_over("text", ["", "garbage\n", "ref: \n"])
@loop_over("file", ["HEAD", "refs/heads/main"])
def test_damaged_ref_raises_damaged_repository(tmp_path: Path, file: str, text: str) -> None:
    repo = repositories.create_repository(tmp_path)
    git = GitReader(repo.path)
    repo.write({f".git/{file}": text})
    with pytest.raises(DamagedRepository, match=file):
        git.head()


def test_unreadable_index_raises_error_without_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repo = repositories.create_repository(tmp_path)
    repo.git("update-index", "--split-index")
    with pytest.raises(SplitIndex):
        IndexFile.read(tmp_path / ".git" / "index")
    repo.write({".git/index": b"junk"})
    with pytest.raises(DamagedRepository) as error_info:
        IndexFile.read(tmp_path / ".git" / "index")
    assert not isinstance(error_info.value, SplitIndex)
    gc.collect()
    assert capsys.readouterr().err == ""


def test_linked_work_trees_have_own_heads(tmp_path: Path) -> None:
    main_repo = repositories.create_repository(tmp_path / "main")
    linked_repo = repositories.add_work_tree(main_repo, tmp_path / "linked", "topic")
    for git in (GitReader(main_repo.path), GitReader(linked_repo.path)):
        assert git.common_dir == main_repo.path / ".git"
        [topic_worktree] = git.worktrees_of("topic")
        assert (topic_worktree.path, topic_worktree.git_dir) == (
            linked_repo.path,
            main_repo.path / ".git/worktrees/linked",
        )
        [main_worktree] = git.worktrees_of("main")
        assert main_worktree.path == main_repo.path
    assert GitReader(linked_repo.path).head().branch == "topic"
    shutil.rmtree(linked_repo.path)
    assert GitReader(main_repo.path).worktrees_of("topic") == ()
    main_repo.git("worktree", "prune")
    second_linked_repo = repositories.add_work_tree(main_repo, tmp_path / "again", "other")
    main_repo.git("worktree", "lock", str(second_linked_repo.path))
    shutil.rmtree(second_linked_repo.path)
    assert GitReader(main_repo.path).worktrees_of("other") != ()


def test_branch_being_rebased_belongs_to_work_tree(tmp_path: Path) -> None:
    repo = repositories.create_repository(tmp_path)
    repo.git("checkout", "-q", "-b", "topic")
    repo.commit({"README.md": "theirs\n"})
    repo.git("checkout", "-q", "main")
    repo.commit({"README.md": "ours\n"})
    repo.git("rebase", "topic", check=False)
    git = GitReader(repo.path)
    assert git.head().branch is None
    assert git.worktrees_of("main") != ()


@loop_over("name", ["missing", "plain"])
def test_folder_without_repository_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "plain").mkdir()
    with pytest.raises(NotARepository) as error_info:
        GitReader(tmp_path / name)
    assert str(tmp_path) not in error_info.value.message + error_info.value.fix


@loop_over(
    ("options", "settings", "reason"),
    [
        (["--object-format=sha256"], {}, "SHA-256"),
        ([], {"extensions.refStorage": "reftable"}, "reftable"),
        ([], {"extensions.partialClone": "origin"}, "partial clone"),
        ([], {"remote.origin.promisor": "true"}, "partial clone"),
        ([], {"extensions.unheardOf": "1"}, "unheardof"),
    ],
)
def test_unsupported_kind_of_repository_is_refused(
    tmp_path: Path, options: list[str], settings: dict[str, str], reason: str
) -> None:
    repo = repositories.create_empty_repository(tmp_path, *options)
    for name, value in {"core.repositoryFormatVersion": "1", **settings}.items():
        # Git itself refuses these extensions, so the file is written directly.
        section, _, key = name.rpartition(".")
        section_name, _, subsection = section.partition(".")
        with (tmp_path / ".git/config").open("a") as file:
            file.write(f'[{section_name} "{subsection}"]\n' if subsection else f"[{section_name}]\n")
            file.write(f"\t{key} = {value}\n")
    with pytest.raises(UnsupportedRepository, match=reason) as error_info:
        GitReader(repo.path)
    assert error_info.value.code == "UNSUPPORTED_REPO"
    assert reason in str(error_info.value.details["reason"])
    assert str(tmp_path) not in error_info.value.message + error_info.value.fix


def test_broken_git_configuration_is_refused(tmp_path: Path) -> None:
    repo = repositories.create_repository(tmp_path)
    with (tmp_path / ".git/config").open("a") as file:
        file.write("[broken\n")
    with pytest.raises(UnsupportedRepository, match="configuration"):
        GitReader(repo.path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the owner of a file")
def test_repository_of_other_owner_is_refused(tmp_path: Path) -> None:
    repo = repositories.create_repository(tmp_path / "repo")
    for path in (repo.path, repo.path / ".git"):
        os.chown(path, 65534, 65534)
    with pytest.raises(UnsupportedRepository, match="another user"):
        GitReader(repo.path)


def test_unknown_refusal_is_reported_as_damaged(tmp_path: Path) -> None:
    assert "damaged" in make_refused_repository_error(tmp_path).reason
    assert find_settings_error({"core.bare": "false", "remote.origin.promisor": "false"}) is None


def test_tip_is_read_again_after_commit(tmp_path: Path) -> None:
    repo = repositories.create_repository(tmp_path)
    git = GitReader(repo.path)
    for number in range(6):
        commit = repo.commit({"README.md": f"{number}\n"})
        assert git.tip("main") == commit
        repo.git("pack-refs", "--all")
        assert git.tip("main") == commit
    repo.git("reset", "-q", "--hard", "HEAD~3")
    assert git.tip("main") == repo.head()
    repo.git("gc", "-q", "--prune=now")
    assert git.tip("main") == repo.head()


def test_symbolic_branch_has_no_tip(tmp_path: Path) -> None:
    repo = repositories.create_repository(tmp_path)
    repo.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
    git = GitReader(repo.path)
    assert git.tip("alias") is None
    assert git.tip("never") is None
    assert git.tip("no such..name") is None
    assert git.is_branch_name("topic/one")
    assert not git.is_branch_name("topic..one")
    assert not git.is_branch_name("-topic")
    assert not git.is_branch_name("\ud800")


def test_torn_ref_raises_damaged_repository(tmp_path: Path) -> None:
    repo = repositories.create_repository(tmp_path)
    (tmp_path / ".git/refs/heads/main").write_bytes(b"")
    with pytest.raises(DamagedRepository):
        GitReader(repo.path).tip("main")


def test_written_objects_equal_those_of_git(tmp_path: Path) -> None:
    repo = repositories.create_repository(tmp_path)
    git = GitStore(repo.path)
    blob = git.put_blob(b"a\0b")
    assert git.blob(blob) == b"a\0b"
    assert git.blob_size(blob) == 3
    tree = git.tree(git.commit(repo.head()).tree)
    assert [entry.name for entry in tree] == ["README.md", "guides"]
    assert git.put_tree(reversed(tree)) == git.commit(repo.head()).tree
    invalid_signature = Signature("Ada <x>\n", "a>b", 12, -90)
    id = git.put_commit(
        git.put_tree(tree), [repo.head()], invalid_signature, SIGNATURE, "Héllo\0\n\nBody\n\n\n"
    )
    commit = git.commit(id)
    assert commit.parents == (repo.head(),)
    assert commit.message == "Héllo\n\nBody\n"
    assert commit.author == Signature("Ada x", "a b", 12, -90)
    assert commit.committer == SIGNATURE
    repo.git("branch", "new", id)
    assert repo.fsck() == ""


@loop_over("is_packed", [False, True])
@loop_over("data", [b"", b"a", b"text " * 1000, random.Random(1).randbytes(5000)])
def test_blob_over_size_limit_is_not_read(tmp_path: Path, data: bytes, is_packed: bool) -> None:
    repo = repositories.create_repository(tmp_path)
    repo.commit({"large": data})
    if is_packed:
        repo.git("repack", "-adq")
    git = GitReader(repo.path)
    entry = git.entry(git.commit(repo.head()).tree, "large")
    assert entry is not None
    for limit in (len(data), len(data) + 1, 10**7):
        assert git.blob_within(entry.id, limit) == data
    for limit in {0, len(data) - 1} if data else ():
        assert git.blob_within(entry.id, limit) is None


def test_large_blob_is_not_loaded_to_check_size(tmp_path: Path) -> None:
    repo = repositories.create_repository(tmp_path)
    blob = GitStore(repo.path).put_blob(b"\0" * 50_000_000)
    tracemalloc.start()
    try:
        assert GitReader(repo.path).blob_within(blob, 1_000_000) is None
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_commits_in_other_encodings_are_read(tmp_path: Path) -> None:
    repo = repositories.create_repository(tmp_path / "repo")
    repo.write({"../message": "Grüße\n".encode("latin-1")})
    repo.git("-c", "i18n.commitEncoding=ISO-8859-1", "commit", "--allow-empty", "-qF", "../message")
    assert GitReader(repo.path).commit(repo.head()).message == "Grüße\n"


def test_missing_object_raises_damaged_repository(tmp_path: Path) -> None:
    repo = repositories.create_repository(tmp_path)
    git = GitReader(repo.path)
    missing_id = "0" * 40
    assert git.has_object(repo.head())
    assert not git.has_object(missing_id)
    for read_object in (git.commit, git.tree, git.blob, git.blob_size):
        with pytest.raises(DamagedRepository):
            read_object(missing_id)
    with pytest.raises(DamagedRepository):
        git.blob(repo.head())
    with pytest.raises(DamagedRepository):
        git.commit(git.commit(repo.head()).tree)


def test_configuration_values_are_read(tmp_path: Path) -> None:
    repo = repositories.create_repository(tmp_path)
    git = GitReader(repo.path)
    assert git.config("core.bare") == "false"
    assert git.config("docyard.nothing") is None
    assert git.config("nonsense") is None
    assert git.config_flag("docyard.nothing", True)
    repo.git("config", "docyard.flag", "yes")
    assert git.config_flag("docyard.flag")
    repo.git("config", "user.email", "")
    assert git.identity() is None


def test_many_threads_read_without_errors(tmp_path: Path) -> None:
    repo = repositories.create_repository(tmp_path)
    git = GitStore(repo.path)
    errors: list[BaseException] = []

    def read_repeatedly() -> None:
        try:
            for number in range(200):
                assert git.tip("main") == head
                assert git.config("core.bare") == "false"
                assert git.blob(git.put_blob(b"%d" % number)) == b"%d" % number
        except BaseException as error:
            errors.append(error)

    head = repo.head()
    threads = [threading.Thread(target=read_repeatedly) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_full_disk_raises_oserror_without_path(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left on device") as error_info, translate_write_errors():
        raise pygit2.GitError(f"failed to write out file '{tmp_path}': No space left on device")
    assert error_info.value.errno == errno.ENOSPC
    assert str(tmp_path) not in str(error_info.value)
    repo = repositories.create_repository(tmp_path / "repo")
    store = GitStore(repo.path)
    shutil.rmtree(repo.path)
    with pytest.raises(OSError, match=r"error|No such file"):
        store.put_blob(b"text")


def test_object_is_found_by_each_of_its_names(tmp_path: Path) -> None:
    repo = repositories.create_repository(tmp_path / "repo")
    first_commit = repo.head()
    tree = repo.git("rev-parse", "HEAD^{tree}").strip()
    repo.git("tag", "lightweight")
    repo.git("tag", "-a", "annotated", "-m", "A tag of a commit")
    repo.git("tag", "-a", "nested", "-m", "A tag of a tag", "annotated")
    repo.git("tag", "of-a-tree", tree)
    repo.git("branch", "feature/x")
    repo.commit({"new.md": "# New\n"})
    git = GitReader(repo.path)
    for name in (
        "lightweight",
        "feature/x",
        "refs/heads/feature/x",
        first_commit,
        first_commit.upper(),
        first_commit[:7],
        first_commit[:4],
    ):
        assert git.find_object(name) == first_commit, name
    assert git.find_object("main") == repo.head()
    assert git.find_object("of-a-tree") == git.find_object(tree[:8]) == tree
    for name in ("annotated", "nested"):
        object_id = git.find_object(name)
        assert object_id is not None
        assert object_id != first_commit
        assert git.peel(object_id) == ("commit", first_commit)
    assert git.peel(tree) == ("tree", tree)
    assert git.ref_names() == ("annotated", "feature/x", "lightweight", "main", "nested", "of-a-tree")


def test_unknown_object_name_returns_none(tmp_path: Path) -> None:
    git = GitReader(repositories.create_repository(tmp_path / "repo").path)
    for name in (
        "",
        "/",
        "nothing",
        "HEAD~1",
        "HEAD:README.md",
        "@{1}",
        "~",
        "0" * 40,
        "abc",
        "\ud800",
        "a\0b",
    ):
        assert git.find_object(name) is None, name


def test_tag_of_missing_object_raises_damaged_repository(tmp_path: Path) -> None:
    repo = repositories.create_repository(tmp_path / "repo")
    repo.git("tag", "-a", "annotated", "-m", "A tag of a blob", "HEAD:README.md")
    blob = repo.git("rev-parse", "HEAD:README.md").strip()
    git = GitReader(repo.path)
    object_id = git.find_object("annotated")
    assert object_id is not None
    assert git.peel(object_id) == ("blob", blob)
    (repo.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(DamagedRepository):
        GitReader(repo.path).peel(object_id)


def test_uncommitted_paths_are_listed(tmp_path: Path) -> None:
    repo = repositories.create_repository(
        tmp_path / "repo", {"a.md": "# A\n", "b.md": "# B\n", ".gitignore": "ignored.md\n"}
    )
    assert GitReader(repo.path).list_uncommitted() == ()
    repo.write(
        {"a.md": "# Changed\n", "deep/new.md": "# New\n", "ignored.md": "# Ignored\n", "c.md": "# C\n"}
    )
    repo.git("add", "c.md")
    (repo.path / "b.md").unlink()
    assert GitReader(repo.path).list_uncommitted() == ("a.md", "b.md", "c.md", "deep/new.md")
    assert GitReader(repositories.create_bare_repository(tmp_path / "bare").path).list_uncommitted() == ()


def test_error_for_an_unreadable_object_names_the_object_and_the_reason(tmp_path: Path) -> None:
    repo = repositories.create_repository(tmp_path / "repo")
    git, blob = GitReader(repo.path), repo.git("rev-parse", "HEAD:README.md").strip()
    file = repo.path / ".git" / "objects" / blob[:2] / blob[2:]
    with pytest.raises(DamagedRepository, match=f"broken: {blob[:12]} .it is not a tree"):
        git.tree(blob)
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:-4])
    with pytest.raises(DamagedRepository, match=f"broken: {blob[:12]} .its file is truncated"):
        git.blob(blob)
    file.unlink()
    with pytest.raises(
        DamagedRepository, match=f"broken: {blob[:12]} .it is in no file and in no pack"
    ) as error_info:
        git.blob(blob)
    assert (error_info.value.details["id"], str(tmp_path) in error_info.value.message) == (blob, False)


USES_OF_OBJECTS: dict[str, Callable[[GitStore, str, str, str], object]] = {
    "commit": lambda git, commit, tree, blob: git.commit(commit).message,
    "size": lambda git, commit, tree, blob: git.blob_size(blob),
    "text": lambda git, commit, tree, blob: git.convert_to_worktree(blob, "README.md"),
    "new tree": lambda git, commit, tree, blob: git.edit_tree(None, {"a": TreeEntry("a", blob, FILE_MODE)}),
    "old tree": lambda git, commit, tree, blob: git.edit_tree(tree, {"a": TreeEntry("a", blob, FILE_MODE)}),
    "merge base": lambda git, commit, tree, blob: find_merge_base(git, commit, commit),
}


@pytest.mark.parametrize("use", USES_OF_OBJECTS)
def test_object_is_found_although_the_index_of_several_packs_names_a_removed_pack(
    tmp_path: Path, use: str
) -> None:
    """`git repack` and `git multi-pack-index` ran at once. Git skips such an index, and libgit2 does not."""
    repo = repositories.create_repository(tmp_path / "repo")
    repo.write({".git/info/attributes": "*.md text eol=crlf\n"})
    repo.git("repack", "-adq")
    first = repo.head()
    repo.commit({"README.md": "# Second\n"})
    repo.git("repack", "-dq")
    repo.git("multi-pack-index", "write")
    multi_pack_index = repo.path / ".git/objects/pack/multi-pack-index"
    old_index = multi_pack_index.read_bytes()
    ids = repo.git("rev-parse", "HEAD", "HEAD^{tree}", "HEAD:README.md").split()
    git = GitStore(repo.path)
    git.commit(first)  # the second pack is known, and not open
    repo.git("repack", "-adq")
    multi_pack_index.write_bytes(old_index)
    result = USES_OF_OBJECTS[use](git, *ids)
    assert result is not None
    assert result == USES_OF_OBJECTS[use](GitStore(repo.path), *ids)


OPEN_FILE_SCRIPT = """
import errno, os, resource, sys
from pathlib import Path
from workspace.git.packs import PackedObject, write_pack
from workspace.git.objects import hash_blob
from workspace.git.repository import MAX_OPEN_PACKS
from workspace.git.store import GitStore

store = GitStore(Path(sys.argv[1]))
loose = store.put_blob(b"loose")
file = store.common_dir / "objects" / loose[:2] / loose[2:]
packed = []
for number in range(MAX_OPEN_PACKS + 100):
    data = b"%d" % number
    packed.append(hash_blob(data))
    write_pack(store.common_dir / "objects" / "pack", [PackedObject("blob", packed[-1], data)], 1)
_, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (MAX_OPEN_PACKS + 80, hard_limit))
for _ in range(2):
    assert [store.blob(id) for id in packed] == [b"%d" % number for number in range(len(packed))]

store = GitStore(Path(sys.argv[1]))
files = []
try:
    while True:
        files.append(os.open(os.devnull, os.O_RDONLY))
except OSError:
    pass
actions = [
    lambda: store.blob(loose), lambda: store.blob(packed[0]), lambda: store.blob_size(packed[1]),
    lambda: store.put_blob(b"loose"),
]
codes = []
for action in actions:
    try:
        codes.append(action())
    except OSError as error:
        codes.append(errno.errorcode[error.errno])
for number in files:
    os.close(number)
assert codes == ["EMFILE"] * 4, codes
assert file.exists()
assert [store.blob(loose), store.blob(packed[0])] == [b"loose", b"0"]
"""


@pytest.mark.process
@pytest.mark.guarantee
def test_packs_do_not_use_up_the_open_files_and_a_lack_of_them_is_no_damage(tmp_path: Path) -> None:
    """A clone that is fetched to gets a pack with each fetch, and libgit2 leaves each pack open."""
    repo = repositories.create_repository(tmp_path / "repo")
    process = subprocess.run(
        [sys.executable, "-c", OPEN_FILE_SCRIPT, str(repo.path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (process.returncode, process.stderr) == (0, "")
