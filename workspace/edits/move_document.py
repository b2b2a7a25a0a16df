"""move_document: a document at another path; the links to it and from it follow."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workspace.config.config import DOCUMENT_SUFFIXES
from workspace.edits.operation import DocumentOperation, Outcome
from workspace.links.survival import Survival
from workspace.paths import InvalidPath, check_path
from workspace.snapshot.overlay import PathExists

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workspace.config.taxonomy import Taxonomy
    from workspace.document.document import Document
    from workspace.document.splices import Style
    from workspace.snapshot.overlay import Overlay

# What looks like the ending of another kind of file, and not like the end of a name such as `v1.2`.
_ENDING = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,7}$")
_HERE = frozenset({".", "./"})


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveDocument(DocumentOperation):
    """Moves a document, its bytes as they are; links to it and relative links in it are written anew.

    `new_path` is a path of the repository. One that ends with a slash, or is a folder, keeps the file's name;
    one without an ending keeps the ending.
    """

    name: ClassVar[str] = "move_document"
    implied_by: ClassVar[frozenset[str]] = frozenset({"new_path"})
    addresses: ClassVar[tuple[str, ...]] = ()
    tells_links: ClassVar[bool] = True

    file: str
    new_path: str

    def apply(self, overlay: Overlay, style: Style) -> Outcome:
        """Moves the document. Raises DocumentNotFound, InvalidPath, PathExists, LimitExceeded."""
        path = check_path(self.file)
        document = overlay.document(path)
        new_path = self._target(path, overlay)
        answer = {"file": new_path, "was": {"file": path}}
        if new_path == path:
            return Outcome(path, answer, f"Move {path}", False, (f"'{path}' is where it was",))
        if new_path.startswith(f"{path}/"):
            raise PathExists(
                f"'{path}' is a file, and no document can be moved into itself",
                fix="Choose a folder that is none of the documents.",
                path=path,
            )
        overlay.move(path, new_path)
        survival = Survival.of_splices(document, (), new_path)
        hints = _taxonomy_hints(overlay.snapshot.taxonomy, document, new_path)
        return Outcome(new_path, answer, f"Move {path} to {new_path}", True, hints, survival)

    def _target(self, path: str, overlay: Overlay) -> str:
        """The path that is meant. Raises InvalidPath."""
        name = path.rpartition("/")[2]
        asked = self.new_path.strip()
        if asked in _HERE:
            return name
        target = check_path(asked.rstrip("/") if len(asked.strip("/")) else asked)
        if asked.endswith("/") or overlay.is_folder(target):
            return check_path(f"{target}/{name}")
        if target.endswith(DOCUMENT_SUFFIXES):
            return target
        if _ENDING.search(target):
            raise InvalidPath(target, "documents are .md files")
        return check_path(target + next(suffix for suffix in DOCUMENT_SUFFIXES if path.endswith(suffix)))


def _taxonomy_hints(taxonomy: Taxonomy, document: Document, new_path: str) -> tuple[str, ...]:
    """What the manifests say of the document at its new path, where that is something else."""
    before = taxonomy.values(document.path, document.front_matter)
    after = taxonomy.values(new_path, document.front_matter)
    if before == after:
        return ()
    changed = sorted(key for key in {*before, *after} if before.get(key) != after.get(key))
    told = "; ".join(f"{key}: {_told(before, key)} before, {_told(after, key)} now" for key in changed[:5])
    return (f"the manifests of the folders say other values of it at its new path ({told})",)


def _told(values: Mapping[str, tuple[str, ...]], key: str) -> str:
    return ", ".join(values.get(key, ())[:5]) or "none"
