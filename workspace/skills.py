"""Skills: documents of type `skill`, whose text a server offers as instructions for a model.

A skill is offered only with `skills = true` in `docyard.toml`, only at the tip of the served branch, and only
if a rule of this tip requires the approval of its changes. Its text must not have been written through
Docyard before such a rule. Each rule also governs `docyard.toml`, so neither the setting nor the rules can
change without an approval.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from workspace.config.config import DOCUMENT_SUFFIXES
from workspace.config.taxonomy import MANIFEST, read_values
from workspace.config.toml import CONFIG_PATH
from workspace.document.walkthrough import MAX_DESCRIPTION_CHARACTERS, read_description, shorten_text
from workspace.frontmatter.reader import format_value
from workspace.lru_cache import LRUCache
from workspace.policy.protection import TouchedPath
from workspace.policy.unapproved_text import Text, find_approved_paths, find_unapproved_texts
from workspace.proposal_ids import PROPOSAL_BRANCH_PREFIX
from workspace.snapshot.documents_by_type import DocumentsByType
from workspace.snapshot.type_names import SKILL_TYPE
from workspace.validation.characters import (
    BIDIRECTIONAL_CONTROLS,
    find_invisible_characters,
    is_character_needed,
    is_direction_isolated,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workspace.branch import Branch
    from workspace.document.document import Document
    from workspace.snapshot.snapshot import Snapshot

MAX_SKILLS = 200
MAX_SKILL_BYTES = 50_000
"""The maximum size of a skill: a part of its instructions could mean the opposite of the whole."""

# The names of the Agent Skills specification (agentskills.io/specification, "name field").
_NAME = re.compile("(?=.{1,64}$)[a-z0-9]+(?:-[a-z0-9]+)*")
_FOLDER_FILE = "SKILL"  # a file of this name has the name of its folder
_MAX_CACHED_COMMITS = 8

_DOCUMENTS = DocumentsByType(SKILL_TYPE)


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


class Skill(NamedTuple):
    """A skill that is offered; `description` is one line, and may be empty."""

    name: str
    path: str
    title: str
    description: str

    def read_text(self, snapshot: Snapshot) -> str:
        """Return the Markdown of the skill at a commit, without its front matter."""
        document = snapshot.document(self.path)
        return document.text(document.front_matter_end, len(document.data)).lstrip("\r\n")


class SkillProblem(NamedTuple):
    """A skill that is not offered, and the first reason."""

    path: str
    fault: SkillFault


class Skills(NamedTuple):
    """The skills of a commit in order of paths, and those that are not offered."""

    offered: tuple[Skill, ...]
    problems: tuple[SkillProblem, ...] = ()


class ServedSkills(NamedTuple):
    """The snapshot of the served branch's tip, and the skills that are offered from it."""

    snapshot: Snapshot
    offered: tuple[Skill, ...]


_cache: LRUCache[tuple[str, str | None, tuple[str, ...]], Skills] = LRUCache(_MAX_CACHED_COMMITS)


def read_served_skills(branch: Branch) -> ServedSkills | None:
    """Return the skills that a served branch offers; None if it offers none (`find_skill_source`).

    Raises the errors of `find_skill_source`.
    """
    snapshot = find_skill_source(branch)
    return None if snapshot is None else ServedSkills(snapshot, read_skills(snapshot).offered)


def find_skill_source(branch: Branch) -> Snapshot | None:
    """Return the tip of a served branch, whose skills are offered; None if it cannot offer skills.

    It cannot without the setting, on a detached HEAD, on the branch of a proposal, and without a repository.
    Raises InvalidConfig, and the errors of `Branch.tip`.
    """
    name = branch.branch
    if name is None or name.startswith(PROPOSAL_BRANCH_PREFIX):
        return None
    snapshot, tip = branch.snapshot(), branch.tip(name)
    if snapshot.commit != tip:  # another branch was checked out meanwhile
        snapshot = branch.snapshot(tip)
    return snapshot if snapshot.config.skills else None


def read_skills(snapshot: Snapshot) -> Skills:
    """Return the skills of a commit by its own rules, whatever its setting is. Raises InvalidConfig."""
    # A document whose object is missing is not among the paths, until it is restored.
    paths = _DOCUMENTS.list_paths(snapshot)
    key = (str(snapshot.git.common_dir), snapshot.commit, paths)
    return _cache.get(key, _read_skills, snapshot, paths) if paths else Skills(())


def _read_skills(snapshot: Snapshot, paths: Sequence[str]) -> Skills:
    faults = dict(_find_faults(snapshot, paths))
    skills = [_build_skill(snapshot.document(path)) for path in paths if path not in faults]
    paths_by_name: dict[str, list[str]] = {}
    for skill in skills:
        paths_by_name.setdefault(skill.name, []).append(skill.path)
    # None of several is offered: a new document must not replace the instructions of another one.
    for repeated_paths in paths_by_name.values():
        if len(repeated_paths) > 1:
            faults.update(dict.fromkeys(repeated_paths, SkillFault.REPEATED))
    skills = [skill for skill in skills if skill.path not in faults]
    faults.update((skill.path, SkillFault.EXCESS) for skill in skills[MAX_SKILLS:])
    problems = tuple(SkillProblem(path, faults[path]) for path in paths if path in faults)
    return Skills(tuple(skills[:MAX_SKILLS]), problems)


def _find_faults(snapshot: Snapshot, paths: Sequence[str]) -> Iterator[tuple[str, SkillFault]]:
    """Yield the paths of skills that cannot be offered, with the first reason of each."""
    types = {path: frozenset(_read_types(snapshot.document(path))) for path in paths}
    approved_paths = find_approved_paths(snapshot.config, [TouchedPath(path, types[path]) for path in paths])
    assert snapshot.commit is not None  # it has documents
    unapproved_paths = find_unapproved_texts(
        snapshot.git,
        snapshot.commit,
        [Text(path, snapshot.blob(path), types[path]) for path in paths if path in approved_paths],
    )
    for path in paths:
        document = snapshot.document(path)
        if SKILL_TYPE not in types[path]:
            yield path, SkillFault.MANIFEST
        elif path not in approved_paths:
            yield path, SkillFault.UNPROTECTED
        elif path in unapproved_paths:
            yield path, SkillFault.UNAPPROVED
        elif not is_skill_name(_read_name(path)):
            yield path, SkillFault.NAME
        elif len(document.data) > MAX_SKILL_BYTES:
            yield path, SkillFault.LARGE
        elif _has_hidden_text(document.data):
            yield path, SkillFault.HIDDEN
        elif not document.data[document.front_matter_end :].strip():
            yield path, SkillFault.EMPTY


def is_skill_name(name: str) -> bool:
    """Return True if a skill may have this name. No built-in prompt has such a name."""
    return _NAME.fullmatch(name) is not None


def _read_types(document: Document) -> tuple[str, ...]:
    """Return the types in the front matter: a reviewer of the document sees them."""
    return read_values("type", document.front_matter.get("type"))


def _read_name(path: str) -> str:
    """Return the name of a skill: its file's name without the suffix, or the folder of a `SKILL.md`."""
    folder, _, file_name = path.rpartition("/")
    suffix = next(suffix for suffix in DOCUMENT_SUFFIXES if file_name.endswith(suffix))
    stem = file_name.removesuffix(suffix)
    return folder.rpartition("/")[2] if stem == _FOLDER_FILE else stem


def _build_skill(document: Document) -> Skill:
    description = format_value(document.front_matter.get("description")) or read_description(document)
    line = shorten_text(" ".join(description.split()), MAX_DESCRIPTION_CHARACTERS)
    return Skill(_read_name(document.path), document.path, document.title, line)


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
