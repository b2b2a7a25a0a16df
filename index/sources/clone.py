"""The clone of a source that has a URL, and the record of its last failed fetch."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import TYPE_CHECKING

from index.storage.files import write_atomically
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from workspace.git.remotes.credentials import Access

_MIN_CLONE_INTERVAL_S = 300.0
"""The least time after which a damaged clone is replaced again."""


class SourceClone:
    """The bare clone of a URL in the user's data folder. All sources of this URL share it.

    `name` is that of the source, and `ref` the branch, tag or commit that it serves.
    """

    def __init__(self, name: str, url: str, ref: str | None, data_folder: Path) -> None:
        self.folder = data_folder / f"{compute_folder_name(url)}.git"
        self._name = name
        self._url = url
        self._ref = ref
        self._error_file = data_folder / f"{compute_folder_name((url, ref))}.error"
        self._is_damaged = False
        self._last_clone_time = float("-inf")  # monotonic seconds

    @property
    def is_damaged(self) -> bool:
        """True if the clone could not be read, and was not replaced since."""
        return self._is_damaged

    def mark_as_damaged(self) -> None:
        """Have the next fetch replace the clone."""
        self._is_damaged = True

    @property
    def exists(self) -> bool:
        """True if something was fetched."""
        from workspace.git.remotes.clone import is_clone

        return is_clone(self.folder)

    @property
    def fetch_error(self) -> str | None:
        """The reason why the last fetch failed, also one of another process; None if it succeeded."""
        try:
            return self._error_file.read_text(encoding="utf-8") or None
        except OSError:
            return None

    def fetch(self, access: Access) -> None:
        """Fetch the URL. A damaged clone is replaced, at most once in five minutes.

        Raises the errors of `fetch_clone`, UnsafeCredentials, OSError.
        """
        from workspace.git.remotes.clone import is_damaged_clone

        try:
            try:
                self._fetch(access)
            except WorkspaceError:
                if self._is_damaged or not is_damaged_clone(self.folder):
                    raise
                self._is_damaged = True
                self._fetch(access)
        except WorkspaceError as error:
            write_atomically(self._error_file, error.message.encode())
            raise
        self._error_file.unlink(missing_ok=True)

    def _fetch(self, access: Access) -> None:
        from workspace.git.remotes.clone import create_clone, fetch_clone, remove_clone
        from workspace.git.remotes.exchange import Peer
        from workspace.git.remotes.url import parse_remote_url

        if self._is_damaged and time.monotonic() >= self._last_clone_time + _MIN_CLONE_INTERVAL_S:
            self._last_clone_time = time.monotonic()
            if self.folder.exists():
                remove_clone(self.folder)
            self._is_damaged = False
        address = parse_remote_url(self._url)
        create_clone(self.folder)
        login = access.find_login(address, (self.folder,))
        peer = Peer(self._name, address, login, access.has_agent, access.ssh_keys)
        fetch_clone(self.folder, peer, self._ref)


def compute_folder_name(identity: object) -> str:
    """Return a short name of a folder for a value: the digest of its `repr`."""
    return hashlib.sha256(repr(identity).encode()).hexdigest()[:32]
