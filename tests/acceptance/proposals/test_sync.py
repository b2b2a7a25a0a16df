"""`docyard sync` as a process: its effects and its output; and servers that synchronise with a remote."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import fork_server, repositories
from tests.acceptance.clients import start_long_lock_wait_server, wait_until
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


def run_sync(repo: Repo, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("DOCYARD_") and not name.endswith("_TOKEN")
    }
    environment |= {"HOME": str(repo.path.parent), "GIT_CONFIG_NOSYSTEM": "1"} | variables
    return subprocess.run(
        [*fork_server.build_python_command(), "-m", "docyard", "sync", *arguments],
        cwd=repo.path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def run_json(repo: Repo, *arguments: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(run_sync(repo, "--json", *arguments).stdout)
    return data


def test_sync_transfers_commits_between_clones(clone: Repo, remote: Repo, tmp_path: Path) -> None:
    remote.git("clone", "-q", str(remote.path), str(tmp_path / "other"))
    local_commit = clone.commit({"a.md": "# A\n"})
    process = run_sync(clone)
    assert process.returncode == 0
    assert "Pushed 1 commit to origin, a folder." in process.stdout
    assert f"main is up to date with origin at {local_commit[:12]}." in process.stdout

    other_clone = Repo(tmp_path / "other")
    data = run_json(other_clone)
    assert (data["state"], data["commit"], data["remote_commit"]) == ("level", local_commit, local_commit)
    assert (data["followed"], data["pushed"], data["unpushed"]) == (True, 0, None)
    assert (other_clone.path / "a.md").read_text() == "# A\n"
    assert other_clone.status() == ""


def test_fetch_only_reports_unpushed_commits(clone: Repo) -> None:
    clone.commit({"a.md": "# A\n"})
    process = run_sync(clone, "--fetch")
    assert process.returncode == 0
    assert process.stdout.startswith("1 commit has not been pushed to origin since ")
    data = run_json(clone, "--fetch")
    assert (data["state"], data["unpushed"]["commits"], data["unpushed"]["more"]) == ("ahead", 1, False)


@pytest.fixture
def conflicting_clone(clone: Repo, remote: Repo, tmp_path: Path) -> Repo:
    """Return a clone whose commit conflicts with a commit of the remote, and changes another file."""
    remote.git("clone", "-q", str(remote.path), str(tmp_path / "other"))
    other_clone = Repo(tmp_path / "other")
    other_clone.git("config", "user.name", "Bo")
    other_clone.git("config", "user.email", "bo@example.org")
    other_clone.commit({"README.md": "# Example\n\nTheirs.\n", "b.md": "# B\n"})
    other_clone.git("push", "-q")
    clone.commit({"README.md": "# Example\n\nOurs.\n", "a.md": "# A\n"})
    return clone


def test_conflict_output_contains_commands(conflicting_clone: Repo) -> None:
    local_commit = conflicting_clone.head()
    process = run_sync(conflicting_clone)
    assert process.returncode == 1
    assert "main has diverged" in process.stdout
    assert "text:README.md#_preamble" in process.stdout
    assert "docyard sync --ours README.md" in process.stdout
    assert conflicting_clone.head() == local_commit
    process_with_typo = run_sync(conflicting_clone, "--ours", "READM.md")
    assert process_with_typo.returncode == 2
    assert "README.md" in process_with_typo.stderr
    assert conflicting_clone.head() == local_commit


def test_option_theirs_resolves_conflict_with_their_side(conflicting_clone: Repo, remote: Repo) -> None:
    local_commit, remote_commit = conflicting_clone.head(), remote.git("rev-parse", "main").strip()
    process = run_sync(conflicting_clone, "--theirs", "README.md")
    assert process.returncode == 0, process.stderr
    assert "main was merged with the branch on origin" in process.stdout
    assert (
        conflicting_clone.git("log", "-1", "--format=%P %s").strip()
        == f"{local_commit} {remote_commit} Merge 'main' of origin"
    )
    assert (conflicting_clone.path / "README.md").read_text() == "# Example\n\nTheirs.\n"
    assert (conflicting_clone.status(), remote.git("rev-parse", "main").strip()) == (
        "",
        conflicting_clone.head(),
    )


def test_conflict_is_resolved_with_a_resolution_file(conflicting_clone: Repo, tmp_path: Path) -> None:
    data = run_json(conflicting_clone)
    (conflict,) = data["conflicts"]
    assert conflict["file"] == "README.md"
    assert (conflict["ours"].strip(), conflict["theirs"].strip()) == ("Ours.", "Theirs.")
    conflict |= {"choice": "content", "content": conflict["ours"].replace("Ours", "Both")}
    resolution_file = tmp_path / "decisions.json"
    resolution_file.write_text(json.dumps(data))
    data = run_json(conflicting_clone, "--resolve", str(resolution_file))
    assert (data["state"], data["merged"], data["conflicts"]) == ("level", conflicting_clone.head(), [])
    assert (conflicting_clone.path / "README.md").read_text() == "# Example\n\nBoth.\n"


def test_new_content_in_resolution_is_checked_by_policy(clone: Repo, remote: Repo, tmp_path: Path) -> None:
    clone.commit({"docyard.toml": '[[protect]]\npaths = ["README.md"]\n'})
    run_sync(clone)
    remote.git("clone", "-q", str(remote.path), str(tmp_path / "other"))
    other_clone = Repo(tmp_path / "other")
    other_clone.git("config", "user.name", "Bo")
    other_clone.git("config", "user.email", "bo@example.org")
    other_clone.commit({"README.md": "# Example\n\nTheirs.\n"})
    other_clone.git("push", "-q")
    local_commit = clone.commit({"README.md": "# Example\n\nOurs.\n"})
    data = run_json(clone)
    data["conflicts"][0] |= {"choice": "content", "content": "An unreviewed text.\n"}
    resolution_file = tmp_path / "decisions.json"
    resolution_file.write_text(json.dumps(data))
    process = run_sync(clone, "--resolve", str(resolution_file))
    assert process.returncode == 3
    assert "only by a proposal" in process.stderr
    assert clone.head() == local_commit
    assert run_sync(clone, "--theirs", "README.md").returncode == 0


def test_errors_contain_fixes(clone: Repo, tmp_path: Path) -> None:
    for arguments, message, fix in (
        (("--remote", "orign"), "no remote 'orign'", "Did you mean 'origin'?"),
        (("--branch", "mian"), "no branch 'mian'", "Did you mean 'main'?"),
    ):
        process = run_sync(clone, *arguments)
        assert process.returncode == 3
        assert message in process.stderr
        assert fix in process.stderr
    clone.git("remote", "set-url", "origin", str(tmp_path / "missing.git"))
    failed_process = run_sync(clone)
    assert failed_process.returncode == 3
    assert "origin" in failed_process.stderr
    assert str(tmp_path) not in failed_process.stderr
    clone.git("remote", "remove", "origin")
    assert "git remote add" in run_sync(clone).stderr
    clone.git("remote", "add", "x", "ext::sh -c 'touch pwned'")
    helper_process = run_sync(clone)
    assert "no" in helper_process.stderr
    assert "helper program" in helper_process.stderr
    assert not (clone.path / "pwned").exists()


def test_credential_file_readable_by_others_is_refused(clone: Repo, tmp_path: Path) -> None:
    clone.git("remote", "set-url", "origin", "https://localhost:1/x")
    credential_file = tmp_path / "secrets"
    credential_file.write_text("https://ada:topsecret@localhost:1\n")
    credential_file.chmod(0o644)
    process = run_sync(clone, DOCYARD_CREDENTIALS=str(credential_file))
    assert process.returncode == 3
    assert "others can read or write it" in process.stderr
    assert "topsecret" not in process.stderr


def push_from_other_clone(remote: Repo, folder: Path, files: dict[str, str]) -> str:
    """Push a commit from another clone, and return its id."""
    remote.git("clone", "-q", str(remote.path), str(folder))
    other_clone = Repo(folder)
    other_clone.git("config", "user.name", "Bo")
    other_clone.git("config", "user.email", "bo@example.org")
    commit = other_clone.commit(files)
    other_clone.git("push", "-q")
    return commit


def test_server_fetches_and_notifies_subscribers(clone: Repo, remote: Repo, tmp_path: Path) -> None:
    clone.commit({"docyard.toml": '[remote]\nevery = "1h"\npush = "commit"\n'})
    clone.git("push", "-q")
    client = start_long_lock_wait_server(clone.path, tmp_path / "home")
    document_uri = "doc:///README.md"
    client.write(encode_line({"id": 1, "method": "resources/subscribe", "params": {"uri": document_uri}}))
    assert client.receive() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    remote_commit = push_from_other_clone(
        remote, tmp_path / "other", {"README.md": "# Example\n\nA heron.\n"}
    )
    arguments = {"doc_type": "document", "title": "Ours", "initial_content": "A."}
    client.write(encode_call(2, "create_document", arguments))
    while (message := client.receive()).get("method") != "notifications/resources/updated":
        pass
    assert message["params"] == {"uri": document_uri}
    wait_until(lambda: remote.git("rev-parse", "main").strip() == clone.head() != remote_commit, "the push")
    clone.git("merge-base", "--is-ancestor", remote_commit, "main")
    assert (clone.path / "README.md").read_text() == "# Example\n\nA heron.\n"
    assert "README.md" in str(client.call(3, "search_docs", {"query": "heron"}))
    client.close_input()
    assert client.wait_for_exit() == (0, "")


def test_server_with_no_sync_option_does_not_push(clone: Repo, remote: Repo, tmp_path: Path) -> None:
    remote_commit = remote.git("rev-parse", "main").strip()
    clone.commit({"docyard.toml": '[remote]\nevery = 5\npush = "commit"\n'})
    client = start_long_lock_wait_server(clone.path, tmp_path / "home", "--no-sync")
    data = client.call(1, "list_documents", {})["result"]["structuredContent"]
    assert data["unpushed"]["commits"] == 1
    client.close_input()
    assert client.wait_for_exit() == (0, "")
    assert remote.git("rev-parse", "main").strip() == remote_commit
