"""Checks of how commits are kept: a history cut off, borrowed or replaced, and when `git gc` is due."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from docyard.doctor.finding import Finding, Severity

if TYPE_CHECKING:
    from workspace.git import GitReader

AREA = "repository"

LOOSE, PACKS = 6700, 50
"""As many of each as Git keeps before `git gc --auto` does something (gc.auto, gc.autoPackLimit)."""


def check_storage(git: GitReader) -> Iterator[Finding]:
    """What a person ought to know of the history that is here."""
    common = git.common_dir
    if (common / "shallow").is_file():
        yield Finding(
            Severity.NOTE,
            AREA,
            "this is a shallow clone: history ends where it was cut",
            "git fetch --unshallow",
        )
    if _replaced(common):
        yield Finding(
            Severity.NOTE,
            AREA,
            "objects are replaced here (git replace, grafts): docyard reads what was committed, "
            "not what replaces it",
            "git --no-replace-objects log shows what docyard reads",
        )
    if (common / "objects" / "info" / "alternates").is_file():
        yield Finding(
            Severity.NOTE,
            AREA,
            "objects are borrowed from another repository, which must stay where it is",
            "git repack -a -d, then remove objects/info/alternates, makes this one stand alone",
        )
    yield from _time_to_pack(common / "objects")


def _time_to_pack(objects: Path) -> Iterator[Finding]:
    # As git gc estimates it: ids are spread evenly over 256 folders.
    loose = _count(objects / "17", 38) * 256
    packs = _count(objects / "pack", None)
    if loose > LOOSE:
        yield Finding(
            Severity.NOTE, AREA, f"about {loose:,} objects are not packed yet; it is time", "git gc"
        )
    elif packs > PACKS:
        yield Finding(Severity.NOTE, AREA, f"{packs} packs slow down every read; it is time", "git gc")


def _count(folder: Path, length: int | None) -> int:
    """How many loose objects are in a folder, or packs where no length of names is given."""
    try:
        names = [path.name for path in folder.iterdir()]
    except OSError:
        return 0
    return sum(len(name) == length if length else name.endswith(".pack") for name in names)


def _replaced(common: Path) -> bool:
    folder = common / "refs" / "replace"
    if (common / "info" / "grafts").is_file() or (folder.is_dir() and any(folder.iterdir())):
        return True
    try:
        return b" refs/replace/" in (common / "packed-refs").read_bytes()
    except OSError:
        return False
