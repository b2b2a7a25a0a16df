"""The names of document types, for callers that do not need the types themselves."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from templates import BUILTIN_NAMES

if TYPE_CHECKING:
    from workspace.snapshot.snapshot import Snapshot

TYPES_FOLDER = ".docyard/templates"
MAX_TYPES = 64
"""The maximum number of types that are read from the folder."""

_LISTED_NAME = re.compile(r"[\w-]{1,64}")


def list_type_names(snapshot: Snapshot) -> list[str]:
    """Return the names of the types in display order, without reading the types; some may be broken."""
    folder = snapshot.entry(TYPES_FOLDER)
    entries = snapshot.git.tree(folder.id)[:MAX_TYPES] if folder is not None and folder.is_tree else ()
    own_names = (entry.name for entry in entries if entry.is_tree and _LISTED_NAME.fullmatch(entry.name))
    return list(dict.fromkeys((*BUILTIN_NAMES, *own_names)))
