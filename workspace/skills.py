"""Skills: documents of type `skill`, whose text a server offers as instructions for a model.

A skill is offered only with `skills = true` in `docyard.toml`, only at the tip of the served branch, and only
if a rule of this tip requires the approval of its changes. Its text must not have been written through
Docyard before such a rule. Each rule also governs `docyard.toml`, so neither the setting nor the rules can
change without an approval.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.document.walkthrough import MAX_DESCRIPTION_CHARACTERS, read_description, shorten_text
from workspace.frontmatter.reader import format_value
from workspace.lru_cache import LRUCache
from workspace.policy.unapproved_text import Text, find_unapproved_texts
from workspace.proposal_ids import PROPOSAL_BRANCH_PREFIX
from workspace.snapshot.documents_by_type import DocumentsByType
from workspace.snapshot.type_names import SKILL_TYPE
from workspace.validation.skill_faults import (
    MAX_SKILLS,
    SkillFault,
    find_skill_fault,
    read_skill_name,
    read_types,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workspace.branch import Branch
    from workspace.document.document import Document
    from workspace.snapshot.snapshot import Snapshot

_MAX_CACHED_COMMITS = 8

_DOCUMENTS = DocumentsByType(SKILL_TYPE)


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
    config = snapshot.config
    texts: list[Text] = []
    for path in paths:
        document = snapshot.document(path)
        types = read_types(document)
        if SKILL_TYPE not in types:
            yield path, SkillFault.MANIFEST
        elif fault := find_skill_fault(document, config):
            yield path, fault
        else:
            texts.append(Text(path, snapshot.blob(path), types))
    assert snapshot.commit is not None  # it has documents
    for path in find_unapproved_texts(snapshot.git, snapshot.commit, texts):
        yield path, SkillFault.UNAPPROVED


def _build_skill(document: Document) -> Skill:
    description = format_value(document.front_matter.get("description")) or read_description(document)
    line = shorten_text(" ".join(description.split()), MAX_DESCRIPTION_CHARACTERS)
    return Skill(read_skill_name(document.path), document.path, document.title, line)
