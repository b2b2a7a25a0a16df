"""Documents put right one after the other, here or in another process; each is held against the limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.config.config import LimitExceeded
from workspace.snapshot.snapshot import NotADocument
from workspace.validation.files import UnreadableFile
from workspace.validation.fixes.change import Left, Mended
from workspace.validation.fixes.fix import fixed
from workspace.validation.fixes.history import HistoryNeeded
from workspace.validation.fixes.kept import kept

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workspace.validation.fixes.fixers import Fixers

UNREADABLE = "unreadable-document"
"""The rule that tells of documents that cannot be read, and so cannot be mended."""


def mended(fixers: Fixers, paths: Iterable[str]) -> list[Mended]:
    """What comes of some documents; nothing is said of those that stay and in which nothing had to be left.

    Raises DamagedRepository.
    """
    done = (_mended(fixers, path) for path in paths)
    return [one for one in done if one is not None]


def _mended(fixers: Fixers, path: str) -> Mended | None:
    config = fixers.files.config
    try:
        one = fixed(fixers.corpus.read(path), fixers)
    except NotADocument:
        return None
    except HistoryNeeded:
        return Mended(path, is_open=True)
    except (LimitExceeded, UnreadableFile) as error:
        return Mended(path, left=(Left(UNREADABLE, path, 0, error.message),))
    if not one.mends:
        return Mended(path, left=one.left) if one.left else None
    try:
        config.limits.check_written(one.document, one.before)
    except LimitExceeded as error:
        return Mended(path, left=(*one.left, Left(one.mends[0].rule, path, 0, error.message)))
    return Mended(path, one.change, one.left, kept(one, config.links.dialect))
