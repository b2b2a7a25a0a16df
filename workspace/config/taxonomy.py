"""The keys that filter searches, and the values that a document has for them.

A value comes from the front matter of the document. Otherwise it comes from the nearest manifest above the
document: from the last override that matches, else from the defaults.

A manifest is a `.taxonomy.toml`. It sets values for the documents of a folder and its subfolders:

    [metadata]                      values of keys, for documents without values of their own
    language = "go"

    [[override]]                    other values for matching documents; the last match applies
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
BUILT_IN_KEYS = ("type", "tags")
"""The keys of every workspace."""

KEY_PATTERN = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
"""The pattern of a key. MCP hosts accept such keys as names of parameters."""

RESERVED_NAMES = ("query", "limit", "cursor", "ref", "path")
"""Names that a key cannot have, because they are parameters of a search."""

LATER_PARAMETERS = ("since", "max_tokens", "min_commit")
"""Parameters of a search that were added later. A key of this name keeps it, and the parameter is renamed."""

PARAMETER_PREFIX = "docyard_"
"""The beginning of a renamed parameter, such as `docyard_since`."""

MAX_KEYS = 64
MAX_VALUES = 64
"""The maximum number of values of one key in one document; further values are ignored."""

Values = Mapping[str, tuple[str, ...]]
"""The values of each key that has values."""


class Taxonomy(NamedTuple):
    """The keys with their descriptions, and a function from a folder (`""` at the top) to its manifest."""

    keys: Mapping[str, str | None]
    find_manifest: Callable[[str], Manifest | None]

    def load_folders(self, folders: Iterable[str]) -> Taxonomy:
        """Return a taxonomy with the loaded manifests of folders, which can be sent to another process."""
        manifests = ((folder, self.find_manifest(folder)) for folder in folders)
        return Taxonomy(self.keys, {folder: manifest for folder, manifest in manifests if manifest}.get)

    def manifest_values(self, path: str) -> Values:
        """Return the values of the nearest manifest above a document; empty without a manifest."""
        folder = path
        while folder:
            folder = folder.rpartition("/")[0]
            manifest = self.find_manifest(folder)
            if manifest is not None:
                return manifest.values(path[len(folder) + 1 :] if folder else path)
        return {}

    def values(self, path: str, front_matter: Mapping[str, object]) -> Values:
        """Return the values of a document, by key."""
        inherited_values = self.manifest_values(path)
        values_by_key = {
            key: read_values(key, front_matter.get(key)) or inherited_values.get(key, ()) for key in self.keys
        }
        return {key: values for key, values in values_by_key.items() if values}


def read_values(key: str, value: object) -> tuple[str, ...]:
    """Return the texts of a value or of its list items, in order, without repeats, at most MAX_VALUES.

    A text of `tags` is split at commas.
    """
    if key == "tags" and isinstance(value, str):
        value = value.split(",")
    items = value if isinstance(value, list) else [value]
    texts = dict.fromkeys(text for text in map(_format_text, items) if text)
    return tuple(texts)[:MAX_VALUES]


def _format_text(value: object) -> str | None:
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
_MAX_SHOWN_LENGTH = 100
_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?")


class InvalidManifest(WorkspaceError):
    """An error: a manifest cannot be read, or has an invalid field `key` at `path` and `line` (from 1)."""

    code: ClassVar[str] = "INVALID_MANIFEST"


class ValueOverride(NamedTuple):
    """Values for the documents that a glob matches."""

    glob: Glob
    metadata: Values


class Manifest(NamedTuple):
    """A parsed manifest. An empty manifest has no values, and hides the manifests above it."""

    defaults: Values = MappingProxyType({})
    overrides: tuple[ValueOverride, ...] = ()

    def values(self, relative_path: str) -> Values:
        """Return the values for a document, by its path below the manifest's folder."""
        matching_values = (
            override.metadata for override in reversed(self.overrides) if override.glob.matches(relative_path)
        )
        return {**self.defaults, **next(matching_values, {})}


class Manifests:
    """The manifests of a commit, each read on first use.

    `find_blob` returns the blob of the manifest at a path; None without a manifest.
    """

    def __init__(self, git: GitReader, keys: tuple[str, ...], find_blob: Callable[[str], str | None]) -> None:
        self._git = git
        self._keys = keys
        self._find_blob = find_blob
        self._manifests: dict[str, Manifest | None] = {}

    def find_in(self, folder: str) -> Manifest | None:
        """Return the manifest of a folder; an invalid manifest is logged and treated as empty."""
        if folder not in self._manifests:
            self._manifests[folder] = self._read_manifest(f"{folder}/{MANIFEST}" if folder else MANIFEST)
        return self._manifests[folder]

    def _read_manifest(self, path: str) -> Manifest | None:
        blob = self._find_blob(path)
        try:
            return _read_blob(self._git, self._keys, path, blob) if blob else None
        except InvalidManifest as error:
            _log_once(error.message)
            return Manifest()


def find_problems(
    git: GitReader, keys: tuple[str, ...], manifests: Mapping[str, str]
) -> list[InvalidManifest]:
    """Return the error of each invalid manifest. `manifests` are blobs by path, in order."""
    problems = []
    for path, blob in manifests.items():
        try:
            _read_blob(git, keys, path, blob)
        except InvalidManifest as error:
            problems.append(error)
    return problems


def _read_blob(git: GitReader, keys: tuple[str, ...], path: str, blob: str) -> Manifest:
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
def _log_once(message: str) -> None:
    """Log an invalid manifest once, because each commit reads it again."""
    log.warning("%s; the manifest counts as empty until it is fixed", message)


@lru_cache(maxsize=256)
def read_manifest(data: bytes, path: str, keys: tuple[str, ...]) -> Manifest:
    """Return the manifest in a file, which may set values of `keys`. Raises InvalidManifest."""
    try:
        table = load_toml(data)
    except InvalidToml as error:
        location = f", line {error.line}" if error.line else ""
        raise InvalidManifest(
            f"{path}{location} {error.reason}", fix=error.fix, path=path, line=error.line or 1, key=""
        ) from error
    return _ManifestParser(data, path, keys).parse(table)


class _ManifestParser(NamedTuple):
    """A parser of one manifest file. `data` and `path` are used for error messages."""

    data: bytes
    path: str
    keys: tuple[str, ...]

    def parse(self, table: Mapping[str, object]) -> Manifest:
        self._check_names(table, ("metadata", "override"), None)
        overrides = table.get("override", [])
        if not isinstance(overrides, list):
            self._raise_error(
                "override", None, "must be a list of tables", "Write each override below [[override]]."
            )
        if len(overrides) > MAX_OVERRIDES:
            self._raise_error(
                "override",
                MAX_OVERRIDES,
                f"occurs {len(overrides)} times; the maximum is {MAX_OVERRIDES}",
                "Combine some overrides, or put manifests into the folders themselves.",
            )
        return Manifest(
            self._parse_metadata(table, None),
            tuple(
                self._parse_override(override_index, override)
                for override_index, override in enumerate(overrides)
            ),
        )

    def _parse_override(self, override_index: int, table: object) -> ValueOverride:
        if not isinstance(table, dict):
            self._raise_error(
                "override", override_index, "must be a table", "Write each override below [[override]]."
            )
        self._check_names(table, ("match", "metadata"), override_index)
        for name in ("match", "metadata"):
            if name not in table:
                self._raise_error(
                    "override",
                    override_index,
                    f"has no '{name}'",
                    "An override needs a glob to match, and metadata.",
                )
        match = table["match"]
        reason = globs.find_problem(match) if isinstance(match, str) else "must be a text"
        if reason is not None:
            self._raise_error(
                "match", override_index, reason, 'Write a glob relative to this folder, such as "guides/*".'
            )
        return ValueOverride(Glob.compile(match), self._parse_metadata(table, override_index))

    def _parse_metadata(self, table: Mapping[str, object], override_index: int | None) -> Values:
        metadata = table.get("metadata", {})
        if not isinstance(metadata, dict):
            self._raise_error(
                "metadata", override_index, "must be a table", 'Write key = "value" below [metadata].'
            )
        values_by_key = {}
        for key, value in metadata.items():
            if key not in self.keys:
                suggestion = _suggest_nearest(key, self.keys)
                self._raise_error(
                    key,
                    override_index,
                    "is not a key of the taxonomy",
                    f"{suggestion}Declare it as [taxonomy.{key[:_MAX_SHOWN_LENGTH]}] in docyard.toml, "
                    "or remove it.",
                )
            texts = value if isinstance(value, list) else [value]
            if not all(isinstance(text, str) for text in texts):
                self._raise_error(
                    key, override_index, "must be a text or a list of texts", "Put its value in quotes."
                )
            values_by_key[key] = read_values(key, value)
        return {key: values for key, values in values_by_key.items() if values}

    def _check_names(
        self, table: Mapping[str, object], known_names: tuple[str, ...], override_index: int | None
    ) -> None:
        for key in table:
            if key not in known_names:
                suggestion = _suggest_nearest(key, known_names)
                self._raise_error(
                    key,
                    override_index,
                    "is unknown here",
                    f"{suggestion}The known names are {' and '.join(known_names)}.",
                )

    def _raise_error(self, key: str, override_index: int | None, reason: str, fix: str) -> NoReturn:
        line = find_line(decode_text(self.data), key, override_index)
        short_key = key if len(key) <= _MAX_SHOWN_LENGTH else key[:_MAX_SHOWN_LENGTH] + "…"
        message = f"{self.path}, line {line}: {short_key!r} {reason}"
        raise InvalidManifest(message, fix=fix, path=self.path, line=line, key=short_key)


def find_line(text: str, key: str, override_index: int | None) -> int:
    """Return the line of a key, from 1, in the override of this index; for None, outside all overrides.

    If the key is not in this part, return the line of the part's header, else another line with the key,
    else the first line.
    """
    key_pattern = re.compile(rf"""(?:^|[{{,.\[])\s*["']?{re.escape(key)}["']?\s*(?:[=.\]]|$)""")
    override_count, current_override, header_line, other_line = 0, None, 0, 0
    for line, content in enumerate(text.split("\n"), 1):
        if match := _HEADER.fullmatch(content):
            is_override = match[2].partition(".")[0].strip(" \t\"'") == "override"
            override_count += is_override and match[1] == "[["
            current_override = override_count - 1 if is_override else None
            header_line = header_line or (line if current_override == override_index else 0)
        if key_pattern.search(content):
            if current_override == override_index:
                return line
            other_line = other_line or line
    return header_line or other_line or 1


def _suggest_nearest(key: str, known_names: Iterable[str]) -> str:
    nearest = difflib.get_close_matches(key[:_MAX_SHOWN_LENGTH], list(known_names), n=1)
    return f"Did you mean '{nearest[0]}'? " if nearest else ""
