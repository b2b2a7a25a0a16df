"""Idempotency keys: a call with a key is executed once, and a retry returns the first result.

The commit of such a call has trailers: `Docyard-Request` contains the key, `Docyard-Request-Digest` a digest
of the call's arguments, `Docyard-Result` the result for a retry. So every process that writes to the branch
recognizes the key, as long as its commit is among the last 1,000 of the first-parent history. A rebase or a
cherry-pick preserves the trailers.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from workspace.errors import LimitExceeded, WorkspaceError
from workspace.git.ancestry import walk_first_parents
from workspace.git.messages import read_trailers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from workspace.branch import Branch
    from workspace.git.reader import GitReader
    from workspace.writing.plan import Plan

MAX_SCANNED_COMMITS = 1_000
MAX_RESULT_LENGTH = 1_000_000  # characters of JSON
_MAX_UNCOMPRESSED_LENGTH = 400  # characters; a longer result is compressed

_KEY_TRAILER, _DIGEST_TRAILER, _RESULT_TRAILER = "Docyard-Request", "Docyard-Request-Digest", "Docyard-Result"
_KEY_PATTERN = re.compile("[!-~]{1,200}")
_DIGEST_PATTERN = re.compile("[0-9a-f]{64}")


class InvalidKey(WorkspaceError):
    """An error: the idempotency key is invalid."""

    code = "INVALID_IDEMPOTENCY_KEY"


class KeyReused(WorkspaceError):
    """An error: the key belongs to another call. `used_in` is the commit of that call."""

    code = "IDEMPOTENCY_KEY_REUSED"


@dataclass(frozen=True, slots=True)
class KeyedRequest:
    """A request with an idempotency key: the key, the digest of the call, and the result for a retry.

    `build_result` builds that result. Raises InvalidKey unless the key is 1 to 200 visible ASCII characters.
    """

    key: str
    digest: str
    build_result: Callable[[Plan], Mapping[str, object]]

    def __post_init__(self) -> None:
        check_idempotency_key(self.key)

    def build_trailers(self, plan: Plan) -> dict[str, str]:
        """Return the trailers of this request for the commit that a plan becomes.

        Raises LimitExceeded if the result is too long.
        """
        return {
            _KEY_TRAILER: self.key,
            _DIGEST_TRAILER: self.digest,
            _RESULT_TRAILER: _encode_result(self.build_result(plan)),
        }


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A committed request: its commit, the digest of its call, and the result for a retry."""

    commit: str
    digest: str
    result: Mapping[str, object]


class _ScannedCommit(NamedTuple):
    """A scanned commit, and the key of its request; None if its message contains no key."""

    id: str
    parents: tuple[str, ...]
    key: str | None


class RequestLog:
    """The keyed requests in a branch's first-parent history. Thread-safe.

    The first search reads the last 1,000 commits, later ones only new commits. The walk ends at the boundary
    of a shallow clone.
    """

    def __init__(self, git: GitReader) -> None:
        self._git = git
        self._commits: dict[str, _ScannedCommit] = {}  # newest first
        self._lock = threading.Lock()

    def find_recorded_request(self, tip: str | None, request: KeyedRequest) -> RecordedRequest | None:
        """Return the recorded request with the same key, or None.

        Raises KeyReused if it has another digest, and DamagedRepository.
        """
        recorded_request = self.find_by_key(tip, request.key)
        if recorded_request is not None and recorded_request.digest != request.digest:
            raise KeyReused(
                "this idempotency_key was used for another call",
                fix="Use a new idempotency_key for each call; the same key is only for the same arguments.",
                used_in=recorded_request.commit,
            )
        return recorded_request

    def find_by_key(self, tip: str | None, key: str) -> RecordedRequest | None:
        """Return the oldest request with this key in a tip's last 1,000 commits. Raises DamagedRepository."""
        if tip is None:
            return None
        with self._lock:
            walk = walk_first_parents(
                self._read_commit, self._git.boundary, tip, max_commits=MAX_SCANNED_COMMITS
            )
            self._commits = {commit.id: commit for commit in walk}
            for id, commit in reversed(self._commits.items()):
                if commit.key == key:
                    recorded_request = _parse_request(id, self._git.commit(id).message)
                    if recorded_request is not None:
                        return recorded_request
        return None

    def _read_commit(self, id: str) -> _ScannedCommit:
        """Return a commit with the key of its request, from the cache if it was scanned before."""
        scanned_commit = self._commits.get(id)
        if scanned_commit is None:
            commit = self._git.commit(id)
            scanned_commit = _ScannedCommit(id, commit.parents, read_key(commit.message))
        return scanned_commit


def get_request_log(branch: Branch) -> RequestLog:
    """Return the log of a repository's keyed requests, created at the first use."""
    return branch.shared(RequestLog, lambda: RequestLog(branch.git))


def read_key(message: str) -> str | None:
    """Return the idempotency key in the trailers of a commit message, or None."""
    return read_trailers(message).get(_KEY_TRAILER)


def check_idempotency_key(key: str) -> None:
    """Raise InvalidKey unless an idempotency key is 1 to 200 visible ASCII characters."""
    if not _KEY_PATTERN.fullmatch(key):
        raise InvalidKey(
            "'idempotency_key' must be 1 to 200 visible ASCII characters",
            fix="Generate a key for each call, such as a UUID, and send it again only to retry that call.",
            field="idempotency_key",
        )


def compute_call_digest(tool: str, arguments: Mapping[str, object]) -> str:
    """Return the SHA-256, in hex, of a tool's name and its arguments, regardless of their order.

    Raises LimitExceeded for arguments that are nested too deeply.
    """
    try:
        text = json.dumps([tool, arguments], sort_keys=True, separators=(",", ":"))
    except RecursionError:
        raise LimitExceeded(
            "the arguments are nested too deeply", fix="Send flat values and lists as arguments."
        ) from None
    return hashlib.sha256(text.encode()).hexdigest()


def _parse_request(commit: str, message: str) -> RecordedRequest | None:
    """Return the request in a message's trailers; None if a trailer is missing or invalid."""
    trailers = read_trailers(message)
    key, digest, encoded_result = (
        trailers.get(name, "") for name in (_KEY_TRAILER, _DIGEST_TRAILER, _RESULT_TRAILER)
    )
    if not (_KEY_PATTERN.fullmatch(key) and _DIGEST_PATTERN.fullmatch(digest)):
        return None
    result = _decode_result(encoded_result)
    return None if result is None else RecordedRequest(commit, digest, result)


def _encode_result(result: Mapping[str, object]) -> str:
    """Return a result as one line of ASCII: JSON, or base64url of compressed JSON if it is long.

    Raises LimitExceeded.
    """
    text = json.dumps(result, separators=(",", ":"))
    if len(text) > MAX_RESULT_LENGTH:
        raise LimitExceeded(
            f"the result of a call with idempotency_key has {len(text):,} characters "
            f"(limit {MAX_RESULT_LENGTH:,})",
            fix="Split the call into several calls, or send it without idempotency_key.",
            limit=MAX_RESULT_LENGTH,
            actual=len(text),
        )
    if len(text) <= _MAX_UNCOMPRESSED_LENGTH:
        return text
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode()


def _decode_result(text: str) -> Mapping[str, object] | None:
    """Return the result in a trailer; None if `_encode_result` did not write it, or if it is too large."""
    try:
        if not text.startswith("{"):
            decompressor = zlib.decompressobj()
            # The limit is one byte more, because the end of the stream is detected only after the last byte.
            data = decompressor.decompress(
                base64.b64decode(text, b"-_", validate=True), MAX_RESULT_LENGTH + 1
            )
            if not decompressor.eof:
                return None
            text = data.decode("ascii")
        result = json.loads(text)
    except (ValueError, RecursionError, zlib.error):
        return None
    return result if isinstance(result, dict) else None
