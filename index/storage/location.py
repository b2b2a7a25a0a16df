"""The location of an index: the repository's common Git directory, else the user's cache, else memory.

    <common Git directory>/docyard/index/<schema>-<branch>-<user>/
        lock              held while the index is changed
        current           the name of the current index folder, sealed with the user's own key
        metadata.json     and metadata.sum, its checksum
        metadata-lock     held while these two are written
        <random name>/    an index, and the manifest of its files (`index.storage.manifest`)

A rebuild writes a new folder next to the old one, and replacing `current` swaps them. An index decides the
results of searches, so a folder is opened only if it is private to this user and its seal is valid. The seal
covers the folder's name and inode. An index folder in a copied repository therefore has no valid seal.

`IndexLocation` chooses a location when it is needed, and another location if the first cannot be written.
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

from index.storage.files import DRAFT_SUFFIX, remove_entries, translate_write_errors, write_atomically
from index.storage.keys import load_user_key
from index.storage.locking import is_locked
from workspace.git.private_folder import make_subfolder

_CURRENT_FILE = "current"
_LOCK_FILE = "lock"
METADATA_FILE = "metadata.json"
_METADATA_LOCK_FILE = "metadata-lock"
_METADATA_DRAFT_PREFIXES = ("metadata.json-", "metadata.sum-")
SCHEMA_VERSION = 8
"""The version of format and analysis; an index of another version has another folder."""


@dataclass(frozen=True, slots=True)
class IndexFolder:
    """A private folder for the index of one schema, branch and user."""

    folder: Path

    @property
    def lock(self) -> Path:
        return self.folder / _LOCK_FILE

    @property
    def metadata(self) -> Path:
        return self.folder / METADATA_FILE

    @property
    def metadata_lock(self) -> Path:
        return self.folder / _METADATA_LOCK_FILE

    def current(self) -> Path | None:
        """Return the folder of the current index; None if there is none with a valid seal."""
        file, last_data = self.folder / _CURRENT_FILE, None
        try:
            # A writer may remove the folder after the pointer was read. The pointer then has changed.
            while (data := file.read_bytes()) != last_data:
                if folder := self._read_pointer(data):
                    return folder
                last_data = data
        except OSError:
            return None
        return None

    def _read_pointer(self, pointer: bytes) -> Path | None:
        try:
            values = json.loads(pointer)
            name, seal = str(values["index"]), str(values["seal"])
            folder = self.folder / name
            if re.fullmatch(r"[0-9a-f]{16}", name) and _is_private(self.folder) and _is_private(folder):
                return folder if hmac.compare_digest(seal.encode(), _compute_seal(folder).encode()) else None
        except (OSError, ValueError, LookupError, TypeError):
            return None
        return None

    def find_blocked_files(self) -> tuple[str, ...]:
        """Return the names of the files that cannot be used: links, folders, or files without permission."""
        return tuple(
            file.name
            for file in (self.lock, self.metadata_lock, self.folder / _CURRENT_FILE)
            if file.is_symlink()
            or file.is_dir()
            or (file.exists() and not os.access(file, os.R_OK | os.W_OK))
        )

    def prepare(self) -> Path:
        """Create a new, empty folder in which an index can be built next to the current one."""
        folder = self.folder / secrets.token_hex(8)
        with translate_write_errors():
            folder.mkdir(mode=0o700)
        return folder

    def discard(self, folder: Path) -> None:
        """Remove the folder of an interrupted build."""
        remove_entries([folder])

    def swap(self, folder: Path) -> None:
        """Make a finished index the current one, and remove all others."""
        with translate_write_errors():
            pointer = {"index": folder.name, "seal": _compute_seal(folder)}
            write_atomically(self.folder / _CURRENT_FILE, json.dumps(pointer).encode())
        with suppress(OSError):
            self.sweep(keep=folder)

    def list_leftovers(self, keep: Path | None) -> list[Path]:
        """List the entries of earlier indexes and of interrupted work in this folder.

        The writer of `metadata.json` does not hold the lock of the index, so its draft is not a leftover.
        """
        leftovers = [
            entry
            for entry in self.folder.iterdir()
            if entry != keep and (re.fullmatch(r"[0-9a-f]{16}", entry.name) or entry.suffix == DRAFT_SUFFIX)
        ]
        drafts = {entry for entry in leftovers if entry.name.startswith(_METADATA_DRAFT_PREFIXES)}
        # Each name is used once. If the lock is free after a draft was listed, and the draft still exists,
        # its writer has died.
        if drafts and is_locked(self.metadata_lock):
            return [entry for entry in leftovers if entry not in drafts]
        return [entry for entry in leftovers if entry not in drafts or os.path.lexists(entry)]

    def sweep(self, keep: Path | None) -> int:
        """Remove the leftovers; return their number. The caller holds the lock. Open files stay readable."""
        return remove_entries(self.list_leftovers(keep))

    def sweep_before_write(self) -> None:
        """Remove the leftovers as far as the system permits, except the current index, before a write."""
        with suppress(OSError):
            self.sweep(keep=self.current())


def find_location(candidates: Iterable[Path], excluded: Container[Path] = ()) -> IndexFolder | None:
    """Return the first usable folder, created if needed; None if the index must stay in memory."""
    for folder in candidates:
        if folder not in excluded and make_private_folder(folder):
            return IndexFolder(folder)
    return None


def find_candidate_folders(common_dir: Path, name: str) -> Iterator[Path]:
    """Yield the candidate folders of an index, the best first; none if the repository is missing.

    An unmounted file system leaves an empty folder, and nothing must be created in it.
    """
    if not os.path.lexists(common_dir / "HEAD"):
        return
    with suppress(OSError):  # if the folder belongs to another user, the next one is used
        yield make_subfolder(common_dir, "index") / name
    from platformdirs import user_cache_path

    repository = hashlib.sha256(os.fsencode(common_dir.resolve())).hexdigest()[:16]
    yield user_cache_path("docyard", appauthor=False) / "index" / repository / name


def make_index_name(schema: int, branch: str) -> str:
    """Return the folder's name for a schema version, a branch and the user of this process."""
    return f"{schema}-{_make_safe_name(branch)}-{_make_safe_name(_read_user_name())}"


def make_vectors_name() -> str:
    """Return the name of the folder with the vectors of all branches, for the user of this process."""
    return f"vectors-{_make_safe_name(_read_user_name())}"


def make_growth_name() -> str:
    """Return the name of the folder with the counts of documents over time, for the user of this process."""
    return f"growth-{_make_safe_name(_read_user_name())}"


def make_private_folder(folder: Path) -> bool:
    """Create a folder that only this user can read; return False if it is not writable or not private."""
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


def _compute_seal(folder: Path) -> str:
    text = f"docyard index\0{folder.name}\0{folder.lstat().st_ino}"
    return hmac.new(load_user_key(), text.encode(), "sha256").hexdigest()


def _make_safe_name(name: str) -> str:
    """Return a folder name. Unsafe names get a digest, so that `A/b`, `a/b` and `a-b` differ."""
    safe_name = re.sub(r"[^a-z0-9_]+", "-", name.lower()).strip("-")[:40]
    return (
        safe_name
        if safe_name == name
        else f"{safe_name}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"
    )


def _read_user_name() -> str:
    try:
        import pwd

        return pwd.getpwuid(os.geteuid()).pw_name
    except (ImportError, KeyError):
        import getpass

        return getpass.getuser() if not hasattr(os, "geteuid") else str(os.geteuid())


RETRY_AFTER_S = 300.0
"""Seconds for which a folder that could not be written is excluded."""


class IndexLocation:
    """The first writable location of several; without one, the index stays in memory.

    `name` returns the name of the index, and `candidates` yields its candidate folders, the best first. A
    location is used until the name changes, its folder is missing, `fall_back` excludes it, or the exclusion
    of another one ends. Safe to use from several threads: after a switch of the branch, `name` may return
    different names in two threads.
    """

    def __init__(self, name: Callable[[], str], candidates: Callable[[str], Iterable[Path]]) -> None:
        self._name = name
        self._candidates = candidates
        self._excluded_until: dict[Path, float] = {}
        self._resolved_name: str | None = None
        self._location: IndexFolder | None = None
        self._lock = threading.RLock()

    def resolve(self) -> IndexFolder | None:
        """Return the location of the index, chosen again if needed."""
        name = self._name()
        with self._lock:
            if name != self._resolved_name or self._must_change():
                self._resolved_name = None
                self._location = self._find_location(name)
                self._resolved_name = name
            return self._location

    def peek(self) -> IndexFolder | None:
        """Return the chosen location, even if its folder is missing; without one, the first usable one."""
        with self._lock:
            return self._location if self._resolved_name is not None else self._find_location(self._name())

    def fall_back(self, location: IndexFolder) -> None:
        """Use another location, and exclude this one for RETRY_AFTER_S."""
        with self._lock:
            if location.folder.is_dir():
                self._excluded_until[location.folder] = time.monotonic() + RETRY_AFTER_S
            self.reset()

    def reset(self) -> None:
        """Drop the location, so that the next call chooses again."""
        with self._lock:
            self._resolved_name = self._location = None

    def _must_change(self) -> bool:
        now = time.monotonic()
        expired_folders = [folder for folder, until in self._excluded_until.items() if until <= now]
        for folder in expired_folders:
            del self._excluded_until[folder]
        return bool(expired_folders) or (self._location is not None and not self._location.folder.is_dir())

    def _find_location(self, name: str) -> IndexFolder | None:
        return find_location(self._candidates(name), self._excluded_until)
