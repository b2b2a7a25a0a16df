"""Publication: one of several concurrent batches is published; a checkout is updated or refuses the batch."""

from __future__ import annotations

import errno
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests import call_hooks, repositories
from tests.loops import loop_over
from tests.repositories import FILES, Repo
from workspace.git.reader import GitReader
from workspace.git.store import GitStore
from workspace.git.trees import PathBlocked, walk_tree
from workspace.paths import InvalidPath
from workspace.publishing import checkout, locks, refs, staging_folder
from workspace.publishing.after_commit import note_commit, record_commits, run_with_caveat
from workspace.publishing.batch import Batch
from workspace.publishing.checkout import WorktreeBusy, WorktreeConflict
from workspace.publishing.locks import CannotWrite, Locked
from workspace.publishing.publish import Publication, publish
from workspace.publishing.refs import BranchMoved, InvalidBranch, RefConflict

SIGNATURE = repositories.make_signature()
NEW_TEXT = b"# Changed\n"


def publish_changes(
    repo: Repo,
    changes: Mapping[str, bytes | None],
    *,
    branch: str = "main",
    base: str | None = "tip",
    durable: bool = False,
    message: str = "Change the text\n\nDocyard-Tool: test\n",
) -> str:
    store = GitStore(repo.path)
    base = store.tip(branch) if base == "tip" else base
    return publish(store, Batch(branch, base, changes, message, SIGNATURE), durable=durable)


def read_committed_files(repo: Repo, branch: str = "main") -> dict[str, bytes]:
    git = GitReader(repo.path)
    return {
        path: git.blob(entry.id) for path, entry in walk_tree(git, git.commit(git.tip(branch) or "").tree)
    }


def read_work_files(repo: Repo) -> dict[str, bytes]:
    paths = (path for path in repo.path.rglob("*") if path.is_file())
    return {
        name: path.read_bytes()
        for path in paths
        if not (name := path.relative_to(repo.path).as_posix()).startswith(".git")
    }


def check_clean(repo: Repo) -> None:
    """Check that there is no difference, damage, lock or staged file."""
    assert repo.status() == ""
    assert repo.fsck() == ""
    check_no_leftovers(repo)


def check_no_leftovers(repo: Repo) -> None:
    common_dir = GitReader(repo.path).common_dir
    assert [path for path in common_dir.rglob("*.lock") if path.name != "write.lock"] == []
    assert list(common_dir.glob("docyard/pending/*")) == []
    assert [name for name in read_work_files(repo) if ".docyard-" in name] == []


@pytest.mark.parametrize("durable", [False, True])
def test_publication_moves_branch_index_and_files_together(repo: Repo, durable: bool) -> None:
    head_before = repo.head()
    changes = {"README.md": NEW_TEXT, "guides/deep/only.md": None, "new/folder/a.md": b"a\0b\n"}
    id = publish_changes(repo, changes, durable=durable)
    assert repo.head() == id
    assert repo.git("rev-parse", "HEAD^").strip() == head_before
    assert read_committed_files(repo) == read_work_files(repo)
    assert read_committed_files(repo) == {
        "README.md": NEW_TEXT,
        "guides/setup.md": b"# Setup\n\nSteps.\n",
        "new/folder/a.md": b"a\0b\n",
    }
    assert not (repo.path / "guides/deep").exists()
    check_clean(repo)
    assert repo.git("log", "-1", "--format=%an|%ae|%cn|%at|%B").strip().endswith("Docyard-Tool: test")
    assert (
        repo.git("log", "-1", "--format=%an|%ae|%ai").strip()
        == f"{SIGNATURE.name}|{SIGNATURE.email}|2023-11-14 23:13:20 +0100"
    )


def test_bare_repository_is_published_without_reflog(tmp_path: Path) -> None:
    repo = repositories.create_bare_repository(tmp_path / "repo.git")
    id = publish_changes(repo, {"README.md": NEW_TEXT, "guides/setup.md": None})
    assert repo.head() == id
    assert read_committed_files(repo) == {"README.md": NEW_TEXT, "guides/deep/only.md": b"# Only\n"}
    assert repo.fsck() == ""
    assert not (repo.path / "index").exists()
    assert not (repo.path / "logs").exists()


@loop_over("branch", ["main", "topics/one"])
def test_unborn_branch_gets_initial_commit(tmp_path: Path, branch: str) -> None:
    repo = repositories.create_empty_repository(tmp_path)
    repo.git("symbolic-ref", "HEAD", f"refs/heads/{branch}")
    id = publish_changes(repo, {"a.md": NEW_TEXT}, branch=branch, base=None)
    assert repo.head() == id
    assert read_work_files(repo) == {"a.md": NEW_TEXT}
    check_clean(repo)
    assert "commit (initial)" in repo.git("reflog", branch)


def test_publication_to_other_branch_changes_no_files(repo: Repo) -> None:
    repo.git("branch", "topic")
    repo.write({"README.md": "mine\n"})
    id = publish_changes(repo, {"README.md": NEW_TEXT}, branch="topic")
    assert repo.git("rev-parse", "topic").strip() == id
    assert repo.status() == " M README.md\n"
    assert read_work_files(repo)["README.md"] == b"mine\n"


def test_detached_head_is_not_moved(tmp_path: Path) -> None:
    repo = repositories.create_detached_repository(tmp_path)
    head_before = repo.head()
    publish_changes(repo, {"README.md": NEW_TEXT})
    assert repo.head() == head_before
    check_clean(repo)


@loop_over("opened_name", ["main", "linked"])
def test_linked_work_tree_of_branch_is_updated(tmp_path: Path, opened_name: str) -> None:
    main_repo = repositories.create_repository(tmp_path / "main")
    linked_repo = repositories.add_work_tree(main_repo, tmp_path / "linked", "topic")
    repo = main_repo if opened_name == "main" else linked_repo
    publish_changes(repo, {"README.md": NEW_TEXT}, branch="topic")
    publish_changes(repo, {"README.md": b"# Main\n"}, branch="main")
    assert read_work_files(linked_repo)["README.md"] == NEW_TEXT
    assert read_work_files(main_repo)["README.md"] == b"# Main\n"
    check_clean(main_repo)
    check_clean(linked_repo)
    assert "Change the text" in linked_repo.git("reflog", "-1", "HEAD")


def test_linked_work_tree_of_bare_repository_is_updated(tmp_path: Path) -> None:
    repo = repositories.create_bare_repository(tmp_path / "repo.git")
    linked_repo = repositories.add_work_tree(repo, tmp_path / "linked", "topic")
    publish_changes(repo, {"README.md": NEW_TEXT}, branch="topic")
    assert read_work_files(linked_repo)["README.md"] == NEW_TEXT
    check_clean(linked_repo)


def test_locked_missing_work_tree_refuses_batch(tmp_path: Path) -> None:
    main_repo = repositories.create_repository(tmp_path / "main")
    linked_repo = repositories.add_work_tree(main_repo, tmp_path / "linked", "topic")
    linked_repo.path.rename(tmp_path / "away")
    publish_changes(main_repo, {"README.md": NEW_TEXT}, branch="topic")
    Repo(tmp_path / "away").git("status", check=False)
    main_repo.git("worktree", "lock", str(linked_repo.path))
    with pytest.raises(WorktreeBusy, match="missing"):
        publish_changes(main_repo, {"README.md": b"again\n"}, branch="topic")


def test_branch_in_two_work_trees_refuses_batch(tmp_path: Path) -> None:
    main_repo = repositories.create_repository(tmp_path / "main")
    main_repo.git("worktree", "add", "-q", "-f", str(tmp_path / "second"), "main")
    with pytest.raises(WorktreeBusy, match="several"):
        publish_changes(main_repo, {"README.md": NEW_TEXT})


@pytest.mark.parametrize("command", [["pack-refs", "--all"], ["gc", "-q", "--prune=now"]])
def test_packed_refs_and_objects_are_supported(repo: Repo, command: list[str]) -> None:
    for number in range(3):
        repo.git(*command)
        publish_changes(repo, {"README.md": b"%d\n" % number})
        check_clean(repo)
    assert repo.git("rev-list", "--count", "HEAD").strip() == "4"


@loop_over(
    "settings",
    [
        {"index.version": "4"},
        {"index.version": "4", "core.untrackedCache": "true", "index.threads": "true"},
        {"core.precomposeUnicode": "true", "core.ignoreCase": "true"},
    ],
)
def test_index_settings_of_git_are_supported(tmp_path: Path, settings: dict[str, str]) -> None:
    repo = repositories.create_empty_repository(tmp_path)
    for name, value in settings.items():
        repo.git("config", name, value)
    repo.commit({**FILES, "Ünïcode/文.md": "x\n"})
    publish_changes(
        repo, {"README.md": NEW_TEXT, "guides/deep/only.md": None, "Ünïcode/文.md": NEW_TEXT, "a/b": NEW_TEXT}
    )
    assert read_work_files(repo) == read_committed_files(repo)
    check_clean(repo)
    publish_changes(repo, {"README.md": b"again\n"})
    check_clean(repo)


def test_separate_git_directory_and_shallow_clone_are_supported(tmp_path: Path) -> None:
    source = repositories.create_repository(tmp_path / "source")
    source.commit({"more.md": "more\n"})
    clone_command = ["clone", "-q", "--depth=1", f"--separate-git-dir={tmp_path / 'elsewhere'}"]
    source.git(*clone_command, f"file://{source.path}", str(tmp_path / "repo"))
    repo = Repo(tmp_path / "repo")
    publish_changes(repo, {"README.md": NEW_TEXT})
    assert read_work_files(repo) == read_committed_files(repo)
    check_clean(repo)
    linked_repo = repositories.add_work_tree(repo, tmp_path / "linked", "topic")
    publish_changes(linked_repo, {"README.md": b"topic\n"}, branch="topic")
    check_clean(linked_repo)
    with pytest.raises(WorktreeBusy, match="missing"):
        publish_changes(linked_repo, {"README.md": b"main\n"}, branch="main")


def test_batch_without_changes_makes_no_commit(repo: Repo) -> None:
    head_before = repo.head()
    assert (
        publish_changes(repo, {"README.md": FILES["README.md"].encode(), "nothing.md": None, "guides": None})
        == head_before
    )
    assert publish_changes(repo, {}) == head_before
    assert repo.head() == head_before


def test_batch_on_old_base_raises_error_with_new_tip(repo: Repo) -> None:
    base = repo.head()
    first_commit = publish_changes(repo, {"README.md": NEW_TEXT})
    object_count = sum(1 for _ in (repo.path / ".git/objects").rglob("*"))
    with pytest.raises(BranchMoved) as error_info:
        publish_changes(repo, {"README.md": b"second\n"}, base=base)
    assert error_info.value.tip == first_commit
    assert sum(1 for _ in (repo.path / ".git/objects").rglob("*")) == object_count
    check_clean(repo)
    with pytest.raises(BranchMoved):
        publish_changes(repo, {"README.md": b"second\n"}, base=None)


def test_commit_by_git_refuses_stale_batch(repo: Repo) -> None:
    base = repo.head()
    repo.write({"guides/setup.md": "theirs\n"})
    repo.git("commit", "-qam", "Theirs")
    with pytest.raises(BranchMoved) as error_info:
        publish_changes(repo, {"README.md": NEW_TEXT}, base=base)
    assert error_info.value.tip == repo.head()
    check_clean(repo)


def try_commit(path: Path, base: str, number: int, outcomes: multiprocessing.SimpleQueue[str]) -> None:
    try:
        publish_changes(Repo(path), {"README.md": b"%d\n" % number}, base=base)
        outcomes.put("published")
    except BranchMoved:
        outcomes.put("moved")


@pytest.mark.guarantee
@pytest.mark.process
def test_one_of_several_processes_publishes(repo: Repo) -> None:
    context = multiprocessing.get_context("spawn")
    outcomes: multiprocessing.SimpleQueue[str] = context.SimpleQueue()
    processes = [
        context.Process(target=try_commit, args=(repo.path, repo.head(), number, outcomes))
        for number in range(3)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert sorted(outcomes.get() for _ in processes) == ["moved", "moved", "published"]
    assert repo.git("rev-list", "--count", "HEAD").strip() == "2"
    check_clean(repo)


def test_concurrent_threads_apply_each_edit_once(repo: Repo) -> None:
    """Several writers add lines, retry after each refusal, and compete with commits by git."""
    store = GitStore(repo.path)
    errors: list[BaseException] = []
    writer_names, lines_per_writer = ("a", "b", "c"), 5

    def add_lines(name: str) -> None:
        try:
            for number in range(lines_per_writer):
                while True:
                    base = store.tip("main")
                    path = f"log/{name}.md"
                    old_text = read_committed_files(repo).get(path, b"") if base else b""
                    batch = Batch("main", base, {path: old_text + b"%d\n" % number}, "Add", SIGNATURE)
                    try:
                        publish(store, batch, durable=False)
                        break
                    except (BranchMoved, Locked, WorktreeConflict):
                        continue
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=add_lines, args=(name,)) for name in writer_names]
    for thread in threads:
        thread.start()
    commit_count = 0
    while any(thread.is_alive() for thread in threads):
        repo.write({"README.md": f"{commit_count}\n"})
        repo.git("commit", "-qam", "With git", check=False)
        commit_count += 1
    repo.git("commit", "-qam", "The last with git", check=False)
    assert errors == []
    expected_text = b"".join(b"%d\n" % number for number in range(lines_per_writer))
    for name in writer_names:
        assert read_committed_files(repo)[f"log/{name}.md"] == expected_text
    assert repo.git("log", "--format=%s").split("\n").count("Add") == len(writer_names) * lines_per_writer
    check_clean(repo)


@pytest.mark.parametrize(
    ("change_repo", "path"),
    [
        (lambda repo: repo.write({"README.md": "mine\n"}), "README.md"),
        (lambda repo: (repo.write({"README.md": "mine\n"}), repo.git("add", "-A")), "README.md"),
        (lambda repo: repo.write({"new.md": "mine\n"}), "new.md"),
        (lambda repo: (repo.write({"new.md": "mine\n"}), repo.git("add", "-N", "new.md")), "new.md"),
        (lambda repo: (repo.path / "README.md").unlink(), "README.md"),
        (lambda repo: repo.git("rm", "-q", "README.md"), "README.md"),
        (lambda repo: repo.git("rm", "-q", "--cached", "README.md"), "README.md"),
        (lambda repo: (repo.path / "README.md").chmod(0o755), "README.md"),
        (lambda repo: repo.write({"folder": "a file\n"}), "folder/new.md"),
        (lambda repo: (repo.write({"x": "1"}), repo.git("add", "x"), (repo.path / "x").unlink()), "x/new.md"),
        (lambda repo: repo.write({"new.md/file": "mine\n"}), "new.md"),
        (lambda repo: os.symlink("guides", repo.path / "alias"), "alias/new.md"),
        (lambda repo: os.symlink("/etc/passwd", repo.path / "new.md"), "new.md"),
        (lambda repo: (repo.path / "README.md").unlink() or os.symlink("x", repo.path / "README.md"),
         "README.md"),
    ],
    ids=[
        "edited", "staged", "untracked", "intent-to-add", "deleted", "removed", "removed-from-index",
        "executable", "file-at-folder", "staged-file-at-folder", "folder", "link-at-folder",
        "new-link", "link-at-file",
    ],
)  # fmt: skip
def test_uncommitted_changes_refuse_batch(
    repo: Repo, change_repo: Callable[[Repo], object], path: str
) -> None:
    change_repo(repo)
    status, old_files, tip = repo.status(), read_work_files(repo), repo.head()
    with pytest.raises(WorktreeConflict) as error_info:
        publish_changes(repo, {path: NEW_TEXT, "guides/setup.md": NEW_TEXT})
    assert error_info.value.code == "WORKTREE_CONFLICT"
    assert error_info.value.paths == (path,)
    assert (repo.status(), read_work_files(repo), repo.head()) == (status, old_files, tip)
    check_no_leftovers(repo)


def test_unrelated_uncommitted_changes_are_preserved(repo: Repo) -> None:
    repo.write({"guides/setup.md": "edited\n", "staged.md": "staged\n", "intended.md": "", "plain.md": ""})
    repo.git("add", "staged.md")
    repo.git("add", "-N", "intended.md")
    repo.git("update-index", "--assume-unchanged", "guides/deep/only.md")
    status, flags = repo.status(), repo.git("ls-files", "-v")
    publish_changes(repo, {"README.md": NEW_TEXT})
    assert repo.status() == status
    assert repo.git("ls-files", "-v") == flags
    assert repo.git("show", "--stat", "--format=", "HEAD").startswith(" README.md")


def test_change_just_before_publication_is_not_hidden(repo: Repo) -> None:
    """Git compares the content of a file whose time equals that of its index, also after a publication."""
    file, index = repo.path / "guides/setup.md", repo.path / ".git/index"
    times = (1_700_000_000, 1_700_000_000)
    repo.git("config", "core.trustctime", "false")
    file.write_bytes(b"one\n")
    os.utime(file, times)
    repo.git("commit", "-qam", "One")
    file.write_bytes(b"two\n")
    os.utime(file, times)
    os.utime(index, times)
    publish_changes(repo, {"README.md": NEW_TEXT})
    assert repo.status() == " M guides/setup.md\n"


def start_git_operation(repo: Repo, operation: str) -> None:
    repo.git("checkout", "-q", "-b", "topic")
    repo.commit({"README.md": "theirs\n"})
    repo.git("checkout", "-q", "main")
    repo.commit({"README.md": "ours\n"})
    match operation:
        case "merge" | "cherry-pick" | "rebase":
            repo.git(operation, "topic", check=False)
        case "revert":
            repo.git("revert", "topic", check=False)
        case "bisection":
            repo.git("bisect", "start", "main", "HEAD~1")
        case "unmerged":
            repo.write({"README.md": "stashed\n"})
            repo.git("stash", "-q")
            repo.commit({"README.md": "again\n"})
            repo.git("stash", "pop", check=False)
        case "sparse":
            repo.git("sparse-checkout", "set", "guides")
        case "split":
            repo.git("update-index", "--split-index")
        case "cannot be read":
            (repo.path / ".git/index").write_bytes(b"DIRC nonsense")
        case "filter":
            repo.commit({".gitattributes": "*.md filter=lfs\n"})


@pytest.mark.parametrize(
    "operation",
    ["merge", "rebase", "cherry-pick", "revert", "bisection", "unmerged", "sparse", "split", "cannot be read",
     "filter"],
)  # fmt: skip
def test_unfinished_operation_or_unsupported_index_refuses_batch(repo: Repo, operation: str) -> None:
    start_git_operation(repo, operation)
    old_files, tip = read_work_files(repo), repo.git("rev-parse", "main")
    with pytest.raises(WorktreeBusy, match=operation) as error_info:
        publish_changes(repo, {"guides/setup.md": NEW_TEXT})
    assert error_info.value.code == "WORKTREE_BUSY"
    assert error_info.value.fix
    assert (read_work_files(repo), repo.git("rev-parse", "main")) == (old_files, tip)
    check_no_leftovers(repo)


@pytest.mark.parametrize("lock", ["index.lock", "refs/heads/main.lock"])
def test_lock_of_other_program_is_waited_for_and_preserved(
    repo: Repo, lock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "WAIT_FOR_GIT_S", 0.05)
    path = repo.path / ".git" / lock
    path.write_bytes(b"theirs")
    old_files, tip = read_work_files(repo), repo.head()
    with pytest.raises(Locked) as error_info:
        publish_changes(repo, {"README.md": NEW_TEXT})
    assert error_info.value.file == f".git/{lock}"
    assert path.read_bytes() == b"theirs"
    assert (read_work_files(repo), repo.head()) == (old_files, tip)
    monkeypatch.setattr(locks, "WAIT_FOR_GIT_S", 2.0)
    timer = threading.Timer(0.1, path.unlink)
    timer.start()
    publish_changes(repo, {"README.md": NEW_TEXT})
    timer.join()
    check_clean(repo)


def test_index_changed_before_lock_is_read_again(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare, first_call = checkout.Checkout.prepare, iter([1])

    def prepare_and_stage(self: checkout.Checkout, *arguments: object) -> None:
        prepare(self, *arguments)  # type: ignore[arg-type]
        if next(first_call, None):
            repo.write({"staged.md": "staged\n"})
            repo.git("add", "staged.md")

    monkeypatch.setattr(checkout.Checkout, "prepare", prepare_and_stage)
    publish_changes(repo, {"README.md": NEW_TEXT})
    assert repo.status() == "A  staged.md\n"


CRLF_SETTINGS = {
    "autocrlf": ({"core.autocrlf": "true"}, ""),
    "attribute": ({}, "*.md text eol=crlf\n"),
    "eol": ({"core.eol": "crlf"}, "* text=auto\n"),
}


@loop_over("kind", CRLF_SETTINGS)
def test_line_endings_are_converted_as_by_git(tmp_path: Path, kind: str) -> None:
    settings, attributes = CRLF_SETTINGS[kind]
    source = repositories.create_repository(tmp_path / "source", {**FILES, ".gitattributes": attributes})
    source.git(
        "clone", "-q", *[f"-c{name}={value}" for name, value in settings.items()], ".", str(tmp_path / "repo")
    )
    repo = Repo(tmp_path / "repo")
    assert read_work_files(repo)["README.md"] == b"# Example\r\n\r\nText.\r\n"
    publish_changes(repo, {"README.md": b"# One\n\nTwo\n", "new.md": b"a\nb\n", "guides/setup.md": None})
    assert read_committed_files(repo)["README.md"] == b"# One\n\nTwo\n"
    assert read_work_files(repo)["README.md"] == b"# One\r\n\r\nTwo\r\n"
    assert read_work_files(repo)["new.md"] == b"a\r\nb\r\n"
    check_clean(repo)
    repo.write({"README.md": b"# One\n\nTwo\n"})
    publish_changes(repo, {"README.md": b"LF in the file is no change\n"})
    check_clean(repo)
    repo.write({"README.md": b"# Mine\r\n"})
    with pytest.raises(WorktreeConflict):
        publish_changes(repo, {"README.md": NEW_TEXT})


def test_crlf_without_conversion_rule_is_preserved(tmp_path: Path) -> None:
    repo = repositories.create_repository(tmp_path, {"a.md": b"# A\r\n"})
    publish_changes(repo, {"a.md": b"# B\r\n"})
    assert read_work_files(repo) == read_committed_files(repo) == {"a.md": b"# B\r\n"}
    check_clean(repo)


def test_autocrlf_preserves_crlf_in_repository(tmp_path: Path) -> None:
    repo = repositories.create_repository(tmp_path, {"a.md": b"# A\r\n", "b.md": b"# B\n"})
    repo.git("config", "core.autocrlf", "true")
    publish_changes(repo, {"b.md": b"# C\n"})
    publish_changes(repo, {"a.md": b"# A\r\n\r\nMore\r\n"})
    publish_changes(repo, {"a.md": b"# A\r\n"})
    check_clean(repo)


def test_file_modes_are_preserved(tmp_path: Path) -> None:
    repo = repositories.create_empty_repository(tmp_path)
    repo.write({"run.md": "#!/bin/sh\n", "private.md": "x\n"})
    (tmp_path / "run.md").chmod(0o750)
    (tmp_path / "private.md").chmod(0o600)
    repo.git("add", "-A")
    repo.git("commit", "-qm", "First")
    publish_changes(repo, {"run.md": NEW_TEXT, "private.md": NEW_TEXT})
    assert (tmp_path / "run.md").stat().st_mode & 0o777 == 0o750
    assert (tmp_path / "private.md").stat().st_mode & 0o777 == 0o600
    assert repo.git("ls-files", "-s", "run.md").startswith("100755")
    check_clean(repo)


@loop_over(
    ("setting", "is_bare", "has_reflog"),
    [
        (None, False, True),
        ("false", False, False),
        (None, True, False),
        ("true", True, True),
        ("always", True, True),
    ],
)
def test_reflogs_are_written_as_by_git(
    tmp_path: Path, setting: str | None, is_bare: bool, has_reflog: bool
) -> None:
    repo = (repositories.create_bare_repository if is_bare else repositories.create_empty_repository)(
        tmp_path / "repo"
    )
    if setting:
        repo.git("config", "core.logAllRefUpdates", setting)
    first_commit = publish_changes(repo, {"a.md": b"1\n"})
    second_commit = publish_changes(repo, {"a.md": b"2\n"}, message="Second\n\nBody")
    for name in ("main", "HEAD"):
        lines = repo.git("reflog", "--format=%H %gs %gn", name, check=False).splitlines()
        assert lines[:1] == ([f"{second_commit} commit: Second {SIGNATURE.name}"] if has_reflog else [])
        assert any(line.startswith(first_commit) for line in lines) == has_reflog
    if has_reflog:
        assert repo.git("rev-parse", "main@{1}").strip() == first_commit
    assert repo.fsck() == ""


@loop_over(
    ("is_packed", "has_file", "is_removed"),
    [(False, True, True), (True, False, False), (True, True, False)],
)
def test_only_a_branch_without_packed_ref_is_removed(
    tmp_path: Path, is_packed: bool, has_file: bool, is_removed: bool
) -> None:
    repo = repositories.create_empty_repository(tmp_path / "repo")
    publish_changes(repo, {"a.md": b"1\n"})
    repo.git("branch", "topic")
    if is_packed:
        repo.git("pack-refs", "--all")
    if has_file:
        publish_changes(repo, {"a.md": b"2\n"}, branch="topic")
    store = GitStore(repo.path)
    tip, reflog = store.tip("topic") or "", repo.git("reflog", "topic")
    with Publication(store, "topic", durable=False) as publication:
        assert publication.remove_branch(tip, lambda: True) == is_removed
    assert store.tip("topic") == (None if is_removed else tip)
    if not is_removed:
        assert repo.git("reflog", "topic") == reflog
    assert repo.fsck() == ""


def test_invalid_or_conflicting_branch_name_is_refused(repo: Repo) -> None:
    repo.git("branch", "topic/one")
    repo.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
    for is_packed in (False, True):
        if is_packed:
            repo.git("pack-refs", "--all")
        for branch in ("topic", "main/sub", "topic/one/two", "alias"):
            with pytest.raises(RefConflict):
                publish_changes(repo, {"a.md": NEW_TEXT}, branch=branch, base=None)
    for branch in ("a..b", "-x", "x.lock", "", "a b"):
        with pytest.raises(InvalidBranch):
            publish_changes(repo, {"a.md": NEW_TEXT}, branch=branch, base=None)
    repo.git("branch", "-D", "topic/one")
    (repo.path / ".git/refs/heads/topic/empty").mkdir(parents=True)
    publish_changes(repo, {"a.md": NEW_TEXT}, branch="topic", base=None)
    check_clean(repo)


def test_invalid_or_blocked_paths_change_nothing(repo: Repo) -> None:
    repo.git("config", "core.symlinks", "true")
    os.symlink("README.md", repo.path / "link.md")
    repo.commit({})
    object_count = sum(1 for _ in (repo.path / ".git/objects").rglob("*"))
    for path in ("../a.md", "/a.md", ".git/config", "./a.md", "a\\b"):
        with pytest.raises(InvalidPath):
            publish_changes(repo, {path: NEW_TEXT})
    for path in ("link.md",):
        with pytest.raises(PathBlocked):
            publish_changes(repo, {path: NEW_TEXT})
    assert sum(1 for _ in (repo.path / ".git/objects").rglob("*")) == object_count
    for path in ("guides", "README.md/below.md"):
        with pytest.raises((PathBlocked, WorktreeConflict)):
            publish_changes(repo, {path: NEW_TEXT})
    check_clean(repo)


PUBLICATION_STEPS = [
    (checkout.WorkFiles, "write", False),
    *(
        (owner, method_name, is_after_call)
        for owner, method_name in [
            (checkout.Checkout, "recheck"),
            (checkout.Checkout, "apply"),
            (staging_folder.StagingFolder, "install"),
            (refs.BranchRef, "acquire"),
            (refs.BranchRef, "move"),
        ]
        for is_after_call in (False, True)
    ),
]


@pytest.mark.parametrize(("owner", "method_name", "is_after_call"), PUBLICATION_STEPS)
@pytest.mark.parametrize("has_commit", [False, True])
def test_failed_step_publishes_everything_or_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    owner: type,
    method_name: str,
    is_after_call: bool,
    has_commit: bool,
) -> None:
    repo = (repositories.create_repository if has_commit else repositories.create_empty_repository)(tmp_path)
    status, old_files = repo.status(), read_work_files(repo)
    tip = GitReader(repo.path).tip("main")
    method, call_numbers = getattr(owner, method_name), iter(range(100))

    def fail(self: object, *arguments: object, **options: object) -> object:
        # The write of the second file fails, so that the first file must be rolled back.
        if method_name == "write" and next(call_numbers) < 1:
            return method(self, *arguments, **options)
        if is_after_call:
            method(self, *arguments, **options)
        monkeypatch.undo()
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(owner, method_name, fail)
    changes = {"README.md": NEW_TEXT, "new/a.md": NEW_TEXT, "guides/deep/only.md": None}
    if (method_name, is_after_call) == ("move", True):
        id = publish_changes(repo, changes)
        assert repo.head() == id
        check_clean(repo)
        return
    with pytest.raises(CannotWrite):
        publish_changes(repo, changes)
    assert (repo.status(), read_work_files(repo), GitReader(repo.path).tip("main")) == (
        status,
        old_files,
        tip,
    )
    assert not (repo.path / "new").exists()
    check_no_leftovers(repo)
    publish_changes(repo, changes)
    check_clean(repo)


def test_user_write_during_publication_is_preserved(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_and_fail(self: object, name: str) -> None:
        time.sleep(0.01)
        (repo.path / "README.md").write_bytes(b"by the user\n")
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(refs.BranchRef, "move", write_and_fail)
    with pytest.raises(CannotWrite):
        publish_changes(repo, {"README.md": NEW_TEXT, "guides/setup.md": NEW_TEXT})
    assert read_work_files(repo)["README.md"] == b"by the user\n"
    assert read_work_files(repo)["guides/setup.md"] == FILES["guides/setup.md"].encode()
    assert repo.status() == " M README.md\n"
    check_no_leftovers(repo)


@pytest.mark.parametrize("save_count", [1, 2])
def test_user_save_during_file_swap_is_preserved(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, save_count: int
) -> None:
    swap_files, save_numbers = staging_folder.swap_files, iter(range(1, save_count + 1))

    def exchange(source: Path, target: Path) -> bool:
        number = next(save_numbers, None)
        if number:
            (repo.path / ".saved").write_bytes(b"saved %d\n" % number)
            os.rename(repo.path / ".saved", target)
        return swap_files(source, target)

    monkeypatch.setattr(staging_folder, "swap_files", exchange)
    with pytest.raises(WorktreeConflict):
        publish_changes(repo, {"README.md": NEW_TEXT, "guides/setup.md": None})
    assert read_work_files(repo)["README.md"] == b"saved %d\n" % save_count
    assert repo.status() == " M README.md\n"
    check_no_leftovers(repo)


def test_write_to_open_file_during_publication_is_preserved(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (repo.path / "README.md").open("ab", buffering=0) as stream:
        call_hooks.run_after_call(
            monkeypatch, staging_folder.StagingFolder, "install", lambda: stream.write(b"logged\n")
        )
        with pytest.raises(WorktreeConflict):
            publish_changes(repo, {"README.md": NEW_TEXT, "guides/setup.md": None})
    assert read_work_files(repo)["README.md"].endswith(b"logged\n")
    assert repo.status() == " M README.md\n"
    check_no_leftovers(repo)


def test_files_are_replaced_without_rename_exchange(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging_folder, "swap_files", lambda one, two: False)
    publish_changes(repo, {"README.md": NEW_TEXT, "new.md": NEW_TEXT, "guides/setup.md": None})
    assert read_work_files(repo)["README.md"] == NEW_TEXT
    check_clean(repo)


def test_error_messages_contain_no_absolute_path(repo: Repo) -> None:
    repo.write({"README.md": "mine\n"})
    with pytest.raises(WorktreeConflict) as error_info:
        publish_changes(repo, {"README.md": NEW_TEXT})
    assert (
        str(repo.path) not in f"{error_info.value.message} {error_info.value.fix} {error_info.value.details}"
    )


def test_damage_after_a_commit_is_logged_with_its_object_and_its_step(
    repo: Repo, caplog: pytest.LogCaptureFixture
) -> None:
    git = GitStore(repo.path)
    with record_commits() as record:
        note_commit(repo.head())
        assert run_with_caveat(lambda: git.blob("1" * 40), b"", "the text is missing") == b""
    [log_record] = caplog.records
    assert "1" * 40 in log_record.getMessage()
    assert log_record.exc_info is not None
    assert record.caveats == [
        "Committed, but the text is missing: an object of the repository is missing or broken: "
        "111111111111 (it is in no file and in no pack)"
    ]
