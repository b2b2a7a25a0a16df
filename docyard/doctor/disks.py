"""Checks of the file systems that are written to: whether they may be, and whether there is room."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from docyard.doctor.finding import Finding, Severity

AREA = "environment"

FULL, NEARLY_FULL = 1_000_000, 50_000_000
"""Bytes: with less than the first a commit may not fit, with less than the second it soon may not."""


def check_disks(places: Iterable[tuple[Path, str]]) -> Iterator[Finding]:
    """One finding for each file system that is mounted read-only or short of room.

    `places` are the folders that are written to, with words for them; the first of a file system names it,
    and others that are not below it.
    """
    disks: dict[tuple[int, bool], list[tuple[Path, str]]] = {}
    for folder, what in places:
        if folder.is_dir():
            found = disks.setdefault((folder.stat().st_dev, is_read_only(folder)), [])
            if not any(folder.is_relative_to(other) for other, _ in found):
                found.append((folder, what))
    for (_, read_only), found in disks.items():
        words = " and ".join(what for _, what in found)
        if read_only:
            yield Finding(
                Severity.WARNING,
                AREA,
                f"the file system of {words} is mounted read-only, so nothing can be written there",
                "Mount it for writing (mount -o remount,rw), or use `docyard serve --read-only`.",
            )
        else:
            yield from room(shutil.disk_usage(found[0][0]).free, words)


def room(free: int, words: str) -> Iterator[Finding]:
    """What is to be said of so many free bytes."""
    if free >= NEARLY_FULL:
        return
    is_full = free < FULL
    left = f"{free / 1_000_000:.0f} MB are" if free >= FULL else f"{free // 1000} kB are"
    yield Finding(
        Severity.ERROR if is_full else Severity.WARNING,
        AREA,
        f"the disk of {words} is {'full' if is_full else 'nearly full'}: {left} free",
        "Make room there; df -h shows how full each disk is. What failed can then be sent again.",
    )


def is_read_only(folder: Path) -> bool:
    """Whether a folder's file system is mounted for reading only, as far as the system tells."""
    return hasattr(os, "statvfs") and bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
