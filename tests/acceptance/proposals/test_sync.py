"""`docyard sync` as a process, and its output."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import preloaded, repositories
from tests.acceptance.clients import start_slow_lock_server, wait_until
from tests.repositories import Repo
from tests.stdio_client import encode_call, encode_line


@pytest.fixture
def remote(tmp_path: Path) -> Repo:
    """Return a bare repository."""
    return repositories.create_bare_repository(tmp_path / "docs.git")


@pytest.fixture
def clone(remote: Repo, tmp_path: Path) -> Repo:
    """Return a clone of the bare repository."""
    return repositories.clone_repository(remote, tmp_path / "clone")


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


def test_sync_transfers_commits_between_clones(clone: Repo, remote: Repo, tmp_path: Path) -> None:
    remote.git("clone", "-q", str(remote.path), str(tmp_path / "other"))
    ours = clone.commit({"a.md": "# A\n"})
    pushed = docyard(clone)
    assert pushed.returncode == 0
    assert "Pushed 1 commit to origin, a folder." in pushed.stdout
    assert f"main is up to date with origin at {ours[:12]}." in pushed.stdout

    other = Repo(tmp_path / "other")
    data = run_json(other)
    assert (data["state"], data["commit"], data["remote_commit"]) == ("level", ours, ours)
    assert (data["followed"], data["pushed"], data["unpushed"]) == (True, 0, None)
    assert (other.path / "a.md").read_text() == "# A\n"
    assert other.status() == ""


def test_fetch_only_reports_unpushed_commits(clone: Repo) -> None:
    clone.commit({"a.md": "# A\n"})
    completed = docyard(clone, "--fetch")
    assert completed.returncode == 0
    assert completed.stdout.startswith("1 commit not pushed to origin, since ")
    data = run_json(clone, "--fetch")
    assert (data["state"], data["unpushed"]["commits"], data["unpushed"]["more"]) == ("ahead", 1, False)


@pytest.fixture
def conflicting(clone: Repo, remote: Repo, tmp_path: Path) -> Repo:
    """Return a clone whose commit conflicts with a commit of the remote, and changes another file."""
    remote.git("clone", "-q", str(remote.path), str(tmp_path / "other"))
    other = Repo(tmp_path / "other")
    other.git("config", "user.name", "Bo")
    other.git("config", "user.email", "bo@example.org")
    other.commit({"README.md": "# Example\n\nTheirs.\n", "b.md": "# B\n"})
    other.git("push", "-q")
    clone.commit({"README.md": "# Example\n\nOurs.\n", "a.md": "# A\n"})
    return clone


def test_conflict_error_contains_commands(conflicting: Repo) -> None:
    ours = conflicting.head()
    completed = docyard(conflicting)
    assert completed.returncode == 1
    assert "main has diverged" in completed.stdout
    assert "text:README.md#_preamble" in completed.stdout
    assert "docyard sync --ours README.md" in completed.stdout
    assert conflicting.head() == ours
    typo = docyard(conflicting, "--ours", "READM.md")
    assert typo.returncode == 2
    assert "README.md" in typo.stderr
    assert conflicting.head() == ours


def test_conflicts_are_resolved_for_one_side(conflicting: Repo, remote: Repo) -> None:
    ours, theirs = conflicting.head(), remote.git("rev-parse", "main").strip()
    completed = docyard(conflicting, "--theirs", "README.md")
    assert completed.returncode == 0, completed.stderr
    assert "main was merged with the branch on origin" in completed.stdout
    assert conflicting.git("log", "-1", "--format=%P %s").strip() == f"{ours} {theirs} Merge 'main' of origin"
    assert (conflicting.path / "README.md").read_text() == "# Example\n\nTheirs.\n"
    assert (conflicting.status(), remote.git("rev-parse", "main").strip()) == ("", conflicting.head())


def test_conflicts_are_resolved_by_file(conflicting: Repo, tmp_path: Path) -> None:
    data = run_json(conflicting)
    (conflict,) = data["conflicts"]
    assert conflict["file"] == "README.md"
    assert (conflict["ours"].strip(), conflict["theirs"].strip()) == ("Ours.", "Theirs.")
    conflict |= {"choice": "content", "content": conflict["ours"].replace("Ours", "Both")}
    file = tmp_path / "decisions.json"
    file.write_text(json.dumps(data))
    data = run_json(conflicting, "--resolve", str(file))
    assert (data["state"], data["merged"], data["conflicts"]) == ("level", conflicting.head(), [])
    assert (conflicting.path / "README.md").read_text() == "# Example\n\nBoth.\n"


def test_new_content_in_resolution_is_checked_by_policy(clone: Repo, remote: Repo, tmp_path: Path) -> None:
    clone.commit({"docyard.toml": '[[protect]]\npaths = ["README.md"]\n'})
    docyard(clone)
    remote.git("clone", "-q", str(remote.path), str(tmp_path / "other"))
    other = Repo(tmp_path / "other")
    other.git("config", "user.name", "Bo")
    other.git("config", "user.email", "bo@example.org")
    other.commit({"README.md": "# Example\n\nTheirs.\n"})
    other.git("push", "-q")
    ours = clone.commit({"README.md": "# Example\n\nOurs.\n"})
    data = run_json(clone)
    data["conflicts"][0] |= {"choice": "content", "content": "An unreviewed text.\n"}
    file = tmp_path / "decisions.json"
    file.write_text(json.dumps(data))
    refused = docyard(clone, "--resolve", str(file))
    assert refused.returncode == 3
    assert "only by a proposal" in refused.stderr
    assert clone.head() == ours
    assert docyard(clone, "--theirs", "README.md").returncode == 0


def test_errors_contain_commands(clone: Repo, tmp_path: Path) -> None:
    for arguments, message, fix in (
        (("--remote", "orign"), "no remote 'orign'", "Did you mean 'origin'?"),
        (("--branch", "mian"), "no branch 'mian'", "Did you mean 'main'?"),
    ):
        completed = docyard(clone, *arguments)
        assert completed.returncode == 3
        assert message in completed.stderr
        assert fix in completed.stderr
    clone.git("remote", "set-url", "origin", str(tmp_path / "missing.git"))
    failed = docyard(clone)
    assert failed.returncode == 3
    assert "origin" in failed.stderr
    assert str(tmp_path) not in failed.stderr
    clone.git("remote", "remove", "origin")
    assert "git remote add" in docyard(clone).stderr
    clone.git("remote", "add", "x", "ext::sh -c 'touch pwned'")
    helper = docyard(clone)
    assert "no" in helper.stderr
    assert "helper program" in helper.stderr
    assert not (clone.path / "pwned").exists()


def test_credential_file_readable_by_others_is_refused(clone: Repo, tmp_path: Path) -> None:
    clone.git("remote", "set-url", "origin", "https://localhost:1/x")
    file = tmp_path / "secrets"
    file.write_text("https://ada:topsecret@localhost:1\n")
    file.chmod(0o644)
    completed = docyard(clone, DOCYARD_CREDENTIALS=str(file))
    assert completed.returncode == 3
    assert "others can read or write it" in completed.stderr
    assert "topsecret" not in completed.stderr


def push_from_other_clone(remote: Repo, folder: Path, files: dict[str, str]) -> str:
    """Push a commit from another clone."""
    remote.git("clone", "-q", str(remote.path), str(folder))
    other = Repo(folder)
    other.git("config", "user.name", "Bo")
    other.git("config", "user.email", "bo@example.org")
    commit = other.commit(files)
    other.git("push", "-q")
    return commit


def test_server_fetches_and_notifies_subscribers(clone: Repo, remote: Repo, tmp_path: Path) -> None:
    clone.commit({"docyard.toml": '[remote]\nevery = "1h"\npush = "commit"\n'})
    clone.git("push", "-q")
    client = start_slow_lock_server(clone.path, tmp_path / "home")
    document = "doc:///README.md"
    client.write(encode_line({"id": 1, "method": "resources/subscribe", "params": {"uri": document}}))
    assert client.receive() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    theirs = push_from_other_clone(remote, tmp_path / "other", {"README.md": "# Example\n\nA heron.\n"})
    arguments = {"doc_type": "document", "title": "Ours", "initial_content": "A."}
    client.write(encode_call(2, "create_document", arguments))
    while (message := client.receive()).get("method") != "notifications/resources/updated":
        pass
    assert message["params"] == {"uri": document}
    wait_until(lambda: remote.git("rev-parse", "main").strip() == clone.head() != theirs, "the push")
    clone.git("merge-base", "--is-ancestor", theirs, "main")
    assert (clone.path / "README.md").read_text() == "# Example\n\nA heron.\n"
    assert "README.md" in str(client.call(3, "search_docs", {"query": "heron"}))
    client.close_input()
    assert client.wait_for_exit() == (0, "")


def test_server_with_no_sync_does_not_fetch(clone: Repo, remote: Repo, tmp_path: Path) -> None:
    before = remote.git("rev-parse", "main").strip()
    clone.commit({"docyard.toml": '[remote]\nevery = 5\npush = "commit"\n'})
    client = start_slow_lock_server(clone.path, tmp_path / "home", "--no-sync")
    status = client.call(1, "list_documents", {})["result"]["structuredContent"]
    assert status["unpushed"]["commits"] == 1
    client.close_input()
    assert client.wait_for_exit() == (0, "")
    assert remote.git("rev-parse", "main").strip() == before
