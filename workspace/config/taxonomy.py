"""The keys that filter searches, and their values for a document, by its front matter and its path.

A value comes from the front matter; else from the nearest manifest above the document, there from the last
override that matches, else from its defaults.

A manifest is a `.taxonomy.toml`. It sets values for the documents of a folder and its subfolders:

    [metadata]                      values of keys, for documents that have none of their own
    language = "go"

    [[override]]                    other values where a glob matches; the last that matches counts
    match = "guides/*"              relative to the manifest's folder
    metadata = { scope = "guide" }

A key of the override takes precedence over the same key of the defaults.
"""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, NamedTuple, NoReturn

from workspace import globs
from workspace.config.toml import InvalidToml, decode_text, load_toml, read_bytes
from workspace.errors import WorkspaceError
from workspace.frontmatter.reader import format_value
from workspace.git.repository import DamagedRepository
from workspace.globs import Glob

if TYPE_CHECKING:
    from workspace.git.reader import GitReader

MANIFEST = ".taxonomy.toml"
BUILT_IN = ("type", "tags")
"""The keys of every workspace."""

KEY = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
"""The property names that MCP hosts accept."""

RESERVED = ("query", "limit", "cursor", "ref", "path")
"""Names that a key cannot have, because they are parameters of a search."""

MAX_KEYS = 64
MAX_VALUES = 64
"""Values of one key that one document has at most; further ones are left out."""

Values = Mapping[str, tuple[str, ...]]
"""The values of each key that has any."""


class Taxonomy(NamedTuple):
    """The keys, each with its description, and the manifests by folder (`""` is the top one)."""

    keys: Mapping[str, str | None]
    manifest_in: Callable[[str], Manifest | None]

    def load_folders(self, folders: Iterable[str]) -> Taxonomy:
        """Return a taxonomy that holds the manifests of these folders and can be sent to another process."""
        found = ((folder, self.manifest_in(folder)) for folder in folders)
        return Taxonomy(self.keys, {folder: manifest for folder, manifest in found if manifest}.get)

    def manifest_values(self, path: str) -> Values:
        """Return the values of the nearest manifest above a document; empty without a manifest."""
        folder = path
        while folder:
            folder = folder.rpartition("/")[0]
            manifest = self.manifest_in(folder)
            if manifest is not None:
                return manifest.values(path[len(folder) + 1 :] if folder else path)
        return {}

    def values(self, path: str, front_matter: Mapping[str, object]) -> Values:
        """Return the values of a document, by key."""
        governed = self.manifest_values(path)
        found = {key: read_values(key, front_matter.get(key)) or governed.get(key, ()) for key in self.keys}
        return {key: values for key, values in found.items() if values}


def read_values(key: str, value: object) -> tuple[str, ...]:
    """Return the texts of a value or of its list items, in order, without repeats; `tags` split at commas."""
    if key == "tags" and isinstance(value, str):
        value = value.split(",")
    items = value if isinstance(value, list) else [value]
    texts = dict.fromkeys(text for text in map(_text, items) if text)
    return tuple(texts)[:MAX_VALUES]


def _text(value: object) -> str | None:
    match value:
        case bool():
            return "true" if value else "false"
        case datetime():
            return value.isoformat()
        case bytes():
            return None
        case _:
            return format_value(value)


MAX_OVERRIDES = 64
log = logging.getLogger(__name__)
_SHOWN = 100
_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?")


class InvalidManifest(WorkspaceError):
    """A manifest cannot be read, or has an invalid field: `path`, `line` (from 1), `key`."""

    code: ClassVar[str] = "INVALID_MANIFEST"


class ValueOverride(NamedTuple):
    """Values for the documents that a glob matches."""

    glob: Glob
    metadata: Values


class Manifest(NamedTuple):
    """A parsed manifest. An empty one declares nothing and overrides the manifests above it."""

    defaults: Values = MappingProxyType({})
    overrides: tuple[ValueOverride, ...] = ()

    def values(self, inside: str) -> Values:
        """Return the values for a document, by its path below the manifest's folder."""
        matching = (one.metadata for one in reversed(self.overrides) if one.glob.matches(inside))
        return {**self.defaults, **next(matching, {})}


class Manifests:
    """The manifests of a commit, each read on first use.

    `blob_of` returns the blob of the manifest at a path; None without a valid one.
    """

    def __init__(self, git: GitReader, keys: tuple[str, ...], blob_of: Callable[[str], str | None]) -> None:
        self._git = git
        self._keys = keys
        self._blob_of = blob_of
        self._known: dict[str, Manifest | None] = {}

    def within(self, folder: str) -> Manifest | None:
        """Return the manifest of a folder; an invalid one is logged and treated as empty."""
        if folder not in self._known:
            self._known[folder] = self._read_at(f"{folder}/{MANIFEST}" if folder else MANIFEST)
        return self._known[folder]

    def _read_at(self, path: str) -> Manifest | None:
        blob = self._blob_of(path)
        try:
            return _read(self._git, self._keys, path, blob) if blob else None
        except InvalidManifest as error:
            _warn(error.message)
            return Manifest()


def find_problems(
    git: GitReader, keys: tuple[str, ...], manifests: Mapping[str, str]
) -> list[InvalidManifest]:
    """Return the problem of each invalid manifest among blobs by path, in their order."""
    found = []
    for path, blob in manifests.items():
        try:
            _read(git, keys, path, blob)
        except InvalidManifest as error:
            found.append(error)
    return found


def _read(git: GitReader, keys: tuple[str, ...], path: str, blob: str) -> Manifest:
    try:
        data = read_bytes(git, blob)
    except DamagedRepository as error:
        raise InvalidManifest(
            f"{path} cannot be read: its object is missing or damaged",
            fix="Fetch it from another clone, then run `docyard index rebuild`.",
            path=path,
            line=1,
            key="",
        ) from error
    return read_manifest(data, path, keys)


@lru_cache(maxsize=256)
def _warn(message: str) -> None:
    """Log an invalid manifest once, because each commit reads it again."""
    log.warning("%s; the manifest is ignored until it is fixed", message)


@lru_cache(maxsize=256)
def read_manifest(data: bytes, path: str, keys: tuple[str, ...]) -> Manifest:
    """Read a manifest whose values may be of these keys. Raises InvalidManifest."""
    try:
        table = load_toml(data)
    except InvalidToml as error:
        where = f", line {error.line}" if error.line else ""
        raise InvalidManifest(
            f"{path}{where} {error.reason}", fix=error.fix, path=path, line=error.line or 1, key=""
        ) from error
    return _Reading(data, path, keys).manifest(table)


class _Reading(NamedTuple):
    """The file to read, for its error messages."""

    data: bytes
    path: str
    keys: tuple[str, ...]

    def manifest(self, table: Mapping[str, object]) -> Manifest:
        self._check_names(table, ("metadata", "override"), None)
        overrides = table.get("override", [])
        if not isinstance(overrides, list):
            self._refuse(
                "override", None, "must be a list of tables", "Write each override below [[override]]."
            )
        if len(overrides) > MAX_OVERRIDES:
            self._refuse(
                "override",
                MAX_OVERRIDES,
                f"occurs {len(overrides)} times; the maximum is {MAX_OVERRIDES}",
                "Join some of them, or put manifests into the folders themselves.",
            )
        return Manifest(
            self._metadata(table, None),
            tuple(self._override(number, one) for number, one in enumerate(overrides)),
        )

    def _override(self, number: int, table: object) -> ValueOverride:
        if not isinstance(table, dict):
            self._refuse("override", number, "must be a table", "Write each override below [[override]].")
        self._check_names(table, ("match", "metadata"), number)
        for name in ("match", "metadata"):
            if name not in table:
                self._refuse(
                    "override", number, f"has no '{name}'", "An override needs a glob to match, and metadata."
                )
        match = table["match"]
        reason = globs.find_problem(match) if isinstance(match, str) else "must be a text"
        if reason is not None:
            self._refuse("match", number, reason, 'Write a glob relative to this folder, such as "guides/*".')
        return ValueOverride(Glob.compile(match), self._metadata(table, number))

    def _metadata(self, table: Mapping[str, object], number: int | None) -> Values:
        metadata = table.get("metadata", {})
        if not isinstance(metadata, dict):
            self._refuse("metadata", number, "must be a table", 'Write key = "value" below [metadata].')
        found = {}
        for key, value in metadata.items():
            if key not in self.keys:
                near = _nearest(key, self.keys)
                self._refuse(
                    key,
                    number,
                    "is not a key of the taxonomy",
                    f"{near}Declare it as [taxonomy.{key[:_SHOWN]}] in docyard.toml, or remove it.",
                )
            texts = value if isinstance(value, list) else [value]
            if not all(isinstance(text, str) for text in texts):
                self._refuse(key, number, "must be a text or a list of texts", "Put its value in quotes.")
            found[key] = read_values(key, value)
        return {key: values for key, values in found.items() if values}

    def _check_names(self, table: Mapping[str, object], known: tuple[str, ...], number: int | None) -> None:
        for key in table:
            if key not in known:
                near = _nearest(key, known)
                self._refuse(key, number, "is unknown here", f"{near}There are {' and '.join(known)}.")

    def _refuse(self, key: str, number: int | None, reason: str, fix: str) -> NoReturn:
        line = find_line(decode_text(self.data), key, number)
        shown = key if len(key) <= _SHOWN else key[:_SHOWN] + "…"
        message = f"{self.path}, line {line}: {shown!r} {reason}"
        raise InvalidManifest(message, fix=fix, path=self.path, line=line, key=shown)


def find_line(text: str, key: str, number: int | None) -> int:
    """Return the line of a key, from 1: in the override of this number, or outside of all (None).

    If the key is not found there, return the line of the table's header, else another line with the key, else
    the first line.
    """
    name = re.compile(rf"""(?:^|[{{,.\[])\s*["']?{re.escape(key)}["']?\s*(?:[=.\]]|$)""")
    overrides, place, header, elsewhere = 0, None, 0, 0
    for line, content in enumerate(text.split("\n"), 1):
        if found := _HEADER.fullmatch(content):
            is_override = found[2].partition(".")[0].strip(" \t\"'") == "override"
            overrides += is_override and found[1] == "[["
            place = overrides - 1 if is_override else None
            header = header or (line if place == number else 0)
        if name.search(content):
            if place == number:
                return line
            elsewhere = elsewhere or line
    return header or elsewhere or 1


def _nearest(key: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(key[:_SHOWN], list(known), n=1)
    return f"Did you mean '{close[0]}'? " if close else ""
