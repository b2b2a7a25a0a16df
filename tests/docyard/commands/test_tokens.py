"""`docyard tokens` makes, lists, trusts and revokes tokens; a secret is shown once and said nowhere else."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from docyard import environment
from docyard.cli.main import main
from docyard.terminal.authors import identify_person
from docyard.terminal.exits import CannotError
from tests.docyard.conftest import Git
from workspace.policy.tokens import InvalidToken, Person, Tokens
from workspace.workspace import Workspace

Capture = pytest.CaptureFixture[str]

ANN = Person("ann", "Ann Author", "ann@example.com")


@pytest.fixture(autouse=True)
def _no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(environment.TOKEN, raising=False)


def add(repo: Path, capsys: Capture, *arguments: str) -> str:
    assert main(["tokens", "add", *arguments, "--json", "-C", str(repo)]) == 0
    secret = json.loads(capsys.readouterr().out)["secret"]
    assert isinstance(secret, str)
    return secret


def private(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o600)
    return path


def test_a_token_is_made_for_the_person_of_git_s_settings(repo: Path, capsys: Capture) -> None:
    assert main(["tokens", "add", "ann", "-C", str(repo)]) == 0
    printed = capsys.readouterr().out
    [secret] = re.findall("docyard_ann_[0-9a-f]{48}", printed)
    assert "Ann Author <ann@example.com>" in printed
    assert "DOCYARD_TOKEN" in printed
    assert Tokens(repo / ".git").person(secret) == ANN
    assert main(["tokens", "list", "-C", str(repo)]) == 0
    assert capsys.readouterr().out == "ann\tAnn Author\tann@example.com\n"
    assert main(["tokens", "list", "--json", "-C", str(repo)]) == 0
    told = capsys.readouterr().out
    assert json.loads(told) == {
        "tokens": [{"token": "ann", "name": "Ann Author", "email": "ann@example.com"}]
    }


def test_a_second_token_of_one_address_is_said_to_be_the_same_person_s(repo: Path, capsys: Capture) -> None:
    add(repo, capsys, "ann")
    assert main(["tokens", "add", "laptop", "--email", "ANN@example.com", "-C", str(repo)]) == 0
    assert "This person also has ann; together they count as one approval." in capsys.readouterr().out
    assert main(["tokens", "add", "ben", "--name", "Ben", "--email", "ben@x.org", "-C", str(repo)]) == 0
    assert "together" not in capsys.readouterr().out


def test_nothing_of_it_is_tracked_or_cloned(repo: Path, git: Git, tmp_path: Path, capsys: Capture) -> None:
    add(repo, capsys, "ann")
    assert git("status", "--porcelain") == ""
    git("clone", "--quiet", str(repo), str(tmp_path / "clone"))
    assert main(["tokens", "list", "-C", str(tmp_path / "clone")]) == 0
    assert "no tokens" in capsys.readouterr().out


def test_a_linked_work_tree_knows_the_same_tokens(
    repo: Path, git: Git, tmp_path: Path, capsys: Capture
) -> None:
    add(repo, capsys, "ann")
    git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    assert main(["tokens", "list", "-C", str(tmp_path / "side")]) == 0
    assert capsys.readouterr().out.startswith("ann\t")


def test_a_revoked_token_is_gone(repo: Path, capsys: Capture) -> None:
    add(repo, capsys, "ann")
    assert main(["tokens", "revoke", "anne", "-C", str(repo)]) == 3
    assert "Did you mean 'ann'?" in capsys.readouterr().err
    assert main(["tokens", "revoke", "ann", "--json", "-C", str(repo)]) == 0
    assert json.loads(capsys.readouterr().out) == {**ANN._asdict(), "revoked": True}
    assert Tokens(repo / ".git").list() == ()


def test_a_name_that_is_none_is_told_with_one_that_is(repo: Path, capsys: Capture) -> None:
    assert main(["tokens", "add", "Ann Author", "-C", str(repo)]) == 3
    assert "such as 'ann-author'" in capsys.readouterr().err


def test_without_an_identity_it_is_asked_for(repo: Path, home: Path, capsys: Capture) -> None:
    (home / ".gitconfig").write_text("")
    assert main(["tokens", "add", "ann", "-C", str(repo)]) == 3
    assert "Give --name and --email." in capsys.readouterr().err
    add(repo, capsys, "ann", "--name", "Ann", "--email", "ann@example.com")


IDENTITY = ("--name", "Ann Author", "--email", "ann@example.com")


def test_a_token_of_another_machine_counts_where_it_is_trusted(
    repo: Path, git: Git, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = add(repo, capsys, "ann")
    clone = tmp_path / "clone"
    git("clone", "--quiet", str(repo), str(clone))
    trust = ["tokens", "trust", "ann", *IDENTITY, "-C", str(clone)]
    assert main(trust) == 3
    assert "DOCYARD_TOKEN" in capsys.readouterr().err
    assert main([*trust, "--token-file", str(private(tmp_path / "ann", f"{secret}\n"))]) == 0
    assert Tokens(clone / ".git").person(secret) == ANN
    monkeypatch.setenv(environment.TOKEN, secret)
    assert main([*trust, "--json"]) == 0
    printed = capsys.readouterr()
    assert secret not in printed.out + printed.err
    assert main(["tokens", "trust", "ben", *IDENTITY, "-C", str(clone)]) == 3
    monkeypatch.setenv(environment.TOKEN, "docyard_ann_" + "0" * 48)
    assert main(trust) == 3
    printed = capsys.readouterr()
    assert "revoke" in printed.err
    assert "0000" not in printed.out + printed.err
    assert main(["tokens", "trust", "ann", "-C", str(clone)]) == 2, "whose it is must be said"


def test_who_calls(repo: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = Workspace.open(repo)
    secret, other = add(repo, capsys, "ann"), add(repo, capsys, "bot", "--email", "bot@example.com")
    assert identify_person(workspace, None, ask=False) is None
    assert identify_person(workspace, None, ask=True) is None, "nobody is asked where there is no terminal"
    monkeypatch.setenv(environment.TOKEN, f" {secret}\n")
    assert identify_person(workspace, None, ask=False) == ANN
    found = identify_person(workspace, private(tmp_path / "bot", other), ask=False)
    assert found is not None
    assert found.token == "bot"
    monkeypatch.setenv(environment.TOKEN, secret[:-1])
    with pytest.raises(InvalidToken) as caught:
        identify_person(workspace, None, ask=False)
    assert secret[:20] not in caught.value.message + caught.value.fix
    monkeypatch.setenv(environment.TOKEN, " ")
    assert identify_person(workspace, None, ask=False) is None


def test_files_that_hold_no_secret_are_refused(repo: Path, tmp_path: Path) -> None:
    workspace = Workspace.open(repo)
    readable = private(tmp_path / "readable", "docyard_ann_x")
    readable.chmod(0o640)
    cases = {
        tmp_path / "missing": "cannot be read",
        tmp_path: "must be a regular file",
        readable: "by other users",
        private(tmp_path / "empty", "\n"): "is empty",
        private(tmp_path / "large", "x" * 5_000): "contains more than a token",
    }
    for file, reason in cases.items():
        with pytest.raises(CannotError, match=reason) as caught:
            identify_person(workspace, file, ask=False)
        assert str(tmp_path) not in caught.value.message


def test_a_pipe_can_hold_a_secret(repo: Path, capsys: Capture) -> None:
    secret = add(repo, capsys, "ann")
    reader, writer = os.pipe()
    os.write(writer, secret.encode())
    os.close(writer)
    try:
        assert identify_person(Workspace.open(repo), Path(f"/dev/fd/{reader}"), ask=False) == ANN
    finally:
        os.close(reader)


@pytest.mark.process
def test_at_a_terminal_it_is_asked_for_and_not_shown(
    repo: Path, git: Git, tmp_path: Path, capsys: Capture
) -> None:
    secret = add(repo, capsys, "ann")
    clone = tmp_path / "clone"
    git("clone", "--quiet", str(repo), str(clone))
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "docyard", "tokens", "trust", "ann", *IDENTITY, "-C", str(clone)]
    asked = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    shown = b""
    with open(ours, "r+b", buffering=0) as terminal:
        while b"Token: " not in shown:  # the space comes when nothing is echoed any more
            shown += terminal.read(1_000)
        terminal.write(f"{secret}\n".encode())
        with suppress(OSError):  # how Linux says that the other end was closed
            while more := terminal.read(1_000):
                shown += more
    assert asked.wait(60) == 0
    assert b"is trusted from now on" in shown
    assert secret.encode() not in shown
    assert Tokens(clone / ".git").person(secret) == ANN
