"""Checks of skills: those that the server offers, and those that it does not offer, with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from docyard.doctor.finding import Finding, Severity, format_count, format_list
from workspace.paths import escape_path

if TYPE_CHECKING:
    from workspace.workspace import Workspace

AREA = "repository"


def check_skills(workspace: Workspace) -> Iterator[Finding]:
    """Yield the offered skills, and the skills that are not offered, of a commit with valid settings."""
    if not workspace.snapshot().config.skills:
        return
    from workspace.skills import find_skill_source, read_skills
    from workspace.validation.skill_faults import SkillFault

    snapshot = find_skill_source(workspace)
    if snapshot is None:
        yield Finding(
            Severity.WARNING,
            AREA,
            "no skill is offered: HEAD is detached, or the branch is that of a proposal",
            "Serve another branch with `docyard serve --branch BRANCH`.",
        )
        return
    skills = read_skills(snapshot)
    for fault in SkillFault:
        paths = [problem.path for problem in skills.problems if problem.fault is fault]
        if paths:
            yield Finding(
                Severity.WARNING,
                AREA,
                f"{format_count(paths, 'skill is', 'skills are')} not offered, because {fault.reason}: "
                f"{format_list([escape_path(path) for path in paths])}",
                fault.fix,
            )
    offered_paths = [skill.path for skill in skills.offered]
    if offered_paths:
        yield Finding(
            Severity.NOTE,
            AREA,
            f"{format_count(offered_paths, 'skill is', 'skills are')} offered to models as instructions: "
            f"{format_list(offered_paths)}",
        )
