"""Objects that Git's housekeeping may remove during a publication are protected or written again."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import repositories
from tests.repositories import Repo
from workspace.edits.text import AppendContent
from workspace.errors import WorkspaceError
from workspace.git import packs
from workspace.git.housekeeping import identify_running_gc, keep_objects
from workspace.git.loose import (
    build_loose_path,
    is_loose,
    pack_loose,
    read_loose_file,
    unpack_loose,
    write_loose,
)
from workspace.git.reader import GitReader
from workspace.git.store import GitStore
from workspace.publishing import refs
from workspace.publishing.batch import Batch
from workspace.publishing.batch_objects import MAX_COPIES, RECENT_COPIES, read_copied_objects
from workspace.publishing.checkout import Checkout
from workspace.publishing.journal import Journal
from workspace.publishing.publish import publish
from workspace.publishing.recovery import recover, restore_all_pruned
from workspace.publishing.staging_folder import StagingFolder
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode

SIGNATURE = repositories.make_signature()
REMOVE_FOLDERS_SCRIPT = """
import os, sys
names = [f"{sys.argv[1]}/{number:02x}" for number in range(256)]
while True:
    for name in names:
        try:
            os.rmdir(name)
        except OSError:
            pass
"""
WRITE_SCRIPT = """
import sys
from pathlib import Path
from tests.workspace.publishing.test_housekeeping import GitStore, SIGNATURE, Batch, publish
store = GitStore(Path(sys.argv[1]))
publish(store, Batch("main", store.tip("main"), {"new.md": b"# New"}, "Change", SIGNATURE), durable=False)
"""
NEW_TEXT = b"# Setup\n\nNew steps.\n"
# Git ignores the lock of a `git gc` that is older than 12 hours.
THIRTEEN_HOURS_S = 13 * 60 * 60
# Linux gives no process an id above 2**22.
UNUSED_PROCESS_ID = 2**22 + 1


@pytest.fixture(params=[False, True], ids=["checked-out", "bare"])
def repo(request: pytest.FixtureRequest, tmp_path: Path) -> Repo:
    create = repositories.create_bare_repository if request.param else repositories.create_repository
    return create(tmp_path / "repo")


def find_git_dir(repo: Repo) -> Path:
    return Path(repo.git("rev-parse", "--absolute-git-dir").strip())


def publish_change(repo: Repo, data: bytes = NEW_TEXT, store: GitStore | None = None) -> str:
    store = store or GitStore(repo.path)
    batch = Batch("main", store.tip("main"), {"guides/setup.md": data}, "Change", SIGNATURE)
    return publish(store, batch, durable=False)


def list_new_objects(repo: Repo, id: str) -> list[str]:
    return repo.git("rev-list", "--objects", "--no-object-names", id, f"^{id}^").split()


def list_loose_files(repo: Repo) -> set[Path]:
    return set((find_git_dir(repo) / "objects").glob("??/*"))


def list_keep_files(repo: Repo) -> list[Path]:
    return sorted((find_git_dir(repo) / "objects" / "pack").glob("*.keep"))


def run_before_move(monkeypatch: pytest.MonkeyPatch, callback: Callable[[], None]) -> None:
    """Make each publication run a callback right before its branch moves."""
    original_move = refs.BranchRef.move

    def move_after_callback(self: refs.BranchRef, name: str) -> None:
        callback()
        original_move(self, name)

    monkeypatch.setattr(refs.BranchRef, "move", move_after_callback)


def write_gc_lock(repo: Repo, *, pid: int | None = None, host: str | None = None, age_s: float = 0.0) -> Path:
    """Write the lock file of a running `git gc` as builtin/gc.c does, and return its path."""
    lock = find_git_dir(repo) / "gc.pid"
    lock.write_text(f"{pid or os.getpid()} {host or socket.gethostname()}")
    os.utime(lock, (time.time() - age_s,) * 2)
    return lock


@pytest.mark.parametrize("command", [("prune", "--expire=now"), ("gc", "--quiet", "--prune=now")])
def test_objects_pruned_before_branch_move_are_rewritten(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    pruned_names: list[str] = []

    def prune() -> None:
        files_before = list_loose_files(repo)
        repo.git("pack-refs", "--all", check=False)
        repo.git(*command, check=False)
        repo.git("prune", "--expire=now")
        pruned_names.extend(path.name for path in files_before - list_loose_files(repo))

    run_before_move(monkeypatch, prune)
    id = publish_change(repo)
    assert id[2:] in pruned_names
    assert all(is_loose(find_git_dir(repo), object_id) for object_id in list_new_objects(repo, id))
    assert repo.fsck() == ""


def test_branch_moves_only_if_all_objects_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process may die right after the move, and then no later check finds missing objects."""
    repo = repositories.create_repository(tmp_path / "repo")
    files_before = list_loose_files(repo)
    pruned_paths: set[Path] = set()
    missing_sets: list[set[Path]] = []
    original_apply = Checkout.apply

    def apply_and_record(self: Checkout, journal: Journal, staging: StagingFolder) -> None:
        original_apply(self, journal, staging)
        pruned_paths.update(list_loose_files(repo) - files_before)
        repo.git("prune", "--expire=now")

    monkeypatch.setattr(Checkout, "apply", apply_and_record)
    run_before_move(monkeypatch, lambda: missing_sets.append(pruned_paths - list_loose_files(repo)))
    id = publish_change(repo)
    assert build_loose_path(find_git_dir(repo), id) in pruned_paths
    assert missing_sets == [set()]


def test_objects_are_protected_until_running_gc_ends(repo: Repo) -> None:
    repo.git("repack", "-adq")
    lock = write_gc_lock(repo)
    id = publish_change(repo)
    [keep_file] = list_keep_files(repo)
    for object_id in list_new_objects(repo, id):  # like a gc that read the refs before the branch moved
        build_loose_path(find_git_dir(repo), object_id).unlink()
    assert repo.fsck() == ""
    second_commit = publish_change(repo, b"# Setup\n\nMore.\n")
    assert keep_file in list_keep_files(repo)
    assert len(list_keep_files(repo)) == 2
    lock.unlink()
    publish_change(repo, b"# Setup\n\nStill more.\n")
    assert list_keep_files(repo) == []
    repo.git("gc", "--quiet", "--prune=now")
    assert len(list(keep_file.parent.glob("*.pack"))) == 1
    assert repo.fsck() == ""
    assert repo.git("rev-list", "main").count("\n") == 4
    assert second_commit in repo.git("rev-list", "main")


def test_gc_started_before_branch_move_is_detected_after(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    run_before_move(monkeypatch, lambda: (write_gc_lock(repo), None)[1])
    id = publish_change(repo)
    assert len(list_keep_files(repo)) == 1
    for object_id in list_new_objects(repo, id):
        build_loose_path(find_git_dir(repo), object_id).unlink()
    assert repo.fsck() == ""


def test_keep_file_of_user_is_preserved(repo: Repo) -> None:
    repo.git("repack", "-adq")
    [pack] = (find_git_dir(repo) / "objects" / "pack").glob("*.pack")
    pack.with_suffix(".keep").write_text("mine\n")
    publish_change(repo)
    assert [keep_file.read_text() for keep_file in list_keep_files(repo)] == ["mine\n"]


@pytest.mark.parametrize(
    ("options", "is_running"),
    [
        ({}, True),
        ({"host": "another.example.org", "pid": 1}, True),
        ({"pid": UNUSED_PROCESS_ID}, False),
        ({"age_s": THIRTEEN_HOURS_S}, False),
        ({"host": "another.example.org", "age_s": THIRTEEN_HOURS_S}, False),
    ],
    ids=["running", "on another machine", "ended", "old", "on another machine and old"],
)
def test_gc_is_running_by_rules_of_git(repo: Repo, options: dict[str, object], is_running: bool) -> None:
    assert identify_running_gc(find_git_dir(repo)) is None
    write_gc_lock(repo, **options)  # type: ignore[arg-type]
    assert (identify_running_gc(find_git_dir(repo)) is not None) == is_running


@pytest.mark.parametrize("text", ["", "junk", "x y\n", "\0\0"])
def test_torn_gc_lock_is_ignored(repo: Repo, text: str) -> None:
    (find_git_dir(repo) / "gc.pid").write_text(text)
    assert identify_running_gc(find_git_dir(repo)) is None
    publish_change(repo)


def test_object_only_in_unreachable_pack_is_rewritten(repo: Repo) -> None:
    """The text of a reset commit is written again: `git repack` drops the pack that contains its blob."""
    base = repo.head()
    first_commit = publish_change(repo)
    blob, tree = (
        repo.git("rev-parse", f"{first_commit}{suffix}").strip() for suffix in (":guides/setup.md", "^{tree}")
    )
    repo.git("repack", "-adq")
    repo.git("update-ref", "refs/heads/main", base)
    if find_git_dir(repo) != repo.path:
        repo.git("reset", "-q", "--hard")
    repo.git("reflog", "expire", "--expire=now", "--all")
    store = GitStore(repo.path)
    assert store.has_object(blob)
    second_commit = publish_change(repo, store=store)
    assert repo.git("rev-parse", f"{second_commit}^{{tree}}").strip() == tree
    assert all(is_loose(find_git_dir(repo), id) for id in (blob, tree, second_commit))
    for file in (find_git_dir(repo) / "objects" / "pack").iterdir():
        file.rename(file.with_suffix(file.suffix + ".away"))
    assert all(repo.git("cat-file", "-t", id) for id in (blob, tree, second_commit))


def test_crash_after_move_to_pruned_commit_is_recovered(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        original_move = refs.BranchRef.move

        def die(self: refs.BranchRef, name: str) -> None:
            repo.git("prune", "--expire=now")
            original_move(self, name)
            raise KeyboardInterrupt

        patch.setattr(refs.BranchRef, "move", die)
        with pytest.raises(KeyboardInterrupt):
            publish_change(repo)
    assert repo.git("cat-file", "-t", "main", check=False) == ""
    assert recover(GitStore(repo.path)).rolled_forward_count == 1
    assert repo.fsck() == ""
    assert "New steps." in repo.git("show", "main:guides/setup.md")


@pytest.mark.parametrize("writer", ["publish", "workspace.write"])
def test_next_write_restores_commit_pruned_after_response(repo: Repo, writer: str) -> None:
    first_commit, second_commit = publish_change(repo), publish_change(repo, b"# Setup\n\nMore.\n")
    for id in (*list_new_objects(repo, second_commit), *list_new_objects(repo, first_commit)):
        build_loose_path(find_git_dir(repo), id).unlink(missing_ok=True)
    assert repo.git("cat-file", "-t", "main", check=False) == ""
    if writer == "publish":
        store = GitStore(repo.path)
        batch = Batch("main", second_commit, {"guides/new.md": NEW_TEXT}, "Change", SIGNATURE)
        publish(store, batch, durable=False)
    else:
        operation = AppendContent(file="guides/setup.md", slug="_preamble", content="By a call.")
        workspace = Workspace.open(repo.path, durable=False)
        assert workspace.write([operation], mode=BatchMode.ALL, tool="edit_document", client="x").is_committed
    assert repo.git("rev-parse", "main^").strip() == second_commit
    assert repo.fsck() == ""


def test_publication_copies_are_bounded(repo: Repo) -> None:
    ids = [publish_change(repo, b"# Setup\n\n%d\n" % number) for number in range(MAX_COPIES + 3)]
    names = sorted(path.name for path in (find_git_dir(repo) / RECENT_COPIES).iterdir())
    assert [name.partition("-")[2] for name in names] == ids[3:]
    assert set(list_new_objects(repo, ids[-1])) <= read_copied_objects(find_git_dir(repo)).keys()


def test_copies_folder_that_is_a_symlink_is_ignored(repo: Repo, tmp_path: Path) -> None:
    publish_change(repo)
    outside_folder = tmp_path / "outside"
    shutil.move(find_git_dir(repo) / RECENT_COPIES, outside_folder)
    (find_git_dir(repo) / RECENT_COPIES).symlink_to(outside_folder)
    assert read_copied_objects(find_git_dir(repo)) == {}
    publish_change(repo, b"# Setup\n\nMore.\n")
    assert len(list(outside_folder.iterdir())) == 1


@pytest.mark.process
def test_writes_succeed_while_empty_object_folders_are_removed(repo: Repo) -> None:
    """`git repack` and `git gc` remove empty folders; another process does only that."""
    store = GitStore(repo.path)
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", REMOVE_FOLDERS_SCRIPT, str(find_git_dir(repo) / "objects")]
    )
    try:
        for number in range(60):
            publish_change(repo, b"# Setup\n\n%d\n" % number, store)
    finally:
        process.kill()
        process.wait()
    assert repo.fsck() == ""


def test_git_reads_written_loose_object(repo: Repo) -> None:
    common_dir, data = find_git_dir(repo), b"text"
    file = pack_loose("blob", data)
    [(id, unpacked_file, kind, unpacked_data)] = unpack_loose(file)
    assert (unpacked_file, kind, unpacked_data) == (file, "blob", data)
    files_before = list_loose_files(repo)
    write_loose(common_dir, id, file, durable=True)
    assert repo.git("cat-file", "blob", id) == "text"
    assert read_loose_file(common_dir, id) == file
    assert list_loose_files(repo) - files_before == {build_loose_path(common_dir, id)}


def test_truncated_loose_object_ends_unpacking(repo: Repo) -> None:
    files = [pack_loose("blob", b"%d" % number * 100) for number in range(3)]
    all_files = b"".join(files)
    assert [data for *_, data in unpack_loose(all_files)] == [b"%d" % number * 100 for number in range(3)]
    for end in range(len(all_files)):
        unpacked_files = [file for _, file, _, _ in unpack_loose(all_files[:end])]
        assert unpacked_files == files[: len(unpacked_files)]
        assert len(b"".join(unpacked_files)) <= end
    assert list(unpack_loose(b"junk" + all_files)) == []


def test_reader_survives_repack_that_removes_its_packs(repo: Repo) -> None:
    repo.git("repack", "-adq")
    reader = GitReader(repo.path)
    first_commit = reader.commit(repo.head())
    pack = next((find_git_dir(repo) / "objects" / "pack").glob("*.pack"))
    for number in range(3):
        publish_change(repo, b"# Setup\n\n%d\n" % number)
        repo.git("repack", "-adq")
        assert reader.commit(repo.head()).parents
        assert reader.blob(repo.git("rev-parse", "HEAD:guides/setup.md").strip())
        assert reader.tree(first_commit.tree)
    assert not pack.exists()


def test_missing_object_without_copy_is_an_error(repo: Repo) -> None:
    reader = GitReader(repo.path)
    for _ in range(3):
        with pytest.raises(WorkspaceError, match="missing or broken"):
            reader.blob("1" * 40)


@pytest.mark.parametrize("object_kind", ["commit", "root", "folder", "blob"])
def test_any_pruned_object_of_recent_commits_is_restored(repo: Repo, object_kind: str) -> None:
    first_commit, second_commit = publish_change(repo), publish_change(repo, b"# Setup\n\nMore.\n")
    name = {"commit": "", "root": "^{tree}", "folder": ":guides", "blob": ":guides/setup.md"}[object_kind]
    store = GitStore(repo.path)
    for id in (first_commit, second_commit):
        object_id = repo.git("rev-parse", f"{id}{name}").strip()
        store.peel(object_id)  # libgit2 has the object in its cache, and would report that it exists
        build_loose_path(find_git_dir(repo), object_id).unlink()
    assert restore_all_pruned(store)
    assert repo.fsck() == ""
    assert restore_all_pruned(store), "another thread may have restored the objects before"


@pytest.mark.parametrize("object_kind", ["commit", "root", "folder", "blob"])
def test_publication_restores_pruned_objects_of_tip(repo: Repo, object_kind: str) -> None:
    id = publish_change(repo)
    name = {"commit": "", "root": "^{tree}", "folder": ":guides", "blob": ":guides/setup.md"}[object_kind]
    build_loose_path(find_git_dir(repo), repo.git("rev-parse", f"{id}{name}").strip()).unlink()
    publish(
        GitStore(repo.path), Batch("main", id, {"new.md": b"# New\n"}, "Change", SIGNATURE), durable=False
    )
    assert repo.fsck() == ""


@pytest.mark.parametrize("mode", [BatchMode.ALL, BatchMode.EACH])
def test_write_restores_pruned_blob_of_edited_document(repo: Repo, mode: BatchMode) -> None:
    workspace = Workspace.open(repo.path, durable=False)
    operation = AppendContent(file="guides/setup.md", slug="_preamble", content="More.")
    assert workspace.write([operation], mode=mode, tool="edit_document", client="x").is_committed
    build_loose_path(find_git_dir(repo), repo.git("rev-parse", "main:guides/setup.md").strip()).unlink()
    workspace = Workspace.open(repo.path, durable=False)
    result = workspace.write([operation], mode=mode, tool="edit_document", client="x")
    assert [step.error for step in result.steps] == [None]
    assert repo.git("show", "main:guides/setup.md").count("More.") == 2
    assert repo.fsck() == ""


def test_only_operation_on_lost_document_fails(repo: Repo) -> None:
    build_loose_path(find_git_dir(repo), repo.git("rev-parse", "main:guides/setup.md").strip()).unlink()
    workspace = Workspace.open(repo.path, durable=False)
    operations = [
        AppendContent(file="guides/setup.md", slug="_preamble", content="More."),
        AppendContent(file="README.md", slug="_preamble", content="More."),
    ]
    result = workspace.write(operations, mode=BatchMode.EACH, tool="edit_document", client="x")
    codes = [step.error.code if step.error else None for step in result.steps]
    assert codes == ["DAMAGED_REPO", None]
    assert result.is_committed


@pytest.mark.process
@pytest.mark.parametrize("name", ["gc.pid", "objects/pack/pack-1.keep"])
def test_pipe_in_place_of_git_file_delays_no_write(repo: Repo, name: str) -> None:
    path = find_git_dir(repo) / name
    os.mkfifo(path)
    process = subprocess.run([sys.executable, "-c", WRITE_SCRIPT, str(repo.path)], timeout=20, check=False)
    assert process.returncode == 0
    assert path.is_fifo()


def test_gc_lock_of_process_0_is_ignored(repo: Repo) -> None:
    (find_git_dir(repo) / "gc.pid").write_text(f"0 {socket.gethostname()}")
    assert identify_running_gc(find_git_dir(repo)) is None


@pytest.mark.parametrize("suffix", [".keep", ".pack", ".idx"])
def test_failed_pack_write_leaves_no_files(repo: Repo, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    folder = find_git_dir(repo) / "objects" / "pack"
    files_before = sorted(folder.iterdir())
    replace_file = os.replace

    def fail(source: Path, target: Path) -> None:
        if target.suffix == suffix:
            raise OSError(errno.ENOSPC, "disk full")
        replace_file(source, target)

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        keep_objects(find_git_dir(repo), [pack_loose("blob", b"text")], "a run", durable=False)
    assert sorted(folder.iterdir()) == files_before


def test_truncated_keep_file_on_full_disk_is_removed(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = find_git_dir(repo) / "objects" / "pack"
    files_before = sorted(folder.iterdir())
    write_file = packs._write_file

    def fail(file: Path, data: bytes, durable: bool) -> None:
        if ".keep" in file.name:
            write_file(file, data[:5], durable)
            raise OSError(errno.ENOSPC, "disk full")
        write_file(file, data, durable)

    monkeypatch.setattr(packs, "_write_file", fail)
    with pytest.raises(OSError, match="disk full"):
        keep_objects(find_git_dir(repo), [pack_loose("blob", b"text")], "a run", durable=False)
    assert sorted(folder.iterdir()) == files_before


@pytest.mark.parametrize(
    ("text", "age_s", "is_preserved"),
    [
        ("docyard: while this", 0, False),
        ("", THIRTEEN_HOURS_S, False),
        ("", 0, True),
        ("fetch-pack 1 on host\n", THIRTEEN_HOURS_S, True),
    ],
    ids=["truncated", "empty and old", "empty and new", "written by git fetch"],
)
def test_keep_file_without_pack_is_removed_if_stale(
    repo: Repo, text: str, age_s: int, is_preserved: bool
) -> None:
    keep_file = find_git_dir(repo) / "objects" / "pack" / "pack-1.keep"
    keep_file.write_text(text)
    os.utime(keep_file, (time.time() - age_s,) * 2)
    publish_change(repo)
    assert keep_file.exists() == is_preserved


@pytest.mark.process
def test_packs_of_long_gc_run_are_joined(repo: Repo) -> None:
    repo.git("repack", "-adq")
    lock = write_gc_lock(repo, host="another.example.org", pid=1)
    store = GitStore(repo.path)
    base = repo.head()
    for number in range(40):
        publish_change(repo, b"# Setup\n\n%d\n" % number, store)
    assert len(list_keep_files(repo)) < 20
    for id in repo.git("rev-list", "--objects", "--no-object-names", "main", f"^{base}").split():
        build_loose_path(find_git_dir(repo), id).unlink()
    assert repo.fsck() == ""
    assert len(store.blob(repo.git("rev-parse", "main~30:guides/setup.md").strip())) > 0
    lock.unlink()
    publish_change(repo)
    assert list_keep_files(repo) == []
    assert repo.fsck() == ""
