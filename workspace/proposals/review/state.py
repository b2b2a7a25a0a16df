"""A workspace before or after a merge, as the rules of `validation` see its documents."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from workspace.config.config import LimitExceeded
from workspace.links.world import OverlayWorld
from workspace.merge.world import MergedWorld
from workspace.snapshot.document_types import FOLDER, MAX_TYPES, PARTS, document_types, read_type
from workspace.snapshot.snapshot import NotADocument
from workspace.validation.checking import check, whole
from workspace.validation.finding import Severity
from workspace.validation.rule import Subject
from workspace.validation.rules import unknown_type, unreadable_document
from workspace.validation.run import Selection

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from templates import DocumentType
    from workspace.config.config import WorkspaceConfig
    from workspace.document.document import Document
    from workspace.links.resolver import World
    from workspace.merge.trees_package import Merge
    from workspace.snapshot.document_types import BrokenType
    from workspace.validation.finding import Finding
    from workspace.validation.rule import Rule

_MOST = 1_000  # places of one document that one rule tells of


class State(NamedTuple):
    """The files at one moment, and the types that documents may have; the settings are the target's."""

    world: World
    config: WorkspaceConfig
    types: Mapping[str, DocumentType | BrokenType]

    def document(self, path: str) -> Document | None:
        """The document of a path; None where none is, or none that can be read within the target's limits."""
        try:
            found = self.world.document(path)
        except (LimitExceeded, NotADocument):
            return None
        most = self.config.limits.document_bytes
        return None if found is None or len(found.data) > most else found

    def findings(self, path: str, rules: Sequence[Rule]) -> list[Finding]:
        """What is wrong with the document of a path, notes left out; nothing where no document is.

        One that is there and cannot be read is a finding: nobody can say what is in it.
        """
        document = self.document(path)
        if document is None:
            is_there = self.config.is_document(path) and self.world.exists(path)
            return [_unreadable(path)] if is_there and not self.world.is_folder(path) else []
        subject = Subject(document, self.config, self.types, self.world)
        try:
            found = check(subject, rules, _severities(self.config, path, rules), _MOST)
        except LimitExceeded:
            return [_unreadable(path)]
        return [one for one in found if one.is_problem]


def before(merge: Merge) -> State:
    """The target as it is. Raises InvalidConfig, DamagedRepository."""
    ours = merge.ours
    return State(OverlayWorld(ours), ours.config, document_types(ours))


def after(merge: Merge, earlier: State) -> State:
    """The merge as it would be. Raises DamagedRepository."""
    world = MergedWorld(merge)
    types = earlier.types
    if any(path.startswith(f"{FOLDER}/") for path in merge.changes):
        types = {**types}
        for name in sorted(world.entries(FOLDER))[:MAX_TYPES]:
            types[name] = _type(merge, name)
    return State(world, earlier.config, types)


def _type(merge: Merge, name: str) -> DocumentType | BrokenType:
    read = {part: merge.read(f"{FOLDER}/{name}/{part}") for part in PARTS}
    there = {part: data for part, data in read.items() if data is not None}
    return read_type(name, {part: len(data) for part, data in there.items()}, partial(_part, there))


def _part(parts: Mapping[str, bytes], name: str) -> bytes:
    return parts[name]


def _severities(config: WorkspaceConfig, path: str, rules: Sequence[Rule]) -> Mapping[str, Severity]:
    """The severities of rules by the settings of the target.

    A type that the workspace does not have is a note to `docyard validate`, and here a problem, unless the
    settings say which it is: what a type demands cannot be checked where nobody knows it.
    """
    found = dict(Selection(config.validation, frozenset(rule.name for rule in rules)).severities(path))
    if unknown_type.RULE.name in found and unknown_type.RULE.name not in config.validation.levels(path):
        found[unknown_type.RULE.name] = Severity.WARNING
    return found


def _unreadable(path: str) -> Finding:
    message = "the document cannot be read, so nobody can tell what is wrong with it"
    return whole(path, unreadable_document.RULE.name, Severity.ERROR, message, None)
