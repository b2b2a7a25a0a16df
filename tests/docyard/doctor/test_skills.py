"""`docyard doctor` reports the skills that are not offered, each with the reason and a fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from docyard.doctor.skills import check_skills
from tests.repositories import create_repository
from workspace.workspace import Workspace

SKILL = "---\ntype: skill\n---\n\n# Deploy\n\nRun it.\n"


def format_findings(folder: Path, branch: str | None = None) -> list[str]:
    workspace = Workspace.open(folder, branch=branch)
    return [f"{item.severity}: {item.message}. {item.fix}".strip() for item in check_skills(workspace)]


def test_skills_are_reported_by_reason(tmp_path: Path) -> None:
    repo = create_repository(
        tmp_path,
        {
            "docyard.toml": 'skills = true\n[[protect]]\npaths = ["skills"]\n',
            "notes/one.md": SKILL,
            "notes/two.md": SKILL,
            "skills/a/same.md": SKILL,
            "skills/b/same.md": SKILL,
            "skills/deploy.md": SKILL,
        },
    )
    assert format_findings(repo.path) == [
        "warning: 2 skills are not offered, because no [[protect]] rule requires an approval of changes: "
        'notes/one.md, notes/two.md. Add a [[protect]] table with types = ["skill"] and approvals = 1 to '
        "docyard.toml.",
        "warning: 2 skills are not offered, because another skill has the same name: skills/a/same.md, "
        "skills/b/same.md. Rename all but one of them.",
        "note: 1 skill is offered to models as instructions: skills/deploy.md.",
    ]
    repo.git("branch", "proposals/k7m2q9xa-skill")
    [finding] = format_findings(repo.path, "proposals/k7m2q9xa-skill")
    assert finding.startswith("warning: no skill is offered: HEAD is detached, or the branch")


@pytest.mark.parametrize("settings", ["", "[[protect]]\n", "skills = true\n"])
def test_workspace_without_setting_or_skills_has_no_finding(tmp_path: Path, settings: str) -> None:
    files = {"docyard.toml": settings, "a.md": "# A\n" if "skills" in settings else SKILL}
    assert format_findings(create_repository(tmp_path, files).path) == []
