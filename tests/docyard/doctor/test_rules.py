"""Findings of `docyard doctor` about the rules of docyard.toml and about CODEOWNERS."""

from __future__ import annotations

from pathlib import Path

import pytest

from docyard.commands.doctor import check_all
from tests.docyard.conftest import Git
from workspace.policy.tokens import Tokens


def list_rule_findings(folder: Path) -> list[str]:
    """Return the severity and the message of each finding about a rule."""
    findings = check_all(folder, None)
    return [f"{finding.severity} | {finding.message}" for finding in findings if "rule " in finding.message]


def commit_rules(folder: Path, git: Git, text: str) -> None:
    """Commit a docyard.toml with these rules."""
    (folder / "docyard.toml").write_text(text)
    git("add", ".")
    git("commit", "-q", "-m", "Rules")


@pytest.mark.parametrize(
    ("rule", "finding"),
    [
        ('paths = ["spec/**"]', "warning | rule 1 of docyard.toml matches no document (spec/**)"),
        ('types = ["api_spec"]', "warning | rule 1 of docyard.toml matches no document (type api_spec)"),
        (
            'paths = ["guide.md"]\ntypes = ["api_spec"]',
            "warning | rule 1 of docyard.toml matches no document (type api_spec)",
        ),
        (
            'paths = ["*.md", "spec/**"]',
            "note | some paths of rule 1 of docyard.toml match no document (spec/**)",
        ),
        ('approvers = ["anna"]', "note | rule 1 of docyard.toml: no token of anna is known here"),
        ('merge = ["anna", "ana"]', "note | rule 1 of docyard.toml: no token of anna is known here"),
    ],
)
def test_rule_without_documents_or_token_is_reported(repo: Path, git: Git, rule: str, finding: str) -> None:
    Tokens(repo / ".git").add("ana", "Ana", "ana@example.org")
    commit_rules(repo, git, f"[[protect]]\n{rule}\n")
    assert list_rule_findings(repo) == [finding]


@pytest.mark.parametrize(
    "rule",
    ["", 'paths = ["GUIDE.md"]', 'types = ["runbook"]', 'approvers = ["ana"]', 'paths = ["docyard.toml"]'],
)
def test_rule_with_documents_and_tokens_is_not_reported(repo: Path, git: Git, rule: str) -> None:
    Tokens(repo / ".git").add("ana", "Ana", "ana@example.org")
    commit_rules(repo, git, f"[[protect]]\n{rule}\n")
    assert list_rule_findings(repo) == []


def test_fix_names_command_for_token_of_other_copy(repo: Path, git: Git) -> None:
    commit_rules(repo, git, '[[protect]]\napprovers = ["anna"]\n')
    fixes = [finding.fix for finding in check_all(repo, None) if "rule 1" in finding.message]
    assert len(fixes) == 1
    assert "docyard tokens add anna" in fixes[0]
    assert "docyard tokens trust anna" in fixes[0]


def test_clone_without_tokens_has_one_note_for_its_member(repo: Path, git: Git, tmp_path: Path) -> None:
    (repo / "CODEOWNERS").write_text("* @anna\n")
    commit_rules(repo, git, '[[protect]]\napprovers = ["anna"]\n[[protect]]\nmerge = ["ben"]\n')
    clone = tmp_path / "clone"
    git("clone", "-q", str(repo), str(clone))

    def list_token_notes() -> list[str]:
        return [finding.message for finding in check_all(clone, None) if "token" in finding.message]

    [note] = list_token_notes()
    assert note.startswith("there are no tokens of people here, as in a member's clone")
    Tokens(clone / ".git").add("ana", "Ana", "ana@example.org")
    assert list_token_notes() == [
        "rule 1 of docyard.toml: no token of anna is known here",
        "rule 2 of docyard.toml: no token of ben is known here",
        "CODEOWNERS: no token of @anna is known here",
    ]
    Tokens(clone / ".git").revoke("ana")
    commit_rules(clone, lambda *arguments: git(*arguments, cwd=clone), "")
    assert list_token_notes() == []


def test_code_owners_without_token_are_reported(repo: Path, git: Git) -> None:
    Tokens(repo / ".git").add("ana", "Ana", "ana@example.org")
    (repo / "CODEOWNERS").write_text("* @ana ana@example.org @anna\nguide.md @org/team x@example.org\n")
    git("add", ".")
    git("commit", "-q", "-m", "Owners")
    findings = [finding for finding in check_all(repo, None) if "CODEOWNERS" in finding.message]
    assert [(finding.severity, finding.message) for finding in findings] == [
        ("note", "CODEOWNERS: no token of @anna, @org/team, x@example.org is known here")
    ]
