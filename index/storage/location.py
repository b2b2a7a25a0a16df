"""Where an index lives: in the repository's common Git directory, else the user's cache, else in memory.

    <common Git directory>/docyard/index/<schema>-<branch>-<user>/
        lock              held while the index is brought to another commit
        current           which of the folders below is the index, sealed with the user's own key
        metadata.json     and metadata.sum, its checksum
        metadata-lock     held while these two are written
        <random name>/    an index, and the manifest of its files (`index.integrity`)

A rebuild goes into a new folder beside the old one, and replacing `current` swaps them. Whoosh unpickles
what it opens, so a folder is opened only if it is private to this user and its seal holds. The seal covers
the folder's name and inode: a folder that came with someone's archive of a repository has neither our key
nor that inode.

Where the index of a branch lives now: chosen when it is needed, given up when it cannot be written.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from index.storage.files import DRAFT, remove_entries, translate_write_errors, write_atomically
from index.storage.keys import load_user_key
from index.storage.locking import is_locked
from workspace.git.private_folder import make_subfolder

_CURRENT = "current"
_LOCK = "lock"
METADATA = "metadata.json"
_METADATA_LOCK = "metadata-lock"
_METADATA_DRAFTS = ("metadata.json-", "metadata.sum-")
SCHEMA = 5
"""The version of format and analysis; an index of another version lives in another folder."""


@dataclass(frozen=True, slots=True)
class Location:
    """A private folder that holds the index of one schema, branch and user."""

    folder: Path

    @property
    def lock(self) -> Path:
        return self.folder / _LOCK

    @property
    def metadata(self) -> Path:
        return self.folder / METADATA

    @property
    def metadata_lock(self) -> Path:
        return self.folder / _METADATA_LOCK

    def current(self) -> Path | None:
        """Return the folder of the index that serves now; None if there is none that is surely ours."""
        file, last = self.folder / _CURRENT, None
        try:
            # A writer may sweep away what the pointer named when it was read, and names another then.
            while (data := file.read_bytes()) != last:
                if folder := self._named(data):
                    return folder
                last = data
        except OSError:
            return None
        return None

    def _named(self, pointer: bytes) -> Path | None:
        try:
            values = json.loads(pointer)
            name, seal = str(values["index"]), str(values["seal"])
            folder = self.folder / name
            if re.fullmatch(r"[0-9a-f]{16}", name) and _is_private(self.folder) and _is_private(folder):
                return folder if hmac.compare_digest(seal.encode(), _seal(folder).encode()) else None
        except (OSError, ValueError, LookupError, TypeError):
            return None
        return None

    def blocked(self) -> tuple[str, ...]:
        """Name the files of the index that cannot be used: permissions forbid it, or they are no files."""
        return tuple(
            file.name
            for file in (self.lock, self.metadata_lock, self.folder / _CURRENT)
            if file.is_symlink()
            or file.is_dir()
            or (file.exists() and not os.access(file, os.R_OK | os.W_OK))
        )

    def prepare(self) -> Path:
        """Make a new, empty folder in which an index can be built beside the one that serves."""
        folder = self.folder / secrets.token_hex(8)
        with translate_write_errors():
            folder.mkdir(mode=0o700)
        return folder

    def discard(self, folder: Path) -> None:
        """Remove what an interrupted build left."""
        remove_entries([folder])

    def swap(self, folder: Path) -> None:
        """Let a finished index serve from now on, and sweep away every other one."""
        with translate_write_errors():
            pointer = {"index": folder.name, "seal": _seal(folder)}
            write_atomically(self.folder / _CURRENT, json.dumps(pointer).encode())
        with suppress(OSError):
            self.sweep(keep=folder)

    def leftovers(self, keep: Path | None) -> list[Path]:
        """List what earlier indexes and interrupted work left in this folder, except the index that serves.

        The writer of `metadata.json` does not hold the lock of the index: its draft is not a leftover.
        """
        found = [
            entry
            for entry in self.folder.iterdir()
            if entry != keep and (re.fullmatch(r"[0-9a-f]{16}", entry.name) or entry.suffix == DRAFT)
        ]
        drafts = {entry for entry in found if entry.name.startswith(_METADATA_DRAFTS)}
        # A name is used once. So a draft that was listed before nobody held the lock, and still exists after,
        # has lost its writer.
        if drafts and is_locked(self.metadata_lock):
            return [entry for entry in found if entry not in drafts]
        return [entry for entry in found if entry not in drafts or os.path.lexists(entry)]

    def sweep(self, keep: Path | None) -> int:
        """Remove the leftovers, under the lock; return how many. Open files elsewhere stay readable."""
        return remove_entries(self.leftovers(keep))


def find_location(candidates: Iterable[Path], refused: Container[Path] = ()) -> Location | None:
    """Choose the index's folder, made if need be; None means that the index must stay in memory."""
    for folder in candidates:
        if folder not in refused and make_private(folder):
            return Location(folder)
    return None


def candidate_folders(common_dir: Path, name: str) -> Iterator[Path]:
    """Yield the folders in which an index may live, the best first; none where the repository is gone.

    What was unmounted leaves an empty folder, and in that nothing is to be made.
    """
    if not os.path.lexists(common_dir / "HEAD"):
        return
    with suppress(OSError):  # another user's: then the next place is taken
        yield make_subfolder(common_dir, "index") / name
    from platformdirs import user_cache_path

    repository = hashlib.sha256(os.fsencode(common_dir.resolve())).hexdigest()[:16]
    yield user_cache_path("docyard", appauthor=False) / "index" / repository / name


def index_name(schema: int, branch: str) -> str:
    """Name the folder for a schema version, a branch and the user who runs this process."""
    return f"{schema}-{_safe(branch)}-{_safe(_user())}"


def make_private(folder: Path) -> bool:
    """Make a folder that only this user can enter; False if it cannot be made, written or trusted."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not _is_private(folder):
            return False
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _is_private(folder: Path) -> bool:
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        return False
    return not hasattr(os, "geteuid") or (status.st_uid == os.geteuid() and not status.st_mode & 0o077)


def _seal(folder: Path) -> str:
    text = f"docyard index\0{folder.name}\0{folder.lstat().st_ino}"
    return hmac.new(load_user_key(), text.encode(), "sha256").hexdigest()


def _safe(name: str) -> str:
    """Keep plain names as they are; others get a digest, so that `A/b`, `a/b` and `a-b` stay apart."""
    safe = re.sub(r"[^a-z0-9_]+", "-", name.lower()).strip("-")[:40]
    return (
        safe if safe == name else f"{safe}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"
    )


def _user() -> str:
    try:
        import pwd

        return pwd.getpwuid(os.geteuid()).pw_name
    except (ImportError, KeyError):
        import getpass

        return getpass.getuser() if not hasattr(os, "geteuid") else str(os.geteuid())


RETRY_AFTER_S = 300.0
"""Seconds for which a folder that could not be written is left alone."""


class IndexLocation:
    """The first writable location of several; without one, the index stays in memory.

    `name` identifies the index, and `candidates` yields its possible folders, the best first. A location is
    kept until the name changes, its folder is missing, or it is given up. Safe to use from several threads: a
    switch of the branch gives two of them two names.
    """

    def __init__(self, name: Callable[[], str], candidates: Callable[[str], Iterable[Path]]) -> None:
        self._name = name
        self._candidates = candidates
        self._refused: dict[Path, float] = {}
        self._settled: str | None = None
        self._location: Location | None = None
        self._lock = threading.RLock()

    def resolve(self) -> Location | None:
        """Return the location of the index, chosen again if needed."""
        name = self._name()
        with self._lock:
            if name != self._settled or self._is_to_move():
                self._settled = None
                self._location = self._find(name)
                self._settled = name
            return self._location

    def peek(self) -> Location | None:
        """Return the location without replacing one that is given up or missing."""
        with self._lock:
            return self._location if self._settled is not None else self._find(self._name())

    def fall_back(self, location: Location) -> None:
        """Use another location from now on, and avoid this one for a while."""
        with self._lock:
            if location.folder.is_dir():
                self._refused[location.folder] = time.monotonic() + RETRY_AFTER_S
            self.reset()

    def reset(self) -> None:
        """Choose the location again next time."""
        with self._lock:
            self._settled = self._location = None

    def _is_to_move(self) -> bool:
        now = time.monotonic()
        lapsed = [folder for folder, until in self._refused.items() if until <= now]
        for folder in lapsed:
            del self._refused[folder]
        return bool(lapsed) or (self._location is not None and not self._location.folder.is_dir())

    def _find(self, name: str) -> Location | None:
        return find_location(self._candidates(name), self._refused)
