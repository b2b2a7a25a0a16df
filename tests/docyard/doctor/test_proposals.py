"""Findings of `docyard doctor` about proposals, tokens and the remote."""

from __future__ import annotations

from pathlib import Path

import pytest

from docyard.cli.main import main
from docyard.commands.doctor import check_all
from tests.docyard.conftest import Git
from workspace.policy.tokens import TOKENS_PATH, Tokens


def format_findings(folder: Path) -> str:
    """Return one line for each finding: severity, message and fix."""
    return "\n".join(
        " | ".join((finding.severity, finding.message, finding.fix)) for finding in check_all(folder, None)
    )


def test_unsafe_or_damaged_token_file_is_reported_with_fix(repo: Path) -> None:
    Tokens(repo / ".git").add("ana", "Ana", "ana@example.org")
    assert "tokens" not in format_findings(repo)
    (repo / ".git" / TOKENS_PATH).chmod(0o644)
    assert "error | the file of tokens is not used" in format_findings(repo)
    assert "chmod 600" in format_findings(repo)
    (repo / ".git" / TOKENS_PATH).chmod(0o600)
    (repo / ".git" / TOKENS_PATH).write_text("{")
    assert "error | the file of tokens is damaged" in format_findings(repo)


def test_expired_tokens_are_named(repo: Path) -> None:
    Tokens(repo / ".git").add("ana", "Ana", "ana@example.org", expires_at=1_000_000_000)
    findings = format_findings(repo)
    assert "note | 1 token has expired: ana | docyard tokens rotate ana --expires 90d" in findings


def test_unreadable_events_and_branches_without_events_are_reported(
    repo: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["proposals", "create", "Say more", "-d", "Why not.", "-C", str(repo)]) == 0
    assert "proposal" not in format_findings(repo)
    git("branch", "proposals/k7m2q9xa-unsaid")
    assert (
        "1 branch has the name of a proposal's branch, but no events in the discussion: proposals/k7m2q9xa"
        in (format_findings(repo))
    )
    assert "docyard sync fetches the events; " in format_findings(repo)
    assert "git branch -D proposals/k7m2q9xa-unsaid" in format_findings(repo)
    git("branch", "-D", "proposals/k7m2q9xa-unsaid")
    git("switch", "-q", "docyard/discussion")
    event = next(path for path in repo.rglob("*") if path.is_file() and ".git" not in path.parts)
    (event.parent / "0000.json").write_text("no event")
    git("add", ".")
    git("commit", "-q", "-m", "Odd")
    git("switch", "-q", "main")
    assert "warning | events of 1 proposal cannot be read, and are ignored: " in format_findings(repo)


def test_unsynchronised_branch_is_reported_with_reason(repo: Path, git: Git, tmp_path: Path) -> None:
    (repo / "docyard.toml").write_text('[remote]\nname = "origin"\n')
    git("add", ".")
    git("commit", "-q", "-m", "Settings")
    assert "error | docyard.toml enables synchronisation with a remote, but " in format_findings(repo)
    git("clone", "-q", "--bare", str(repo), str(tmp_path / "origin.git"))
    git("remote", "add", "origin", str(tmp_path / "origin.git"))
    git("fetch", "-q", "origin")
    assert "remote" not in format_findings(repo)
    git("commit", "-q", "--allow-empty", "-m", "One")
    assert "note | 1 commit has not been pushed to 'origin' since " in format_findings(repo)
    diverged_commit = git("commit-tree", "HEAD~^{tree}", "-p", "HEAD~", "-m", "Theirs").strip()
    git("update-ref", "refs/remotes/origin/main", diverged_commit)
    assert (
        "warning | the local branch and the branch of 'origin' have diverged | docyard sync merges them"
        in format_findings(repo)
    )


@pytest.mark.parametrize("is_removed", [False, True])
def test_remote_that_is_a_bundle_is_reported_with_the_commands_that_replace_it(
    repo: Path, git: Git, tmp_path: Path, is_removed: bool
) -> None:
    bundle = tmp_path / "team.bundle"
    git("bundle", "create", "-q", str(bundle), "--all")
    git("remote", "add", "origin", str(bundle))
    git("remote", "add", "other", str(tmp_path))
    git("remote", "add", "far", "https://docs.example.org/team.bundle.git")
    if is_removed:
        bundle.unlink()
    findings = [line for line in format_findings(repo).splitlines() if "bundle" in line]
    assert findings == [
        "warning | the remote 'origin' is a bundle, as after a restore of a backup | "
        "git config --remove-section remote.origin, then git remote add origin URL"
    ]
