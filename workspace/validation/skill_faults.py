"""Reasons why a document of type `skill` is not offered as instructions (`workspace/skills.py`)."""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING

from workspace.config.config import DOCUMENT_SUFFIXES
from workspace.config.taxonomy import MANIFEST, read_values
from workspace.config.toml import CONFIG_PATH
from workspace.policy.protection import TouchedPath
from workspace.policy.unapproved_text import find_approved_paths
from workspace.snapshot.type_names import SKILL_TYPE
from workspace.validation.characters import (
    BIDIRECTIONAL_CONTROLS,
    find_invisible_characters,
    is_character_needed,
    is_direction_isolated,
)

if TYPE_CHECKING:
    from workspace.config.config import WorkspaceConfig
    from workspace.document.document import Document

MAX_SKILLS = 200
MAX_SKILL_BYTES = 50_000
"""The maximum size of a skill: a part of its instructions could mean the opposite of the whole."""

# The names of the Agent Skills specification (agentskills.io/specification, "name field").
_NAME = re.compile("(?=.{1,64}$)[a-z0-9]+(?:-[a-z0-9]+)*")
_FOLDER_FILE = "SKILL"  # a file of this name has the name of its folder


class SkillFault(Enum):
    """A reason why a skill is not offered, and its fix."""

    UNPROTECTED = (
        "no [[protect]] rule requires an approval of changes",
        f'Add a [[protect]] table with types = ["{SKILL_TYPE}"] and approvals = 1 to {CONFIG_PATH}.',
    )
    UNAPPROVED = (
        "the text was written through Docyard before a rule required an approval",
        "Change it in a proposal, and merge this after an approval.",
    )
    MANIFEST = (
        f"the type is that of a {MANIFEST}",
        f"Write `type: {SKILL_TYPE}` in the front matter.",
    )
    NAME = (
        "the file name is not 1 to 64 of the characters a-z, 0-9 and single hyphens between them",
        "Rename the file, such as to deploy-service.md, or the folder of a SKILL.md.",
    )
    REPEATED = ("another skill has the same name", "Rename all but one of them.")
    LARGE = (
        f"the size is over {MAX_SKILL_BYTES:,} bytes",
        "Move details to other documents, and link to them.",
    )
    HIDDEN = (
        "the text has characters that a reviewer does not see, or is not UTF-8",
        "`docyard validate` lists the characters; remove them.",
    )
    EMPTY = ("there is no text below the front matter", "Write the instructions.")
    EXCESS = (
        f"only the first {MAX_SKILLS} skills by path are offered",
        "Remove skills, or merge several into one.",
    )

    def __init__(self, reason: str, fix: str) -> None:
        self.reason = reason
        self.fix = fix


def find_skill_fault(document: Document, config: WorkspaceConfig) -> SkillFault | None:
    """Return the first fault of a skill that its document and the settings show, or None."""
    if not find_approved_paths(config, [TouchedPath(document.path, read_types(document))]):
        return SkillFault.UNPROTECTED
    if not is_skill_name(read_skill_name(document.path)):
        return SkillFault.NAME
    if len(document.data) > MAX_SKILL_BYTES:
        return SkillFault.LARGE
    if _has_hidden_text(document.data):
        return SkillFault.HIDDEN
    if not document.data[document.front_matter_end :].strip():
        return SkillFault.EMPTY
    return None


def read_types(document: Document) -> frozenset[str]:
    """Return the types in the front matter: a reviewer of the document sees them."""
    return frozenset(read_values("type", document.front_matter.get("type")))


def is_skill_name(name: str) -> bool:
    """Return True if a skill may have this name. No built-in prompt has such a name."""
    return _NAME.fullmatch(name) is not None


def read_skill_name(path: str) -> str:
    """Return the name of a skill: its file's name without the suffix, or the folder of a `SKILL.md`."""
    folder, _, file_name = path.rpartition("/")
    suffix = next(suffix for suffix in DOCUMENT_SUFFIXES if file_name.endswith(suffix))
    stem = file_name.removesuffix(suffix)
    return folder.rpartition("/")[2] if stem == _FOLDER_FILE else stem


def _has_hidden_text(data: bytes) -> bool:
    """Return True if a text has characters that are not displayed, and that it does not need."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return b"\0" in data or any(
        not (
            is_direction_isolated(data, start, end)
            if character in BIDIRECTIONAL_CONTROLS
            else is_character_needed(data, start, end, character)
        )
        for start, end, character in find_invisible_characters(data)
    )
