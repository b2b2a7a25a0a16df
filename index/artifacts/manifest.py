"""The manifest of an artifact: its files with their checksums, and the seal of its builder.

    <first 16 digits of SHA-256(metadata.json)>.manifest
        {"format": 1, "metadata": SHA-256, "schema": n, "tree": id, "state": value,
         "parts": [[id, dead documents], ...], "files": {name: [bytes, SHA-256], ...},
         "check": SHA-256 of all but itself and the seal, "seal": HMAC-SHA-256 of the same, or null}

The digest of a `metadata.json` is the name of its manifest, so replacing that one file replaces the artifact
in one step. Checksums detect damage. Only the seal prevents forgery: it is made with a key that builder and
reader share, and without it no file of `index/` is used.
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from index.storage.files import write_atomically
from index.storage.location import METADATA_FILE
from index.storage.manifest import FileStamp
from workspace.errors import WorkspaceError

FORMAT_VERSION = 1
INDEX_FOLDER = "index"

_MOVES_FILE = re.compile(r"moves-[0-9a-f]{16}\.json")
_VECTORS_FILE = re.compile(r"index/vectors-[0-9a-f]{16}\.sqlite")
_FILE_NAME = re.compile(
    rf"{_VECTORS_FILE.pattern}|index/MAIN_[0-9a-f]{{16}}\.flat|objects/pack/pack-[0-9a-f]{{40}}\.(?:pack|idx)|{_MOVES_FILE.pattern}"
)
_TREE_ID = re.compile(r"[0-9a-f]{40}")
_BUFFER_BYTES = 1 << 20
_MAX_MANIFEST_BYTES = 64_000_000  # a manifest lists a few dozen files and the unreadable documents


class NotAnArtifact(WorkspaceError):
    """The folder has no artifact, or an incomplete one. `file` names the missing or unreadable file."""

    code: ClassVar[str] = "NOT_AN_ARTIFACT"


class ArtifactDamaged(WorkspaceError):
    """A file of the artifact is damaged or missing. `file` names it."""

    code: ClassVar[str] = "ARTIFACT_DAMAGED"

    @classmethod
    def in_file(cls, file: str, reason: str) -> ArtifactDamaged:
        """Return the error for a damaged or missing file."""
        return cls(
            f"the artifact is damaged at {file}: {reason}",
            fix="Copy the full folder again, or build it again with `docyard build`.",
            file=file,
        )


class UnsupportedArtifact(WorkspaceError):
    """The artifact has a format of a later `version` than this program supports."""

    code: ClassVar[str] = "UNSUPPORTED_ARTIFACT"


class FileDigest(NamedTuple):
    """The expected size of a file in bytes, and the SHA-256 of its content in hexadecimal."""

    size: int
    sha256: str

    @classmethod
    def of(cls, file: Path) -> FileDigest:
        """Return the checksum of a regular file, in about a millisecond for each megabyte. Raises OSError."""
        digest, size = hashlib.sha256(), 0
        buffer = memoryview(bytearray(_BUFFER_BYTES))
        with _open_regular(file) as stream:
            while count := stream.readinto(buffer):
                digest.update(buffer[:count])
                size += count
        return cls(size, digest.hexdigest())


@dataclass(frozen=True, slots=True)
class ArtifactManifest:
    """The files of an artifact, by name, and the state of its index.

    `schema` is the version of the index (`index.storage.location.SCHEMA_VERSION`), and `tree` the id of the
    root tree of the documents. `state` is the index's state as a JSON value whose commit is that tree.
    `parts` has the ids of the segments in order, each with the encoded numbers of its dead documents. `seal`
    is the seal in the file.
    """

    schema: int
    tree: str
    state: Mapping[str, object]
    parts: Sequence[tuple[str, str]]
    files: Mapping[str, FileDigest]
    seal: str | None = field(default=None, compare=False)

    @property
    def moves_file(self) -> str | None:
        """The name of the file that lists moved documents; None if there is none."""
        return next(filter(_MOVES_FILE.fullmatch, self.files), None)

    @property
    def vectors_file(self) -> str | None:
        """The name of the file with the vectors of sections; None if there is none."""
        return next(filter(_VECTORS_FILE.fullmatch, self.files), None)


def make_manifest_name(metadata: bytes) -> str:
    """Return the manifest's name for the bytes of a `metadata.json`."""
    return f"{hashlib.sha256(metadata).hexdigest()[:16]}.manifest"


def read_artifact_manifest(folder: Path, metadata: bytes) -> ArtifactManifest:
    """Return a `metadata.json`'s manifest. Raises NotAnArtifact, ArtifactDamaged, UnsupportedArtifact."""
    name = make_manifest_name(metadata)
    try:
        data = read_regular_file(folder / name)
    except FileNotFoundError:
        raise NotAnArtifact(
            f"the manifest of metadata.json is missing ({name})",
            fix="One of the two files is damaged or was not copied; copy the full folder again.",
            file=name,
        ) from None
    except OSError as error:
        raise ArtifactDamaged.in_file(name, error.strerror or type(error).__name__) from error
    return _parse_manifest(name, data, hashlib.sha256(metadata).hexdigest())


def read_all_manifests(folder: Path) -> list[ArtifactManifest]:
    """Return every valid manifest in a folder, for any `metadata.json`."""
    manifests: list[ArtifactManifest] = []
    for file in sorted(folder.glob("*.manifest")):
        with suppress(OSError, ArtifactDamaged, UnsupportedArtifact):
            manifests.append(_parse_manifest(file.name, read_regular_file(file), None))
    return manifests


def _parse_manifest(name: str, data: bytes, metadata_digest: str | None) -> ArtifactManifest:
    """Return a verified manifest; it must contain `metadata_digest`, unless that is None."""
    try:
        values = json.loads(data)
        version = values["format"]
        if type(version) is int and version > FORMAT_VERSION:
            raise UnsupportedArtifact(
                f"the artifact has format {version}; this version supports formats up to {FORMAT_VERSION}",
                fix="Upgrade docyard, or build the artifact again with this version.",
                version=version,
            )
        if version != FORMAT_VERSION:
            raise ValueError(f"unknown format {version!r}")
        check, seal = values.pop("check"), values.pop("seal")
        digest = hashlib.sha256(_encode_canonical(values)).hexdigest()
        if check != digest or metadata_digest not in (None, values["metadata"]):
            raise ValueError("the checksum is wrong")
        return _make_manifest(values, seal)
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ArtifactDamaged.in_file(name, "its content is malformed") from error


def write_artifact_manifest(
    folder: Path,
    metadata: bytes,
    manifest: ArtifactManifest,
    key: bytes | None = None,
    *,
    durable: bool = False,
) -> str:
    """Write the manifest of a `metadata.json`, which must be written next; return the manifest's name.

    With a key the manifest is sealed. Raises OSError.
    """
    values = _build_values(metadata, manifest)
    sealed_values = {
        **values,
        "check": hashlib.sha256(_encode_canonical(values)).hexdigest(),
        "seal": _compute_seal(metadata, manifest, key) if key else None,
    }
    name = make_manifest_name(metadata)
    write_atomically(folder / name, json.dumps(sealed_values, indent=1).encode(), durable)
    return name


def is_sealed(metadata: bytes, manifest: ArtifactManifest, key: bytes) -> bool:
    """Return True if a manifest has the seal of this key."""
    seal = manifest.seal
    return seal is not None and hmac.compare_digest(
        seal.encode(), _compute_seal(metadata, manifest, key).encode()
    )


def check_files(
    folder: Path, manifest: ArtifactManifest, names: Iterable[str] | None = None
) -> tuple[FileStamp, ...]:
    """Verify the checksum of every file, or of those in `names`; return the stamp of each.

    Raises ArtifactDamaged for the first file that differs from the manifest.
    """
    return tuple(_check_file(folder, name, manifest.files[name]) for name in sorted(names or manifest.files))


def read_metadata_bytes(folder: Path) -> bytes:
    """Return the bytes of an artifact's `metadata.json`. Raises NotAnArtifact."""
    try:
        return read_regular_file(folder / METADATA_FILE)
    except OSError as error:
        raise make_missing_metadata_error(error) from None


def read_regular_file(file: Path) -> bytes:
    """Return the first 64 MB of a regular file. Raises OSError, also for anything else, such as a pipe."""
    with _open_regular(file) as stream:
        return stream.read(_MAX_MANIFEST_BYTES)


def make_missing_metadata_error(error: OSError) -> NotAnArtifact:
    """Return the error for a folder whose `metadata.json` cannot be read."""
    reason = "metadata.json is missing"
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        reason = f"metadata.json cannot be read: {error.strerror}"
    return NotAnArtifact(
        f"the folder is not an artifact: {reason}",
        fix="Name the folder that `docyard build --out` wrote.",
        file=METADATA_FILE,
    )


def _check_file(folder: Path, name: str, expected: FileDigest) -> FileStamp:
    file = folder / name
    try:
        stamp = FileStamp.of(file)
        if stamp.size != expected.size:
            raise ArtifactDamaged.in_file(name, f"it has {stamp.size:,} bytes instead of {expected.size:,}")
        if FileDigest.of(file) != expected:
            raise ArtifactDamaged.in_file(name, "its checksum is wrong")
    except FileNotFoundError:
        raise ArtifactDamaged.in_file(name, "it is missing") from None
    except OSError as error:
        raise ArtifactDamaged.in_file(name, error.strerror or type(error).__name__) from error
    return stamp


@contextmanager
def _open_regular(file: Path) -> Iterator[BufferedReader]:
    """Open a regular file; a pipe with its name must not block the reader. Raises OSError."""
    with open(file, "rb", opener=_open_nonblocking) as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        yield stream


def _open_nonblocking(file: str, flags: int) -> int:
    return os.open(file, flags | getattr(os, "O_NONBLOCK", 0))


def _build_values(metadata: bytes, manifest: ArtifactManifest) -> dict[str, object]:
    return {
        "format": FORMAT_VERSION,
        "metadata": hashlib.sha256(metadata).hexdigest(),
        "schema": manifest.schema,
        "tree": manifest.tree,
        "state": dict(manifest.state),
        "parts": [list(part) for part in manifest.parts],
        "files": {name: list(checksum) for name, checksum in sorted(manifest.files.items())},
    }


def _make_manifest(values: Mapping[str, Any], seal: object) -> ArtifactManifest:
    """Return a manifest whose checksum is verified.

    Raises ValueError or a similar error for another structure.
    """
    files = {
        str(name): FileDigest(int(size), str(sha256)) for name, (size, sha256) in values["files"].items()
    }
    # A name must not be a path to another file, because it would be read.
    if not all(map(_FILE_NAME.fullmatch, files)) or not _TREE_ID.fullmatch(values["tree"]):
        raise ValueError("a file name or the tree id is invalid")
    parts = tuple((str(id), str(dead_documents)) for id, dead_documents in values["parts"])
    schema = int(values["schema"])
    return ArtifactManifest(
        schema, values["tree"], dict(values["state"]), parts, files, seal if isinstance(seal, str) else None
    )


def _compute_seal(metadata: bytes, manifest: ArtifactManifest, key: bytes) -> str:
    return hmac.digest(
        key, b"docyard artifact\0" + _encode_canonical(_build_values(metadata, manifest)), "sha256"
    ).hex()


def _encode_canonical(values: Mapping[str, object]) -> bytes:
    return json.dumps(values, sort_keys=True, separators=(",", ":")).encode()
