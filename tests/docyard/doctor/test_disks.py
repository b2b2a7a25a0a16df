"""`docyard doctor` on full and read-only disks; most tests mount small file systems."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docyard.cli.main import main
from docyard.doctor.finding import Severity
from docyard.doctor.index import FULL_DISK_BYTES, NEARLY_FULL_DISK_BYTES, check_disks, check_free_space
from tests.loops import loop_over

pytestmark = pytest.mark.process

NAMESPACE_COMMAND = ("unshare", "--user", "--map-root-user", "--mount")
"""The prefix of a command for a separate user and mount namespace, in which a test can mount file systems."""


def _can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    probe = (*NAMESPACE_COMMAND, "mount", "-t", "tmpfs", "none", "/mnt")
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


needs_mounts = pytest.mark.skipif(not _can_mount(), reason="this system permits no mounts")


@loop_over(
    ("free_bytes", "expected"),
    [
        (0, "error: the disk of the index is full: 0 kB are free"),
        (FULL_DISK_BYTES - 1, "error: the disk of the index is full: 999 kB are free"),
        (FULL_DISK_BYTES, "warning: the disk of the index is nearly full: 1 MB are free"),
        (NEARLY_FULL_DISK_BYTES - 1, "warning: the disk of the index is nearly full: 50 MB are free"),
        (NEARLY_FULL_DISK_BYTES, ""),
    ],
)
def test_low_free_space_returns_warning_or_error(free_bytes: int, expected: str) -> None:
    assert (
        "\n".join(
            f"{finding.severity}: {finding.message}" for finding in check_free_space(free_bytes, "the index")
        )
        == expected
    )


def test_disk_check_skips_missing_folder(tmp_path: Path) -> None:
    assert list(check_disks([(tmp_path / "none", "nothing")])) == []


def run_doctor_on_disk(repo: Path, setup: str, size: str = "100m") -> list[str]:
    """Copy a repository to a separate disk, run the shell commands `setup`, and return the problems."""
    source = repo.rename(repo.with_name("source"))
    repo.mkdir()
    script = f"""
        set -e
        mount -t tmpfs -o size={size} none "$1"
        cp -a "$2/." "$1"
        {setup}
        exec "$3" -m docyard doctor -C "$1" --json
    """
    command = (*NAMESPACE_COMMAND, "sh", "-c", script, "sh", str(repo), str(source), sys.executable)
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode in (0, 1), process.stderr
    findings = [
        finding for finding in json.loads(process.stdout)["findings"] if finding["severity"] != Severity.NOTE
    ]
    assert all(finding["fix"] for finding in findings)
    return [f"{finding['severity']}: {finding['message']}" for finding in findings]


@needs_mounts
def test_disk_with_free_space_has_no_finding(repo: Path) -> None:
    assert run_doctor_on_disk(repo, "true") == []


@needs_mounts
def test_nearly_full_disk_is_warning(repo: Path) -> None:
    [message] = run_doctor_on_disk(repo, "true", size="20m")
    assert message.startswith(
        "warning: the disk of the repository's Git folder and the work tree is nearly full: "
    )


@needs_mounts
def test_full_disk_is_error(repo: Path) -> None:
    [message] = run_doctor_on_disk(repo, 'cat /dev/zero > "$1/.git/fill" 2> /dev/null || true')
    assert message.startswith(
        "error: the disk of the repository's Git folder and the work tree is full: 0 kB"
    )


@needs_mounts
def test_read_only_disk_is_one_finding(repo: Path) -> None:
    assert main(["index", "rebuild", "-C", str(repo)]) == 0
    (repo / ".git" / "docyard" / "pending").mkdir(exist_ok=True)
    assert run_doctor_on_disk(repo, 'mount -o remount,ro "$1"', size="200m") == [
        "warning: the file system of the repository's Git folder and the work tree is mounted read-only, so "
        "nothing can be written there"
    ]


@needs_mounts
def test_separate_disks_are_checked_separately(repo: Path, home: Path) -> None:
    """Put the Git folder on a read-only disk, so that the index is in the user's cache, which is full."""
    cache = home / "xdg_cache_home"
    cache.mkdir()
    messages = run_doctor_on_disk(
        repo,
        f"""
        mkdir "$1/apart" && mount -t tmpfs -o size=100m none "$1/apart"
        mv "$1/.git" "$1/apart/git" && echo "gitdir: apart/git" > "$1/.git"
        mount -o remount,ro "$1/apart"
        mount -t tmpfs -o size=4m none "{cache}"
        cat /dev/zero > "{cache}/fill" 2> /dev/null || true
        """,
    )
    assert [message.partition(",")[0].partition(": 0")[0] for message in messages] == [
        "error: the disk of the search index is full",
        "warning: the file system of the repository's Git folder is mounted read-only",
    ]
