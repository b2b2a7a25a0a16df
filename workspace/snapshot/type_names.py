"""The names of document types, for callers that do not need the types themselves."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from templates import BUILTIN_NAMES
from workspace.errors import InvalidConfig

if TYPE_CHECKING:
    from workspace.config.config import WorkspaceConfig
    from workspace.snapshot.snapshot import Snapshot

SKILL_TYPE = "skill"
"""The document type of skills. It is built in only with `skills = true`."""

TYPES_FOLDER = ".docyard/templates"
MAX_TYPES = 64
"""The maximum number of types that are read from the folder."""

_LISTED_NAME = re.compile(r"[\w-]{1,64}")


def list_builtin_names(config: WorkspaceConfig | None) -> tuple[str, ...]:
    """Return the names of the built-in types of a workspace; `config` is None if its settings are invalid."""
    has_skills = config is not None and config.skills
    return tuple(name for name in BUILTIN_NAMES if has_skills or name != SKILL_TYPE)


def read_valid_config(snapshot: Snapshot) -> WorkspaceConfig | None:
    """Return the settings of a commit; None if they are invalid."""
    with suppress(InvalidConfig):
        return snapshot.config
    return None


def list_type_names(snapshot: Snapshot) -> list[str]:
    """Return the names of the types in display order, without reading the types; some may be broken."""
    folder = snapshot.entry(TYPES_FOLDER)
    entries = snapshot.git.tree(folder.id)[:MAX_TYPES] if folder is not None and folder.is_tree else ()
    own_names = (entry.name for entry in entries if entry.is_tree and _LISTED_NAME.fullmatch(entry.name))
    return list(dict.fromkeys((*list_builtin_names(read_valid_config(snapshot)), *own_names)))
