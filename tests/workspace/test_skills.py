"""Skills are offered only from a tip whose rules require an approval of their changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.loops import loop_over
from tests.repositories import Repo, create_empty_repository, create_repository
from workspace.skills import (
    Skill,
    read_served_skills,
    read_skills,
)
from workspace.validation.skill_faults import MAX_SKILL_BYTES, MAX_SKILLS, SkillFault
from workspace.workspace import Workspace

TYPE_RULE = '[[protect]]\ntypes = ["skill"]\n'
SETTINGS = "skills = true\n" + TYPE_RULE


def format_skill(title: str = "Deploy", body: str = "Run it.\n", front_matter: str = "type: skill") -> str:
    return f"---\n{front_matter}\n---\n\n# {title}\n\n{body}"


def list_names(repo: Repo, branch: str | None = None) -> list[str] | None:
    skills = read_served_skills(Workspace.open(repo.path, branch=branch))
    return None if skills is None else [skill.name for skill in skills.offered]


def list_faults(repo: Repo) -> dict[str, SkillFault]:
    return dict(read_skills(Workspace.open(repo.path).snapshot()).problems)


def test_skill_has_name_title_description_and_text(tmp_path: Path) -> None:
    repo = create_repository(
        tmp_path,
        {
            "docyard.toml": SETTINGS,
            "skills/deploy.md": format_skill(front_matter="type: skill\ndescription: Deploys\n  a service."),
            "skills/roll-back/SKILL.md": format_skill("Roll back", "The *first* paragraph.\n\nMore.\n"),
            "skills/several.markdown": format_skill("Several", front_matter="type: [runbook, skill]"),
            "runbook.md": format_skill(front_matter="type: runbook"),
        },
    )
    skills = read_served_skills(Workspace.open(repo.path))
    assert skills is not None
    assert skills.offered == (
        Skill("deploy", "skills/deploy.md", "Deploy", "Deploys a service."),
        Skill("roll-back", "skills/roll-back/SKILL.md", "Roll back", "The first paragraph."),
        Skill("several", "skills/several.markdown", "Several", "Run it."),
    )
    assert skills.offered[0].read_text(skills.snapshot).strip() == "# Deploy\n\nRun it."
    assert list_faults(repo) == {}


@loop_over(
    ("settings", "expected"),
    [
        (None, None),
        (TYPE_RULE, None),
        ("skills = false\n" + TYPE_RULE, None),
        ("skills = true\n", []),
        (SETTINGS, ["deploy"]),
        ("skills = true\n[[protect]]\n", ["deploy"]),
        ('skills = true\n[[protect]]\npaths = ["skills"]\n', ["deploy"]),
        ('skills = true\n[[protect]]\npaths = ["SKILLS/*.md"]\n', ["deploy"]),
        ('skills = true\n[[protect]]\npaths = ["specs"]\n', []),
        ('skills = true\n[[protect]]\npaths = ["skills"]\ntypes = ["runbook"]\n', []),
        ('skills = true\n[[protect]]\ntypes = ["skill"]\napprovals = 0\nmerge = ["ana"]\n', []),
        ('skills = true\n[[protect]]\napprovals = 0\n[[protect]]\npaths = ["skills"]\n', ["deploy"]),
        ('skills = true\nexclude = ["skills"]\n[[protect]]\n', []),
    ],
)
def test_skill_is_offered_only_with_setting_and_required_approval(
    tmp_path: Path, settings: str | None, expected: list[str] | None
) -> None:
    files = {"skills/deploy.md": format_skill()} | ({"docyard.toml": settings} if settings else {})
    repo = create_repository(tmp_path / str(abs(hash(settings))), files)
    assert list_names(repo) == expected


def test_every_rule_that_permits_a_skill_governs_the_settings(tmp_path: Path) -> None:
    from workspace.policy.protection import Protected, check_direct_write

    repo = create_repository(tmp_path, {"docyard.toml": SETTINGS, "deploy.md": format_skill()})
    snapshot = Workspace.open(repo.path).snapshot()
    for path, data in (
        ("docyard.toml", b"skills = true\n"),
        ("docyard.toml", None),
        (".taxonomy.toml", b'[metadata]\ntype = "skill"\n'),
        ("deploy.md", b"# No skill\n"),
        ("deploy.md", None),
        ("new.md", format_skill().encode()),
    ):
        with pytest.raises(Protected):
            check_direct_write(snapshot, {path: data})


def test_skill_that_cannot_be_offered_has_a_reason(tmp_path: Path) -> None:
    hidden = "Run it.\u202e\n"
    repo = create_repository(
        tmp_path,
        {
            "docyard.toml": SETTINGS,
            "a/twice.md": format_skill(),
            "b/twice.md": format_skill(),
            "Bad Name.md": format_skill(),
            "under_score.md": format_skill(),
            "SKILL.md": format_skill(),
            "-hyphen.md": format_skill(),
            "two--hyphens.md": format_skill(),
            "x" * 65 + ".md": format_skill(),
            "large.md": format_skill(body="x" * MAX_SKILL_BYTES),
            "hidden.md": format_skill(body=hidden),
            "tag.md": format_skill(body="Run it.\U000e0041\n"),
            "nul.md": format_skill(body="Run\0it.\n"),
            "latin.md": format_skill(body="Café.\n").encode("latin-1"),
            "empty.md": "---\ntype: skill\n---\n\n",
            "manifest/.taxonomy.toml": '[metadata]\ntype = "skill"\n',
            "manifest/plain.md": "# Plain\n",
            "good.md": format_skill(body="Ready \U0001f469\u200d\U0001f680.\n"),
        },
    )
    assert list_names(repo) == ["good"]
    assert list_faults(repo) == {
        "a/twice.md": SkillFault.REPEATED,
        "b/twice.md": SkillFault.REPEATED,
        "large.md": SkillFault.LARGE,
        "empty.md": SkillFault.EMPTY,
        "manifest/plain.md": SkillFault.MANIFEST,
        **dict.fromkeys(("hidden.md", "tag.md", "nul.md", "latin.md"), SkillFault.HIDDEN),
        **dict.fromkeys(
            (
                "Bad Name.md",
                "under_score.md",
                "SKILL.md",
                "-hyphen.md",
                "two--hyphens.md",
                "x" * 65 + ".md",
            ),
            SkillFault.NAME,
        ),
    }


def test_unprotected_skill_does_not_hide_protected_skill_of_its_name(tmp_path: Path) -> None:
    repo = create_repository(
        tmp_path,
        {
            "docyard.toml": 'skills = true\n[[protect]]\npaths = ["skills"]\n',
            "notes/deploy.md": format_skill("Forged"),
            "skills/deploy.md": format_skill("Reviewed"),
        },
    )
    skills = read_served_skills(Workspace.open(repo.path))
    assert skills is not None
    assert [skill.title for skill in skills.offered] == ["Reviewed"]
    assert list_faults(repo) == {"notes/deploy.md": SkillFault.UNPROTECTED}


def test_number_of_skills_is_limited(tmp_path: Path) -> None:
    files = {f"skill-{number:04}.md": format_skill() for number in range(MAX_SKILLS + 3)}
    repo = create_repository(tmp_path, {"docyard.toml": SETTINGS, **files})
    assert list_names(repo) == [path.removesuffix(".md") for path in sorted(files)[:MAX_SKILLS]]
    assert list_faults(repo) == dict.fromkeys(sorted(files)[MAX_SKILLS:], SkillFault.EXCESS)


def test_malformed_front_matter_and_other_files_are_no_skills(tmp_path: Path) -> None:
    repo = create_repository(
        tmp_path,
        {
            "docyard.toml": SETTINGS,
            "open.md": "---\ntype: skill\n\n# Open\n",
            "broken.md": "---\ntype: skill\ntags: [\n---\n\n# Broken\n",
            "nested.md": "---\ntype: {skill: skill}\n---\n\n# Nested\n",
            "capital.md": format_skill(front_matter="type: Skill"),
            "file.txt": format_skill(),
            ".hidden/file.md": format_skill(),
        },
    )
    (repo.path / "link.md").symlink_to("file.txt")
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "A symbolic link")
    assert list_names(repo) == []
    assert list_faults(repo) == {}


@pytest.mark.parametrize("is_bare", [False, True], ids=["work tree", "bare"])
def test_only_the_tip_of_the_served_branch_counts(tmp_path: Path, is_bare: bool) -> None:
    repo = create_repository(tmp_path / "repo", {"docyard.toml": SETTINGS, "one.md": format_skill()})
    repo.git("branch", "other")
    repo.git("branch", "proposals/k7m2q9xa-skill")
    repo.commit({"two.md": format_skill(), "one.md": "# No skill\n"})
    if is_bare:
        repo.git("clone", "-q", "--mirror", ".", str(tmp_path / "bare.git"))
        repo = Repo(tmp_path / "bare.git")
    else:
        repo.write({"three.md": format_skill(), "docyard.toml": ""})
        repo.git("add", "three.md")
    assert list_names(repo) == ["two"]
    assert list_names(repo, "other") == ["one"]
    assert list_names(repo, "proposals/k7m2q9xa-skill") is None


def test_detached_head_offers_no_skills(tmp_path: Path) -> None:
    repo = create_repository(tmp_path, {"docyard.toml": SETTINGS, "one.md": format_skill()})
    repo.git("checkout", "-q", "--detach")
    assert list_names(repo) is None
    repo.git("checkout", "-q", "-b", "proposals/k7m2q9xa-skill")
    assert list_names(repo) is None


def test_repository_without_commit_offers_no_skills(tmp_path: Path) -> None:
    assert list_names(create_empty_repository(tmp_path)) is None


def test_removed_rule_removes_the_skills(tmp_path: Path) -> None:
    repo = create_repository(tmp_path, {"docyard.toml": SETTINGS, "one.md": format_skill()})
    workspace = Workspace.open(repo.path)
    first_skills = read_served_skills(workspace)
    assert first_skills is not None
    assert len(first_skills.offered) == 1
    repo.commit({"docyard.toml": "skills = true\n"})
    skills = read_served_skills(workspace)
    assert skills is not None
    assert skills.offered == ()
