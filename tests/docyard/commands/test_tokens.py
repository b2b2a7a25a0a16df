"""`docyard tokens`: tokens are created, listed, trusted and revoked; a secret is printed only once."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from docyard import environment
from docyard.cli.main import main
from docyard.terminal.credentials import identify_owner
from docyard.terminal.exits import CommandError, Exit
from index.postgres.options import create_engine_options
from index.postgres.shared_tokens import share_tokens
from tests.databases import postgres  # noqa: F401
from tests.docyard.conftest import Git
from tests.postgres_server import PostgresServer
from workspace.policy.tokens import InvalidToken, Person, Tokens
from workspace.workspace import Workspace

Capture = pytest.CaptureFixture[str]

ANN = Person("ann", "Ann Author", "ann@example.com")


@pytest.fixture(autouse=True)
def _unset_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(environment.TOKEN, raising=False)


def add_token(repo: Path, capsys: Capture, *arguments: str) -> str:
    assert main(["tokens", "add", *arguments, "--json", "-C", str(repo)]) == 0
    secret = json.loads(capsys.readouterr().out)["secret"]
    assert isinstance(secret, str)
    return secret


def write_private_file(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o600)
    return path


def test_token_is_created_for_author_in_git_settings(repo: Path, capsys: Capture) -> None:
    assert main(["tokens", "add", "ann", "-C", str(repo)]) == 0
    add_output = capsys.readouterr()
    assert re.fullmatch("docyard_ann_[0-9a-f]{48}\n", add_output.out)
    secret = add_output.out.strip()
    assert "Ann Author <ann@example.com>" in add_output.err
    assert "DOCYARD_TOKEN" in add_output.err
    assert Tokens(repo / ".git").person(secret) == ANN
    assert main(["tokens", "list", "-C", str(repo)]) == 0
    assert capsys.readouterr().out == "ann\tAnn Author\tann@example.com\n"
    assert main(["tokens", "list", "--json", "-C", str(repo)]) == 0
    output = capsys.readouterr().out
    assert json.loads(output) == {
        "tokens": [{"token": "ann", "name": "Ann Author", "email": "ann@example.com"}]
    }


def test_secret_is_written_to_new_private_file(repo: Path, tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "ann.token"
    options = ("--output", str(file), "-C", str(repo))
    assert main(["tokens", "add", "ann", *options]) == 0
    output = capsys.readouterr()
    assert file.stat().st_mode & 0o777 == 0o600
    secret = file.read_text().strip()
    assert secret not in output.out + output.err
    assert identify_owner(Workspace.open(repo), file, prompt=False).person == ANN
    assert main(["tokens", "add", "bea", *options]) == 3
    assert "exists already" in capsys.readouterr().err
    assert file.read_text().strip() == secret
    assert [person.token for person in Tokens(repo / ".git").list()] == ["ann"]


def test_file_of_a_secret_is_printed_as_the_user_named_it(
    repo: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    arguments = ["tokens", "add", "ann", "--output", "../ann.token", "-C", str(repo)]
    assert main(arguments) == 0
    assert "> to ../ann.token. Give it" in capsys.readouterr().out
    assert (tmp_path / "ann.token").read_text().startswith("docyard_ann_")
    assert main(arguments) == 3
    assert capsys.readouterr().err.startswith("error: ../ann.token exists already")


def test_recipient_of_a_new_token_depends_on_its_scopes(repo: Path, tmp_path: Path, capsys: Capture) -> None:
    assert main(["tokens", "add", "ann", "-C", str(repo)]) == 0
    assert "Give it to this person alone" in capsys.readouterr().err
    agent = ("--scope", "docs:write", "-C", str(repo))
    assert main(["tokens", "add", "bot", *agent]) == 0
    output = capsys.readouterr().err
    assert "It cannot approve: give it to the agent or program" in output
    assert "this person alone" not in output
    assert main(["tokens", "add", "bot2", "--output", str(tmp_path / "bot2.token"), *agent]) == 0
    assert "give it to the agent or program" in capsys.readouterr().out


def test_new_secret_is_written_to_new_private_file(repo: Path, tmp_path: Path, capsys: Capture) -> None:
    old_file, new_file = tmp_path / "ann.token", tmp_path / "ann-2.token"
    assert main(["tokens", "add", "ann", "--output", str(old_file), "-C", str(repo)]) == 0
    old_secret = old_file.read_text()
    rotate = ["tokens", "rotate", "ann", "-C", str(repo), "--output"]
    assert main([*rotate, str(old_file)]) == 3
    assert old_file.read_text() == old_secret
    assert identify_owner(Workspace.open(repo), old_file, prompt=False).person == ANN
    capsys.readouterr()
    assert main([*rotate, str(new_file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["file"] == str(new_file)
    assert new_file.stat().st_mode & 0o777 == 0o600
    assert identify_owner(Workspace.open(repo), new_file, prompt=False).person == ANN
    new_file.unlink()
    assert main([*rotate, str(new_file)]) == 0
    output = capsys.readouterr()
    assert new_file.read_text().strip() not in output.out + output.err
    assert str(new_file) in output.out


def test_file_is_removed_if_the_token_is_not_created(repo: Path, tmp_path: Path, capsys: Capture) -> None:
    add_token(repo, capsys, "ann")
    file = tmp_path / "ann.token"
    assert main(["tokens", "add", "ann", "--json", "--output", str(file), "-C", str(repo)]) == 3
    assert not file.exists()
    assert main(["tokens", "add", "bea", "--json", "--output", str(file), "-C", str(repo)]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["file"] == str(file)
    assert "secret" not in data


def test_second_token_of_same_email_is_reported_as_same_person(repo: Path, capsys: Capture) -> None:
    add_token(repo, capsys, "ann")
    assert main(["tokens", "add", "laptop", "--email", "ANN@example.com", "-C", str(repo)]) == 0
    assert "This person also has ann; together they count as one approval." in capsys.readouterr().err
    assert main(["tokens", "add", "ben", "--name", "Ben", "--email", "ben@x.org", "-C", str(repo)]) == 0
    assert "together" not in capsys.readouterr().out


def test_tokens_are_not_tracked_or_cloned(repo: Path, git: Git, tmp_path: Path, capsys: Capture) -> None:
    add_token(repo, capsys, "ann")
    assert git("status", "--porcelain") == ""
    git("clone", "--quiet", str(repo), str(tmp_path / "clone"))
    assert main(["tokens", "list", "-C", str(tmp_path / "clone")]) == 0
    assert "no tokens" in capsys.readouterr().out


def test_linked_work_tree_has_same_tokens(repo: Path, git: Git, tmp_path: Path, capsys: Capture) -> None:
    add_token(repo, capsys, "ann")
    git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    assert main(["tokens", "list", "-C", str(tmp_path / "side")]) == 0
    assert capsys.readouterr().out.startswith("ann\t")


def test_revoked_token_is_removed(repo: Path, capsys: Capture) -> None:
    add_token(repo, capsys, "ann")
    assert main(["tokens", "revoke", "anne", "-C", str(repo)]) == 3
    assert "Did you mean 'ann'?" in capsys.readouterr().err
    assert main(["tokens", "revoke", "ann", "--json", "-C", str(repo)]) == 0
    assert json.loads(capsys.readouterr().out) == {**ANN._asdict(), "revoked": True}
    assert Tokens(repo / ".git").list() == ()


def test_invalid_name_suggests_valid_one(repo: Path, capsys: Capture) -> None:
    assert main(["tokens", "add", "Ann Author", "-C", str(repo)]) == 3
    assert "such as 'ann-author'" in capsys.readouterr().err


def test_missing_identity_returns_error_with_options(repo: Path, home: Path, capsys: Capture) -> None:
    (home / ".gitconfig").write_text("")
    assert main(["tokens", "add", "ann", "-C", str(repo)]) == 3
    assert "Pass --name and --email." in capsys.readouterr().err
    add_token(repo, capsys, "ann", "--name", "Ann", "--email", "ann@example.com")


IDENTITY = ("--name", "Ann Author", "--email", "ann@example.com")


def test_trusted_token_of_other_machine_identifies_person(
    repo: Path, git: Git, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = add_token(repo, capsys, "ann")
    clone = tmp_path / "clone"
    git("clone", "--quiet", str(repo), str(clone))
    trust_command = ["tokens", "trust", "ann", *IDENTITY, "-C", str(clone)]
    assert main(trust_command) == 3
    assert "DOCYARD_TOKEN" in capsys.readouterr().err
    assert (
        main([*trust_command, "--token-file", str(write_private_file(tmp_path / "ann", f"{secret}\n"))]) == 0
    )
    assert Tokens(clone / ".git").person(secret) == ANN
    monkeypatch.setenv(environment.TOKEN, secret)
    assert main([*trust_command, "--json"]) == 0
    captured = capsys.readouterr()
    assert secret not in captured.out + captured.err
    assert main(["tokens", "trust", "ben", *IDENTITY, "-C", str(clone)]) == 3
    monkeypatch.setenv(environment.TOKEN, "docyard_ann_" + "0" * 48)
    assert main(trust_command) == 3
    captured = capsys.readouterr()
    assert "revoke" in captured.err
    assert "0000" not in captured.out + captured.err
    assert main(["tokens", "trust", "ann", "-C", str(clone)]) == 2, "the owner must be named"


def test_person_is_identified_by_file_or_variable(
    repo: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = Workspace.open(repo)
    secret, other_secret = (
        add_token(repo, capsys, "ann"),
        add_token(repo, capsys, "bot", "--email", "bot@example.com"),
    )
    assert identify_owner(workspace, None, prompt=False) is None
    assert identify_owner(workspace, None, prompt=True) is None, "there is no prompt without a terminal"
    monkeypatch.setenv(environment.TOKEN, f" {secret}\n")
    owner = identify_owner(workspace, None, prompt=False)
    assert owner is not None
    assert owner.person == ANN
    owner = identify_owner(workspace, write_private_file(tmp_path / "bot", other_secret), prompt=False)
    assert owner is not None
    assert owner.person.token == "bot"
    monkeypatch.setenv(environment.TOKEN, secret[:-1])
    with pytest.raises(InvalidToken) as error_info:
        identify_owner(workspace, None, prompt=False)
    assert secret[:20] not in error_info.value.message + error_info.value.fix
    monkeypatch.setenv(environment.TOKEN, " ")
    assert identify_owner(workspace, None, prompt=False) is None


def test_unusable_token_file_is_refused(repo: Path, tmp_path: Path) -> None:
    workspace = Workspace.open(repo)
    readable_file = write_private_file(tmp_path / "readable", "docyard_ann_x")
    readable_file.chmod(0o640)
    reasons_by_file = {
        tmp_path / "missing": "cannot be read",
        tmp_path: "must be a regular file",
        readable_file: "by other users",
        write_private_file(tmp_path / "empty", "\n"): "is empty",
        write_private_file(tmp_path / "large", "x" * 5_000): "contains more than a token",
    }
    for file, reason in reasons_by_file.items():
        with pytest.raises(CommandError, match=reason) as error_info:
            identify_owner(workspace, file, prompt=False)
        assert str(file) in error_info.value.message


def test_token_is_read_from_pipe(repo: Path, capsys: Capture) -> None:
    secret = add_token(repo, capsys, "ann")
    read_end, write_end = os.pipe()
    os.write(write_end, secret.encode())
    os.close(write_end)
    try:
        owner = identify_owner(Workspace.open(repo), Path(f"/dev/fd/{read_end}"), prompt=False)
        assert owner is not None
        assert owner.person == ANN
    finally:
        os.close(read_end)


@pytest.mark.process
def test_terminal_prompts_for_token_without_echo(
    repo: Path, git: Git, tmp_path: Path, capsys: Capture
) -> None:
    secret = add_token(repo, capsys, "ann")
    clone = tmp_path / "clone"
    git("clone", "--quiet", str(repo), str(clone))
    terminal_end, process_end = pty.openpty()
    command = [sys.executable, "-m", "docyard", "tokens", "trust", "ann", *IDENTITY, "-C", str(clone)]
    process = subprocess.Popen(
        command, stdin=process_end, stdout=process_end, stderr=process_end, start_new_session=True
    )
    os.close(process_end)
    output = b""
    with open(terminal_end, "r+b", buffering=0) as terminal:
        while b"Token: " not in output:  # the space of the prompt is printed after echo is disabled
            output += terminal.read(1_000)
        terminal.write(f"{secret}\n".encode())
        with suppress(OSError):  # Linux raises this when the other end is closed
            while chunk := terminal.read(1_000):
                output += chunk
    assert process.wait(60) == 0
    assert b"is trusted from now on" in output
    assert secret.encode() not in output
    assert Tokens(clone / ".git").person(secret) == ANN


def test_restricted_token_shows_its_scopes_and_expiry(repo: Path, capsys: Capture) -> None:
    secret = add_token(repo, capsys, "bot", "--scope", "docs:write", "--expires", "2199-01-31")
    owner = Tokens(repo / ".git").authenticate(secret)
    assert owner.scopes == {"docs:read", "docs:write"}
    assert main(["tokens", "list", "--json", "-C", str(repo)]) == 0
    [record] = json.loads(capsys.readouterr().out)["tokens"]
    assert record["scopes"] == ["docs:read", "docs:write"]
    assert record["expires_at"] == owner.expires_at
    assert main(["tokens", "list", "-C", str(repo)]) == 0
    assert "docs:read docs:write\t2199-01-31 00:00" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "90", "0d", "1y", "2020-01-31", "2199-02-30", "-1d", "9" * 6 + "d"])
def test_invalid_expiry_is_refused(repo: Path, text: str) -> None:
    assert main(["tokens", "add", "bot", "--expires", text, "-C", str(repo)]) == 2
    assert Tokens(repo / ".git").list() == ()


def test_rotated_token_has_a_new_secret(repo: Path, capsys: Capture) -> None:
    old_secret = add_token(repo, capsys, "ann")
    assert main(["tokens", "rotate", "ann", "--json", "-C", str(repo)]) == 0
    new_secret = json.loads(capsys.readouterr().out)["secret"]
    assert Tokens(repo / ".git").person(new_secret) == ANN
    with pytest.raises(InvalidToken):
        Tokens(repo / ".git").person(old_secret)
    assert main(["tokens", "rotate", "none", "-C", str(repo)]) == 3


def test_reading_token_identifies_no_person_who_decides(
    repo: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(environment.TOKEN, add_token(repo, capsys, "reader", "--scope", "docs:read"))
    with pytest.raises(InvalidToken, match="docs:write"):
        identify_owner(Workspace.open(repo), None, prompt=False)


def test_list_marks_expired_tokens(repo: Path, capsys: Capture) -> None:
    tokens = Tokens(repo / ".git")
    tokens.add("old", "Old", "old@example.org", expires_at=1_000_000_000)
    tokens.add("new", "New", "new@example.org", expires_at=7_000_000_000)
    assert main(["tokens", "list", "-C", str(repo)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "new\tNew\tnew@example.org\t\t2191-10-27 12:26",
        "old\tOld\told@example.org\t\t2001-09-09 01:46 (expired)",
    ]


def test_expired_token_is_rotated_only_with_a_new_time(repo: Path, capsys: Capture) -> None:
    Tokens(repo / ".git").add("old", "Old", "old@example.org", expires_at=1_000_000_000)
    assert main(["tokens", "rotate", "old", "-C", str(repo)]) == 3
    assert f"docyard tokens rotate -C {repo} old --expires 90d" in capsys.readouterr().err
    assert main(["tokens", "rotate", "old", "--expires", "90d", "-C", str(repo)]) == 0
    assert Tokens(repo / ".git").person(capsys.readouterr().out.strip()).token == "old"


def test_name_without_address_is_refused(repo: Path, capsys: Capture) -> None:
    assert main(["tokens", "add", "carl", "--name", "Carl", "-C", str(repo)]) == 3
    assert "--name needs --email" in capsys.readouterr().err
    assert Tokens(repo / ".git").list() == ()


def test_file_of_a_token_is_replaced_and_stays_private(repo: Path, tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "ann.token"
    assert main(["tokens", "add", "ann", "--output", str(file), "-C", str(repo)]) == 0
    rotate = ["tokens", "rotate", "ann", "-C", str(repo), "--replace"]
    assert main([*rotate, "--output", str(file)]) == 0
    assert file.stat().st_mode & 0o777 == 0o600
    assert Tokens(repo / ".git").person(file.read_text().strip()) == ANN
    secret = file.read_text()
    assert main(["tokens", "rotate", "none", "-C", str(repo), "--replace", "--output", str(file)]) == 3
    assert [path.read_text() for path in tmp_path.glob("*ann.token*")] == [secret]
    notes = write_private_file(tmp_path / "notes", "Some notes.\n")
    assert main([*rotate, "--output", str(notes)]) == 3
    assert f"{notes} contains more than a token" in capsys.readouterr().err
    assert notes.read_text() == "Some notes.\n"
    assert main(rotate) == 2


@pytest.mark.process
def test_tokens_of_nodes_are_shared_and_copied_back(
    repo: Path,
    capsys: Capture,
    postgres: PostgresServer,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    git: Git,
) -> None:
    url = postgres.create_database()
    secret = add_token(repo, capsys, "ann")
    git("remote", "add", "origin", "https://example.org/docs.git")
    monkeypatch.setenv(environment.ENGINE_URL, url)
    new_secret = add_token(repo, capsys, "ben", "--name", "Ben", "--email", "ben@example.org")
    monkeypatch.delenv(environment.ENGINE_URL)
    # Without the variable, a revocation would count in this clone alone.
    assert main(["tokens", "revoke", "ben", "-C", str(repo)]) == Exit.CANNOT_RUN
    assert environment.ENGINE_URL in capsys.readouterr().err
    assert main(["tokens", "unshare", "-C", str(repo)]) == Exit.CANNOT_RUN
    assert environment.ENGINE_URL in capsys.readouterr().err
    monkeypatch.setenv(environment.ENGINE_URL, url)
    assert main(["tokens", "unshare", "-C", str(repo)]) == 0
    assert "Copied 2 tokens" in capsys.readouterr().out
    monkeypatch.delenv(environment.ENGINE_URL)
    tokens = Tokens(repo / ".git")
    assert [tokens.person(text).token for text in (secret, new_secret)] == ["ann", "ben"]


@pytest.mark.process
def test_shared_tokens_are_changed_with_the_file_of_the_server(
    repo: Path,
    tmp_path: Path,
    capsys: Capture,
    postgres: PostgresServer,  # noqa: F811
    git: Git,
) -> None:
    """The server reads its engine from this file, so no variable is set."""
    git("remote", "add", "origin", "https://example.org/docs.git")
    url = postgres.create_database()
    config = tmp_path / "server.toml"
    config.write_text(f'[engine]\nurl = "{url}"\n')
    options = ("--config", str(config), "-C", str(repo), "--json")

    def run(*arguments: str) -> dict[str, Any]:
        assert main(["tokens", *arguments, *options]) == 0
        data: dict[str, Any] = json.loads(capsys.readouterr().out)
        return data

    secret = run("add", "ann")["secret"]
    server = Workspace.open(repo)
    share_tokens(server, create_engine_options(url))
    assert server.tokens.person(secret) == ANN
    secret = run("rotate", "ann")["secret"]
    assert server.tokens.person(secret) == ANN
    assert [owner["token"] for owner in run("list")["tokens"]] == ["ann"]
    assert run("revoke", "ann")["revoked"]
    assert server.tokens.list() == ()
    file = write_private_file(tmp_path / "ann.token", secret)
    person = ("--name", "Ann", "--email", "ann@example.com")
    assert run("trust", "ann", "--token-file", str(file), *person)["trusted"]
    assert server.tokens.person(secret).name == "Ann"
    assert run("unshare") == {"tokens": 1}
    assert [person.token for person in Tokens(repo / ".git").list()] == ["ann"]


def test_unknown_token_in_a_clone_names_the_setting_of_shared_tokens(
    repo: Path, tmp_path: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clone that has never used the shared tokens cannot know that they are shared."""
    file = write_private_file(tmp_path / "ann.token", f"docyard_ann_{'0' * 48}")

    def read_fix() -> str:
        with pytest.raises(InvalidToken) as raised:
            identify_owner(Workspace.open(repo), file, prompt=False)
        return raised.value.fix

    assert environment.ENGINE_URL not in read_fix()  # without a remote, no node shares the repository
    git("remote", "add", "origin", "https://example.org/docs.git")
    assert f"set {environment.ENGINE_URL}" in read_fix()
    monkeypatch.setenv(environment.ENGINE_URL, "postgresql://docyard@127.0.0.1:1/docyard")
    assert environment.ENGINE_URL not in read_fix()
