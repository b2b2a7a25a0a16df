"""The rules that govern a change, and the gate for direct writes to the served branch.

Each matching rule must be fulfilled. If there is any rule, all rules together govern the files that define
rules and document types. Otherwise a proposal could remove the gate that blocks it.

Globs ignore letter case and Unicode normalization, because many file systems treat names that differ only in
these as one file.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from workspace.config.config import WorkspaceConfig
from workspace.config.taxonomy import MANIFEST, read_values
from workspace.config.toml import CONFIG_PATH
from workspace.errors import WorkspaceError
from workspace.git.trees import WholeEntry
from workspace.globs import Glob
from workspace.paths import fold_name
from workspace.snapshot.snapshot import DocumentNotFound

if TYPE_CHECKING:
    from workspace.config.tables import Protection
    from workspace.config.taxonomy import Taxonomy
    from workspace.document.document import Document
    from workspace.snapshot.snapshot import Snapshot

_WILDCARD = re.compile(r"\*\*/|[*?]")


class GlobMatcher:
    """A matcher of paths by globs, which are relative to the repository or to the workspace's root."""

    def __init__(self, paths: Sequence[str], root: str) -> None:
        self._paths = frozenset(paths)
        self._names = {path: path for path in self._paths}
        self._folded_names = {path: _fold_name(path) for path in self._paths}
        self._root_prefix = f"{root}/" if root else ""
        self._paths_by_glob: dict[str, frozenset[str]] = {}

    def match(self, globs: Sequence[str]) -> frozenset[str]:
        """Return the paths that match any of the globs; return all paths if there is no glob."""
        if not globs:
            return self._paths
        return frozenset().union(*map(self._match_glob, globs))

    def _match_glob(self, text: str) -> frozenset[str]:
        paths = self._paths_by_glob.get(text)
        if paths is None:
            paths = self._match_names(text, self._names, self._root_prefix)
            folded_text = _fold_name(text)
            # A folded range such as `[A-z]` matches fewer names, so both forms are tried.
            if (folded_text, self._folded_names) != (text, self._names):
                paths |= self._match_names(folded_text, self._folded_names, _fold_name(self._root_prefix))
            self._paths_by_glob[text] = paths
        return paths

    def _match_names(self, text: str, names: Mapping[str, str], root_prefix: str) -> frozenset[str]:
        """Return the paths whose full name, or whose name relative to the root, matches a glob."""
        literal_text = find_literal_part(text)
        candidates = [(path, name) for path, name in names.items() if literal_text in name]
        if not candidates:
            return frozenset()
        glob = Glob.compile(text)
        return frozenset(
            path
            for path, name in candidates
            if glob.matches(name) or (name.startswith(root_prefix) and glob.matches(name[len(root_prefix) :]))
        )


def _fold_name(name: str) -> str:
    """Return the case-folded NFC form of a name.

    Names that some file systems treat as one file have the same form.
    """
    return unicodedata.normalize("NFC", fold_name(name))


@lru_cache(maxsize=10_000)
def find_literal_part(glob: str) -> str:
    """Return the longest literal text of a glob before its first bracket; each match contains this text."""
    return max(_WILDCARD.split(glob.rstrip("/").partition("[")[0]), key=len)


SETTINGS_FOLDER = ".docyard/"
_MAX_PATHS_IN_FIELD = 20
_MAX_PATHS_IN_MESSAGE = 3
ChangesByPath = Mapping[str, "bytes | WholeEntry | None"]
"""The change of each path: new bytes, an entry of another tree, or None for a removed file."""


class TouchedPath(NamedTuple):
    """A changed path, with the types of its document before and after.

    A move counts as two paths, the old one and the new one. `types` is empty if no rule requires them.
    """

    path: str
    types: frozenset[str] = frozenset()


class GoverningRule(NamedTuple):
    """A rule, its number in the file (from 1), and the changed paths that it governs."""

    rule: Protection
    number: int
    paths: tuple[str, ...]


class Protected(WorkspaceError):
    """An error: only a proposal may change some paths. `count` is their number, `paths` the first 20."""

    code: ClassVar[str] = "PROTECTED"

    def __init__(self, paths: Sequence[str], *, message: str = "", fix: str = "") -> None:
        super().__init__(
            message or f"{format_paths(paths)} can change only by a proposal that is reviewed",
            fix=fix
            or f"Make the change in a proposal. The rules are the [[protect]] tables of {CONFIG_PATH}.",
            paths=list(paths[:_MAX_PATHS_IN_FIELD]),
            count=len(paths),
        )
        self.paths = tuple(paths)


def find_touched_paths(snapshot: Snapshot, changes: ChangesByPath) -> tuple[TouchedPath, ...]:
    """Return the changed paths of a commit with their types, in order of paths.

    Documents are read only if a rule of the commit requires their types.
    Raises InvalidConfig, LimitExceeded.
    """
    config = snapshot.config
    matcher = GlobMatcher([path for path in changes if config.is_document(path)], config.root)
    typed_paths = {path for rule in config.protect if rule.types for path in matcher.match(rule.paths)}
    return tuple(
        TouchedPath(
            path,
            read_types_before(snapshot, path) | read_types_after(snapshot, path, change)
            if path in typed_paths
            else frozenset(),
        )
        for path, change in sorted(changes.items())
    )


def find_governing_rules(
    config: WorkspaceConfig, touched_paths: Sequence[TouchedPath]
) -> tuple[GoverningRule, ...]:
    """Return the rules that govern any of the paths, in the order of the file."""
    governing_rules = []
    matcher = GlobMatcher([touched_path.path for touched_path in touched_paths], config.root)
    settings_paths = {
        touched_path.path for touched_path in touched_paths if is_settings_path(touched_path.path)
    }
    for number, rule in enumerate(config.protect, 1):
        matching_paths, types = matcher.match(rule.paths), frozenset(rule.types)
        paths = tuple(
            touched_path.path
            for touched_path in touched_paths
            if touched_path.path in settings_paths
            or (
                touched_path.path in matching_paths
                and (not types or not types.isdisjoint(touched_path.types))
            )
        )
        if paths:
            governing_rules.append(GoverningRule(rule, number, paths))
    return tuple(governing_rules)


def is_governed(rule: Protection, root: str, touched_path: TouchedPath) -> bool:
    """Return True if a rule governs a path that is not a settings file; `root` is the workspace's root."""
    types = frozenset(rule.types)
    return touched_path.path in GlobMatcher([touched_path.path], root).match(rule.paths) and (
        not types or not types.isdisjoint(touched_path.types)
    )


def read_types_before(snapshot: Snapshot, path: str) -> frozenset[str]:
    """Return the types of a document at a commit; empty for a missing document."""
    with suppress(DocumentNotFound):
        return frozenset(_read_document_types(snapshot.taxonomy, snapshot.document(path)))
    return frozenset()


def read_types_after(snapshot: Snapshot, path: str, change: bytes | WholeEntry | None) -> frozenset[str]:
    """Return the types of a document after a change to a commit; empty if the document is removed."""
    if isinstance(change, WholeEntry):
        entry = change.entry
        change = snapshot.git.blob(entry.id) if entry is not None and entry.is_blob else None
    return frozenset() if change is None else read_types(snapshot.taxonomy, path, change)


def read_types(taxonomy: Taxonomy, path: str, data: bytes) -> frozenset[str]:
    """Return the types in a document's front matter, else those in the nearest manifest."""
    from workspace.document.document import Document

    return frozenset(_read_document_types(taxonomy, Document.parse(data, path)))


def check_direct_write(snapshot: Snapshot, changes: ChangesByPath) -> None:
    """Raise Protected if the rules of this commit require a proposal for the changes."""
    if not snapshot.config.protect:
        return
    governing_rules = find_governing_rules(snapshot.config, find_touched_paths(snapshot, changes))
    if governing_rules:
        raise Protected(sorted({path for governing_rule in governing_rules for path in governing_rule.paths}))


def is_settings_path(path: str) -> bool:
    """Return True if a file of this path defines rules or the types of documents."""
    name = fold_name(path)  # many file systems ignore letter case
    return name == CONFIG_PATH or name.startswith(SETTINGS_FOLDER) or name.rpartition("/")[2] == MANIFEST


def format_paths(paths: Sequence[str]) -> str:
    """Return the first three paths, and the number of the other paths, as text for a message."""
    text = ", ".join(paths[:_MAX_PATHS_IN_MESSAGE])
    omitted_count = len(paths) - _MAX_PATHS_IN_MESSAGE
    return f"{text} and {omitted_count:,} more" if omitted_count > 0 else text


def _read_document_types(taxonomy: Taxonomy, document: Document) -> tuple[str, ...]:
    front_matter_types = read_values("type", document.front_matter.get("type"))
    return front_matter_types or taxonomy.manifest_values(document.path).get("type", ())
