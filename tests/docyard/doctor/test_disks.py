"""`docyard doctor` on disks that are full or mounted read-only: a small file system is made for each test."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docyard.cli.main import main
from docyard.doctor.finding import Severity
from docyard.doctor.index import FULL, NEARLY_FULL, check_disks, check_free_space
from tests.loops import loop_over

pytestmark = pytest.mark.process

NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")
"""A user and mounts of our own, in which file systems of memory may be mounted."""


def _can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    probe = (*NAMESPACE, "mount", "-t", "tmpfs", "none", "/mnt")
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


needs_mounts = pytest.mark.skipif(not _can_mount(), reason="this system lets nobody mount a file system")


@loop_over(
    ("free", "found"),
    [
        (0, "error: the disk of it is full: 0 kB are free"),
        (FULL - 1, "error: the disk of it is full: 999 kB are free"),
        (FULL, "warning: the disk of it is nearly full: 1 MB are free"),
        (NEARLY_FULL - 1, "warning: the disk of it is nearly full: 50 MB are free"),
        (NEARLY_FULL, ""),
    ],
)
def test_how_much_room_is_enough(free: int, found: str) -> None:
    assert "\n".join(f"{one.severity}: {one.message}" for one in check_free_space(free, "it")) == found


def test_a_place_that_is_not_there_is_not_asked(tmp_path: Path) -> None:
    assert list(check_disks([(tmp_path / "none", "nothing")])) == []


def examined(repo: Path, then: str, size: str = "100m") -> list[str]:
    """The problems that doctor finds in a repository on a disk of its own, to which something is done."""
    source = repo.rename(repo.with_name("source"))
    repo.mkdir()
    script = f"""
        set -e
        mount -t tmpfs -o size={size} none "$1"
        cp -a "$2/." "$1"
        {then}
        exec "$3" -m docyard doctor -C "$1" --json
    """
    command = (*NAMESPACE, "sh", "-c", script, "sh", str(repo), str(source), sys.executable)
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode in (0, 1), ran.stderr
    found = [one for one in json.loads(ran.stdout)["findings"] if one["severity"] != Severity.NOTE]
    assert all(one["fix"] for one in found)
    return [f"{one['severity']}: {one['message']}" for one in found]


@needs_mounts
def test_a_disk_with_room_is_no_problem(repo: Path) -> None:
    assert examined(repo, "true") == []


@needs_mounts
def test_a_disk_that_is_nearly_full(repo: Path) -> None:
    [found] = examined(repo, "true", size="20m")
    assert found.startswith(
        "warning: the disk of the repository's Git folder and the work tree is nearly full: "
    )


@needs_mounts
def test_a_full_disk(repo: Path) -> None:
    [found] = examined(repo, 'cat /dev/zero > "$1/.git/fill" 2> /dev/null || true')
    assert found.startswith("error: the disk of the repository's Git folder and the work tree is full: 0 kB")


@needs_mounts
def test_a_disk_that_is_mounted_read_only_is_one_finding(repo: Path) -> None:
    assert main(["index", "rebuild", "-C", str(repo)]) == 0
    (repo / ".git" / "docyard" / "pending").mkdir(exist_ok=True)
    assert examined(repo, 'mount -o remount,ro "$1"', size="200m") == [
        "warning: the file system of the repository's Git folder and the work tree is mounted read-only, so "
        "nothing can be written there"
    ]


@needs_mounts
def test_the_work_tree_and_the_index_may_have_disks_of_their_own(repo: Path, home: Path) -> None:
    """The Git folder stands apart and is read-only; so the index goes to the user's cache, which is full."""
    cache = home / "xdg_cache_home"
    cache.mkdir()
    found = examined(
        repo,
        f"""
        mkdir "$1/apart" && mount -t tmpfs -o size=100m none "$1/apart"
        mv "$1/.git" "$1/apart/git" && echo "gitdir: apart/git" > "$1/.git"
        mount -o remount,ro "$1/apart"
        mount -t tmpfs -o size=4m none "{cache}"
        cat /dev/zero > "{cache}/fill" 2> /dev/null || true
        """,
    )
    assert [one.partition(",")[0].partition(": 0")[0] for one in found] == [
        "error: the disk of the search index is full",
        "warning: the file system of the repository's Git folder is mounted read-only",
    ]
