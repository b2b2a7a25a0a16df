"""The tokens of people that several nodes share: each decision reads them from the storage of all nodes.

The first node with a file of tokens stores them. Then the file of each node contains no token, only a note
that they are shared (version 3 of its format). So a command that does not know the storage cannot use, or
change, tokens of a node alone, and a token that one node revokes counts on no node. What a node had in its
file is kept in `docyard/tokens-before-sharing.json`, and is not read.

If the storage cannot be read, there are no tokens: each decision that needs a person raises the error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import ClassVar, NamedTuple, Protocol

from workspace.errors import WorkspaceError
from workspace.policy.tokens import KnownPerson, SharedTokensNote, TokenFile, decode_tokens, encode_tokens


class TokensChanged(WorkspaceError):
    """An error: another node has changed the tokens at the same time."""

    code: ClassVar[str] = "TOKENS_CHANGED"


class StoredTokens(NamedTuple):
    """The tokens in a storage, in the format of the file. `data` is None if the version is known already."""

    version: int
    data: bytes | None


class TokenStorage(Protocol):
    """The storage of the tokens of one repository. Its methods raise a WorkspaceError if it is down."""

    def read(self, known_version: int | None) -> StoredTokens | None:
        """Return the stored tokens; None if there are none."""

    def create(self, data: bytes) -> None:
        """Store tokens, unless there are some."""

    def replace(self, data: bytes, version: int) -> bool:
        """Replace the tokens of a version; return False if there is another version."""


class SharedTokens:
    """The tokens of a repository in a storage, by their names. Thread-safe."""

    def __init__(self, common_dir: Path, storage: TokenStorage) -> None:
        self._file = TokenFile(common_dir)
        self._storage = storage
        self._last_read: tuple[int, Mapping[str, KnownPerson]] | None = None
        self._is_noted = False

    def read(self) -> Mapping[str, KnownPerson]:
        """Return the tokens as they are now; if none are stored, those of the file, which it then stores.

        Raises DamagedTokens, UnsafeTokens, and the errors of the storage.
        """
        return self._read()[1]

    @contextmanager
    def edit(self) -> Iterator[dict[str, KnownPerson]]:
        """Yield a copy of the tokens; store the copy if the block succeeds.

        Raises the errors of `read`, TokensChanged, AnotherWriter, and CannotWrite.
        """
        # A merge of this repository has the lock while it decides.
        with self._file.lock():
            version, tokens_before = self._read(is_locked=True)
            tokens = dict(tokens_before)
            yield tokens
            if tokens == tokens_before:
                return
            if version is None:
                self._storage.create(encode_tokens({}))
                version = self._read(is_locked=True)[0]
            if version is None or not self._storage.replace(encode_tokens(tokens), version):
                raise TokensChanged(
                    "another node has changed the tokens at the same time", fix="Run the command again."
                )

    def export(self) -> int:
        """Write the tokens to the file of this node, which then no longer shares them; return their number.

        Raises the errors of `edit`.
        """
        with self._file.lock():
            tokens = self._read(is_locked=True)[1]
            self._file.replace(encode_tokens(tokens))
        self._is_noted = False
        return len(tokens)

    def _read(self, *, is_locked: bool = False) -> tuple[int | None, Mapping[str, KnownPerson]]:
        """Return the version and the tokens; None and no tokens if nothing is stored."""
        last_read = self._last_read
        stored = self._storage.read(last_read[0] if last_read is not None else None)
        if stored is None:
            own_tokens = self._read_file()
            if not own_tokens:
                return None, {}
            self._storage.create(encode_tokens(own_tokens))
            stored = self._storage.read(None)
            if stored is None:
                return None, {}
        if stored.data is not None:
            last_read = stored.version, decode_tokens(stored.data)
            self._last_read = last_read
        assert last_read is not None  # only a known version is returned without its data
        self._note_sharing(is_locked=is_locked)
        return stored.version, last_read[1]

    def _read_file(self) -> Mapping[str, KnownPerson]:
        """Return the tokens of the file; none if it notes that they are shared."""
        try:
            return self._file.read()
        except SharedTokensNote:
            return {}

    def _note_sharing(self, *, is_locked: bool) -> None:
        """Replace the file by the note, once; a node that cannot write it leaves it as it is."""
        if self._is_noted:
            return
        with suppress(WorkspaceError):
            try:
                self._file.read()
            except SharedTokensNote:
                pass  # a lock, for which a merge may wait, is not needed
            else:
                with nullcontext() if is_locked else self._file.lock():
                    self._file.note_sharing()
        self._is_noted = True
