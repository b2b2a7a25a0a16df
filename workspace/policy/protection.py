"""Which rules govern a change, and the gate at which a write to the served branch is asked.

A rule that matches must be fulfilled, whatever others say. Where there is any rule, what the rules and the
types of documents are read from is governed by all of them together: otherwise a proposal could lift the gate
that it stands before.

Which of some paths globs stand for: each is asked once, and only of paths that hold its plain text.

Letter case and Unicode forms do not count: on many disks such names are one file.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from workspace.config.config import CONFIG_PATH, WorkspaceConfig
from workspace.config.taxonomy import MANIFEST, read_values
from workspace.errors import WorkspaceError
from workspace.git.trees import Whole
from workspace.globs import Glob
from workspace.paths import twin_key
from workspace.snapshot.snapshot import DocumentNotFound

if TYPE_CHECKING:
    from workspace.config.tables import Protection
    from workspace.config.taxonomy import Taxonomy
    from workspace.document.document import Document
    from workspace.snapshot.snapshot import Snapshot

_WILD = re.compile(r"\*\*/|[*?]")


class Reach:
    """Some paths, of which globs are asked: from the top of the repository, or from the workspace's root."""

    def __init__(self, paths: Sequence[str], root: str) -> None:
        self._paths = frozenset(paths)
        self._names = {path: path for path in self._paths}
        self._twins = {path: _folded(path) for path in self._paths}
        self._above = f"{root}/" if root else ""
        self._known: dict[str, frozenset[str]] = {}

    def of(self, globs: Sequence[str]) -> frozenset[str]:
        """Return the paths that any of the globs stands for; without a glob, all."""
        if not globs:
            return self._paths
        return frozenset().union(*map(self._of, globs))

    def _of(self, text: str) -> frozenset[str]:
        found = self._known.get(text)
        if found is None:
            found = self._matching(text, self._names, self._above)
            twin = _folded(text)
            # A range such as `[A-z]` stands for less once it is folded, so both are asked.
            if (twin, self._twins) != (text, self._names):
                found |= self._matching(twin, self._twins, _folded(self._above))
            self._known[text] = found
        return found

    def _matching(self, text: str, names: Mapping[str, str], above: str) -> frozenset[str]:
        """Return the paths of which a glob stands for the name, or for what of it is below the root."""
        plain = plain_part(text)
        likely = [(path, name) for path, name in names.items() if plain in name]
        if not likely:
            return frozenset()
        glob = Glob.compile(text)
        return frozenset(
            path
            for path, name in likely
            if glob.matches(name) or (name.startswith(above) and glob.matches(name[len(above) :]))
        )


def _folded(name: str) -> str:
    """Return what names that are one file on some disks have in common, composed: `?` stands for a letter."""
    return unicodedata.normalize("NFC", twin_key(name))


@lru_cache(maxsize=10_000)
def plain_part(glob: str) -> str:
    """The longest text that each path has that a glob stands for; what follows a bracket is not looked at."""
    return max(_WILD.split(glob.rstrip("/").partition("[")[0]), key=len)


SETTINGS_FOLDER = ".docyard/"


_LISTED = 20


_NAMED = 3


Changes = Mapping[str, "bytes | Whole | None"]


"""New bytes by path, what is taken whole from another tree, or None where a file is removed."""


class Touched(NamedTuple):
    """A path that a change touches, with the types of its document before and after.

    Both ends of a move are paths of their own. `types` is empty where no rule asks for one.
    """

    path: str
    types: frozenset[str] = frozenset()


class Governed(NamedTuple):
    """A rule, its number (from 1, as it stands in the file), and the paths of a change that it governs."""

    rule: Protection
    number: int
    paths: tuple[str, ...]


class Protected(WorkspaceError):
    """A path may change only by a proposal. `paths` are the first such paths, `count` says how many."""

    code: ClassVar[str] = "PROTECTED"

    def __init__(self, paths: Sequence[str], *, message: str = "", fix: str = "") -> None:
        super().__init__(
            message or f"{named(paths)} can change only by a proposal that is reviewed",
            fix=fix
            or f"Make the change in a proposal. The rules are the [[protect]] tables of {CONFIG_PATH}.",
            paths=list(paths[:_LISTED]),
            count=len(paths),
        )
        self.paths = tuple(paths)


def touched(snapshot: Snapshot, changes: Changes) -> tuple[Touched, ...]:
    """Return what changes to a commit touch, in order of paths.

    Documents are read for their types only where a rule of the commit asks for them.
    Raises InvalidConfig, LimitExceeded.
    """
    config = snapshot.config
    reach = Reach([path for path in changes if config.is_document(path)], config.root)
    asked = {path for rule in config.protect if rule.types for path in reach.of(rule.paths)}
    return tuple(
        Touched(
            path,
            types_before(snapshot, path) | types_after(snapshot, path, change)
            if path in asked
            else frozenset(),
        )
        for path, change in sorted(changes.items())
    )


def governing(config: WorkspaceConfig, touched: Sequence[Touched]) -> tuple[Governed, ...]:
    """Return the rules that govern any of the paths, in the order of the file."""
    found = []
    reach = Reach([one.path for one in touched], config.root)
    settings = {one.path for one in touched if is_settings(one.path)}
    for number, rule in enumerate(config.protect, 1):
        reached, types = reach.of(rule.paths), frozenset(rule.types)
        paths = tuple(
            one.path
            for one in touched
            if one.path in settings
            or (one.path in reached and (not types or not types.isdisjoint(one.types)))
        )
        if paths:
            found.append(Governed(rule, number, paths))
    return tuple(found)


def governs(rule: Protection, root: str, one: Touched) -> bool:
    """Return True if a rule governs a path that is not of the settings; `root` is the workspace's."""
    types = frozenset(rule.types)
    return one.path in Reach([one.path], root).of(rule.paths) and (
        not types or not types.isdisjoint(one.types)
    )


def types_before(snapshot: Snapshot, path: str) -> frozenset[str]:
    """Return the types of a document as it is at a commit; none where there is no document."""
    with suppress(DocumentNotFound):
        return frozenset(_type(snapshot.taxonomy, snapshot.document(path)))
    return frozenset()


def types_after(snapshot: Snapshot, path: str, change: bytes | Whole | None) -> frozenset[str]:
    """Return the types that a document has after a change to a commit; none where it is removed."""
    if isinstance(change, Whole):
        entry = change.entry
        change = snapshot.git.blob(entry.id) if entry is not None and entry.is_blob else None
    return frozenset() if change is None else types_of(snapshot.taxonomy, path, change)


def types_of(taxonomy: Taxonomy, path: str, data: bytes) -> frozenset[str]:
    """Return the types of a document's bytes: of its front matter, else of the nearest manifest."""
    from workspace.document.document import Document

    return frozenset(_type(taxonomy, Document.parse(data, path)))


def check_direct(snapshot: Snapshot, changes: Changes) -> None:
    """Raise Protected if a change to this commit needs a proposal, by the rules of the commit itself."""
    if not snapshot.config.protect:
        return
    governed = governing(snapshot.config, touched(snapshot, changes))
    if governed:
        raise Protected(sorted({path for one in governed for path in one.paths}))


def is_settings(path: str) -> bool:
    """Return True if rules, or the types of documents, are read from a file of this path."""
    name = twin_key(path)  # which on many disks is the same file
    return name == CONFIG_PATH or name.startswith(SETTINGS_FOLDER) or name.rpartition("/")[2] == MANIFEST


def named(paths: Sequence[str]) -> str:
    """Return a few of some paths, as they stand in a message."""
    shown = ", ".join(paths[:_NAMED])
    more = len(paths) - _NAMED
    return f"{shown} and {more:,} more" if more > 0 else shown


def _type(taxonomy: Taxonomy, document: Document) -> tuple[str, ...]:
    own = read_values("type", document.front_matter.get("type"))
    return own or taxonomy.governed(document.path).get("type", ())
