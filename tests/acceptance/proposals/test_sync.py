"""`docyard sync` as a process, and its output."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import preloaded, repositories
from tests.acceptance.clients import start_slow_lock_server, until
from tests.repositories import Repo
from tests.stdio_client import call_line, line_of


@pytest.fixture
def there(tmp_path: Path) -> Repo:
    """Return a bare repository."""
    return repositories.bare(tmp_path / "docs.git")


@pytest.fixture
def here(there: Repo, tmp_path: Path) -> Repo:
    """Return a clone of the bare repository."""
    return repositories.cloned(there, tmp_path / "here")


def docyard(repo: Repo, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("DOCYARD_") and not name.endswith("_TOKEN")
    }
    env |= {"HOME": str(repo.path.parent), "GIT_CONFIG_NOSYSTEM": "1"} | variables
    return subprocess.run(
        [*preloaded.python_command(), "-m", "docyard", "sync", *arguments],
        cwd=repo.path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


def run_json(repo: Repo, *arguments: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(docyard(repo, "--json", *arguments).stdout)
    return data


def test_sync_transfers_commits_between_clones(here: Repo, there: Repo, tmp_path: Path) -> None:
    there.git("clone", "-q", str(there.path), str(tmp_path / "other"))
    ours = here.commit({"a.md": "# A\n"})
    pushed = docyard(here)
    assert pushed.returncode == 0
    assert "Pushed 1 commit to origin, a folder." in pushed.stdout
    assert f"main is up to date with origin at {ours[:12]}." in pushed.stdout

    other = Repo(tmp_path / "other")
    found = run_json(other)
    assert (found["state"], found["commit"], found["remote_commit"]) == ("level", ours, ours)
    assert (found["followed"], found["pushed"], found["unpushed"]) == (True, 0, None)
    assert (other.path / "a.md").read_text() == "# A\n"
    assert other.status() == ""


def test_fetch_only_reports_unpushed_commits(here: Repo) -> None:
    here.commit({"a.md": "# A\n"})
    done = docyard(here, "--fetch")
    assert done.returncode == 0
    assert done.stdout.startswith("1 commit not pushed to origin, since ")
    found = run_json(here, "--fetch")
    assert (found["state"], found["unpushed"]["commits"], found["unpushed"]["more"]) == ("ahead", 1, False)


@pytest.fixture
def conflicting(here: Repo, there: Repo, tmp_path: Path) -> Repo:
    """Return a clone whose commit conflicts with one of the remote, and changes another file."""
    there.git("clone", "-q", str(there.path), str(tmp_path / "other"))
    other = Repo(tmp_path / "other")
    other.git("config", "user.name", "Bo")
    other.git("config", "user.email", "bo@example.org")
    other.commit({"README.md": "# Example\n\nTheirs.\n", "b.md": "# B\n"})
    other.git("push", "-q")
    here.commit({"README.md": "# Example\n\nOurs.\n", "a.md": "# A\n"})
    return here


def test_conflict_error_contains_commands(conflicting: Repo) -> None:
    ours = conflicting.head()
    done = docyard(conflicting)
    assert done.returncode == 1
    assert "main has diverged" in done.stdout
    assert "text:README.md#_preamble" in done.stdout
    assert "docyard sync --ours README.md" in done.stdout
    assert conflicting.head() == ours
    typo = docyard(conflicting, "--ours", "READM.md")
    assert typo.returncode == 2
    assert "README.md" in typo.stderr
    assert conflicting.head() == ours


def test_conflicts_are_resolved_for_one_side(conflicting: Repo, there: Repo) -> None:
    ours, theirs = conflicting.head(), there.git("rev-parse", "main").strip()
    done = docyard(conflicting, "--theirs", "README.md")
    assert done.returncode == 0, done.stderr
    assert "main was merged with the branch on origin" in done.stdout
    assert conflicting.git("log", "-1", "--format=%P %s").strip() == f"{ours} {theirs} Merge 'main' of origin"
    assert (conflicting.path / "README.md").read_text() == "# Example\n\nTheirs.\n"
    assert (conflicting.status(), there.git("rev-parse", "main").strip()) == ("", conflicting.head())


def test_conflicts_are_resolved_by_file(conflicting: Repo, tmp_path: Path) -> None:
    data = run_json(conflicting)
    (conflict,) = data["conflicts"]
    assert conflict["file"] == "README.md"
    assert (conflict["ours"].strip(), conflict["theirs"].strip()) == ("Ours.", "Theirs.")
    conflict |= {"choice": "content", "content": conflict["ours"].replace("Ours", "Both")}
    file = tmp_path / "decided.json"
    file.write_text(json.dumps(data))
    found = run_json(conflicting, "--resolve", str(file))
    assert (found["state"], found["merged"], found["conflicts"]) == ("level", conflicting.head(), [])
    assert (conflicting.path / "README.md").read_text() == "# Example\n\nBoth.\n"


def test_new_content_in_resolution_is_checked_by_policy(here: Repo, there: Repo, tmp_path: Path) -> None:
    here.commit({"docyard.toml": '[[protect]]\npaths = ["README.md"]\n'})
    docyard(here)
    there.git("clone", "-q", str(there.path), str(tmp_path / "other"))
    other = Repo(tmp_path / "other")
    other.git("config", "user.name", "Bo")
    other.git("config", "user.email", "bo@example.org")
    other.commit({"README.md": "# Example\n\nTheirs.\n"})
    other.git("push", "-q")
    ours = here.commit({"README.md": "# Example\n\nOurs.\n"})
    data = run_json(here)
    data["conflicts"][0] |= {"choice": "content", "content": "Nobody has seen this.\n"}
    file = tmp_path / "decided.json"
    file.write_text(json.dumps(data))
    refused = docyard(here, "--resolve", str(file))
    assert refused.returncode == 3
    assert "only by a proposal" in refused.stderr
    assert here.head() == ours
    assert docyard(here, "--theirs", "README.md").returncode == 0


def test_errors_contain_commands(here: Repo, tmp_path: Path) -> None:
    for arguments, message, fix in (
        (("--remote", "orign"), "no remote 'orign'", "Did you mean 'origin'?"),
        (("--branch", "mian"), "no branch 'mian'", "Did you mean 'main'?"),
    ):
        done = docyard(here, *arguments)
        assert done.returncode == 3
        assert message in done.stderr
        assert fix in done.stderr
    here.git("remote", "set-url", "origin", str(tmp_path / "missing.git"))
    failed = docyard(here)
    assert failed.returncode == 3
    assert "origin" in failed.stderr
    assert str(tmp_path) not in failed.stderr
    here.git("remote", "remove", "origin")
    assert "git remote add" in docyard(here).stderr
    here.git("remote", "add", "x", "ext::sh -c 'touch pwned'")
    helper = docyard(here)
    assert "no" in helper.stderr
    assert "helper program" in helper.stderr
    assert not (here.path / "pwned").exists()


def test_credential_file_readable_by_others_is_refused(here: Repo, tmp_path: Path) -> None:
    here.git("remote", "set-url", "origin", "https://localhost:1/x")
    file = tmp_path / "secrets"
    file.write_text("https://ada:topsecret@localhost:1\n")
    file.chmod(0o644)
    done = docyard(here, DOCYARD_CREDENTIALS=str(file))
    assert done.returncode == 3
    assert "others can read or write it" in done.stderr
    assert "topsecret" not in done.stderr


def push_from_other_clone(there: Repo, folder: Path, files: dict[str, str]) -> str:
    """Push a commit from another clone."""
    there.git("clone", "-q", str(there.path), str(folder))
    other = Repo(folder)
    other.git("config", "user.name", "Bo")
    other.git("config", "user.email", "bo@example.org")
    commit = other.commit(files)
    other.git("push", "-q")
    return commit


def test_server_fetches_and_notifies_subscribers(here: Repo, there: Repo, tmp_path: Path) -> None:
    here.commit({"docyard.toml": '[remote]\nevery = "1h"\npush = "commit"\n'})
    here.git("push", "-q")
    wire = start_slow_lock_server(here.path, tmp_path / "home")
    document = "doc:///README.md"
    wire.write(line_of({"id": 1, "method": "resources/subscribe", "params": {"uri": document}}))
    assert wire.receive() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    theirs = push_from_other_clone(there, tmp_path / "other", {"README.md": "# Example\n\nA heron.\n"})
    new = {"doc_type": "document", "title": "Ours", "initial_content": "A."}
    wire.write(call_line(2, "create_document", new))
    while (message := wire.receive()).get("method") != "notifications/resources/updated":
        pass
    assert message["params"] == {"uri": document}
    until(lambda: there.git("rev-parse", "main").strip() == here.head() != theirs, "the push")
    here.git("merge-base", "--is-ancestor", theirs, "main")
    assert (here.path / "README.md").read_text() == "# Example\n\nA heron.\n"
    assert "README.md" in str(wire.call(3, "search_docs", {"query": "heron"}))
    wire.close_input()
    assert wire.wait_for_exit() == (0, "")


def test_server_with_no_sync_does_not_fetch(here: Repo, there: Repo, tmp_path: Path) -> None:
    before = there.git("rev-parse", "main").strip()
    here.commit({"docyard.toml": '[remote]\nevery = 5\npush = "commit"\n'})
    wire = start_slow_lock_server(here.path, tmp_path / "home", "--no-sync")
    status = wire.call(1, "list_documents", {})["result"]["structuredContent"]
    assert status["unpushed"]["commits"] == 1
    wire.close_input()
    assert wire.wait_for_exit() == (0, "")
    assert there.git("rev-parse", "main").strip() == before
