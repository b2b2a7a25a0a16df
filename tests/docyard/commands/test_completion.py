"""Shell completion: some tests type lines into real shells, others list candidates in this process."""

from __future__ import annotations

import json
import os
import pty
import select
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from docyard.cli.main import main
from tests import fork_server
from tests.docyard.conftest import Git

ROOT = Path(__file__).resolve().parents[3]

SHELL_TIMEOUT_S = 60  # long enough for a busy machine
POLL_INTERVAL_S = 0.05

# When these keys are pressed, the shell writes the current line to a file.
RECORD_KEYS = b"\x18r"
BASH_SETUP = """\
record() {{ printf '%s' "$READLINE_LINE" > {out}; }}
bind 'set bell-style none'; bind 'set enable-bracketed-paste off'; bind -x '"\\C-xr": record'
source {script}; echo ready > {out}
"""
ZSH_SETUP = """\
record() {{ print -rn -- "$BUFFER" > {out}; }}
autoload -Uz compinit; compinit -D -u; zle -N record; bindkey '^Xr' record; unsetopt beep
setopt extended_glob; source {script}; echo ready > {out}
"""
SHELL_COMMANDS = {
    "bash": ["bash", "--noprofile", "--norc", "-i"],
    "zsh": ["zsh", "--no-rcs", "--interactive"],
}


@pytest.fixture
def document_repo(repo: Path, git: Git) -> Path:
    """Return a repository with file names that contain special characters of shells."""
    (repo / "guide.md").write_text(
        "# Guide\n\n## Retries\n\n### Back: off {#retries/backoff}\n\n- [ ] One\n\n## Limits\n\nText.\n"
    )
    (repo / "my docs").mkdir()
    (repo / "my docs" / "Big Plan.md").write_text("# Plan\n\n## Steps\n\nText.\n")
    (repo / "c#.md").write_text("# C#\n\n## Setup\n\nText.\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "More")
    git("tag", "v1.0")
    return repo


@pytest.fixture
def shell_environment(tmp_path: Path, document_repo: Path, home: Path) -> dict[str, str]:
    """Return the environment of a user whose shell finds this docyard."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "docyard"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(fork_server.build_python_command())} -m docyard "$@"\n')
    program.chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{folder}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "INPUTRC": os.devnull,
        "TERM": "dumb",
        "LC_ALL": "C.UTF-8",
    }


def type_lines(
    shell: str, setup: str, lines: list[str], folder: Path, shell_environment: dict[str, str], tmp_path: Path
) -> list[str]:
    """Type each line and a Tab in a new shell, and return the completed lines."""
    line_file, setup_file = tmp_path / "line", tmp_path / f"start.{shell}"
    script = tmp_path / f"docyard.{shell}"
    script.write_bytes(
        subprocess.run(
            ["docyard", "completion", shell], env=shell_environment, capture_output=True, check=True
        ).stdout
    )
    setup_file.write_text(setup.format(out=line_file, script=script))
    process, terminal = pty.fork()
    if not process:
        os.chdir(folder)
        os.execvpe(SHELL_COMMANDS[shell][0], SHELL_COMMANDS[shell], shell_environment)
    try:
        os.write(terminal, f"source {setup_file}\n".encode())
        assert read_recorded_line(line_file, terminal) == "ready\n"
        completed_lines = []
        for line in lines:
            os.write(terminal, line.encode() + b"\t" + RECORD_KEYS)
            completed_lines.append(read_recorded_line(line_file, terminal))
            os.write(terminal, b"\x05\x15")  # to the end of the line, then delete it
        return completed_lines
    finally:
        os.close(terminal)
        os.waitpid(process, 0)


def read_recorded_line(line_file: Path, terminal: int) -> str:
    """Wait for the line that the shell writes, and return it."""
    output, deadline = b"", time.monotonic() + SHELL_TIMEOUT_S
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], POLL_INTERVAL_S)[0]:
            output += os.read(terminal, 65536)
        if line_file.exists():
            time.sleep(POLL_INTERVAL_S)  # the shell may still be writing the file
            line = line_file.read_text()
            line_file.unlink()
            return line
    raise AssertionError(f"the shell wrote no line; its output is {output!r}")


COMPLETED_LINES = {
    "docyard rea": "docyard read ",
    "docyard read gu": "docyard read guide.md",
    "docyard read guide.md#li": "docyard read guide.md#limits ",
    "docyard read guide.md#retries/": "docyard read guide.md#retries/backoff ",
    "docyard read guide.md#ret": "docyard read guide.md#retries",
    r"docyard read guide.md#retries/backoff\[": r"docyard read guide.md#retries/backoff\[0\] ",
    "docyard read my": r"docyard read my\ docs/",
    r"docyard read my\ docs/Big\ Plan.md#st": r"docyard read my\ docs/Big\ Plan.md#steps ",
    "docyard read ./c#.md#se": "docyard read ./c#.md#setup ",
    "docyard read --ref v": "docyard read --ref v1.0 ",
    "docyard read --ref=v": "docyard read --ref=v1.0 ",
    "docyard links --branch ma": "docyard links --branch main ",
    "docyard search --type run": "docyard search --type runbook ",
    "docyard search retries ty": "docyard search retries type:",
    "docyard search head": "docyard search heading:",
    "docyard search path:gu": "docyard search path:guide.md",
    "docyard serve --toolsets search,re": "docyard serve --toolsets search,reading",
    "docyard read nothing.md#x": "docyard read nothing.md#x",
    "docyard read -C nowhere gu": "docyard read -C nowhere gu",
}


@pytest.mark.slow
@pytest.mark.parametrize(("shell", "setup"), [("bash", BASH_SETUP), ("zsh", ZSH_SETUP)])
def test_line_is_completed_in_shell(
    shell: str, setup: str, document_repo: Path, shell_environment: dict[str, str], tmp_path: Path
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    completed_lines = type_lines(
        shell, setup, list(COMPLETED_LINES), document_repo, shell_environment, tmp_path
    )
    unescaped_lines = [line.replace(r"\#", "#") for line in completed_lines]
    assert dict(zip(COMPLETED_LINES, unescaped_lines, strict=True)) == COMPLETED_LINES


@pytest.mark.process
def test_bash_function_returns_candidates(document_repo: Path, shell_environment: dict[str, str]) -> None:
    script = """source <(docyard completion bash)
for COMP_LINE in "$@"; do
    COMP_WORDS=($COMP_LINE) COMP_POINT=${#COMP_LINE} COMP_CWORD=2 COMPREPLY=()
    _docyard_completion docyard "${COMP_LINE##* }" read
    printf '%s\\n' "${COMPREPLY[@]}" --
done
"""
    lines = ["docyard read guide.md#retries", "docyard read nothing.md#", r"docyard read my\ docs/"]
    completed = subprocess.run(
        ["bash", "--norc", "-c", script, "bash", *lines],
        cwd=document_repo,
        env=shell_environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert completed.stdout.split("--\n") == [
        "guide.md#retries\nguide.md#retries/backoff\n",
        "",
        "docs/Big\\ Plan.md\n",
        "",
    ]


@pytest.mark.process
def test_fish_returns_candidates_with_titles(
    document_repo: Path, shell_environment: dict[str, str], tmp_path: Path
) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    script = "docyard completion fish | source; for line in $argv; complete -C $line; echo; end"
    lines = ["docyard read guide.md#li", r"docyard read my\ docs/B", "docyard read --ref=v"]
    completed = subprocess.run(
        ["fish", "--no-config", "-c", script, *lines],
        cwd=document_repo,
        env=shell_environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert [part.split("\n") for part in completed.stdout.strip().split("\n\n")] == [
        ["guide.md#limits\tLimits"],
        ["my docs/Big Plan.md", "my docs/Big Plan.md#"],
        ["--ref=v1.0"],
    ]


def list_candidates(
    line: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], word: str = ""
) -> list[str]:
    """Return the candidates for bash, computed in this process: lines `part<TAB>text` or `plain<TAB>text`."""
    monkeypatch.setenv("_DOCYARD_COMPLETE", "bash_complete")
    monkeypatch.setenv("_DOCYARD_LINE", line)
    monkeypatch.setenv("_DOCYARD_WORD", word or line.rpartition(" ")[2])
    with pytest.raises(SystemExit):
        main([])
    captured = capfd.readouterr()
    assert captured.err == ""
    return captured.out.split("\n")[:-1] if captured.out.strip() else []


def test_paths_are_completed_from_current_folder(
    document_repo: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(document_repo / "my docs")
    assert list_candidates("docyard read ", monkeypatch, capfd) == ["part\tBig\\ Plan.md"]
    assert list_candidates("docyard read ../gu", monkeypatch, capfd) == ["part\t../guide.md"]
    assert list_candidates("docyard read ../guide.md#li", monkeypatch, capfd) == ["plain\t../guide.md#limits"]
    assert list_candidates("docyard read gu", monkeypatch, capfd) == ["part\tguide.md"]


def test_paths_at_ref_of_other_repository_are_completed(
    document_repo: Path, git: Git, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    git("mv", "guide.md", "handbook.md")
    git("commit", "--quiet", "--message", "Rename")
    line = f"docyard read -C {document_repo} "
    assert list_candidates(line + "gu", monkeypatch, capfd) == []
    assert list_candidates(line + "--ref v1.0 gu", monkeypatch, capfd) == ["part\tguide.md"]
    assert list_candidates(line + "--ref never gu", monkeypatch, capfd) == []


def test_path_in_quotes_is_completed(
    document_repo: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(document_repo)
    assert list_candidates('docyard read "my docs/Big ', monkeypatch, capfd, "my docs/Big ") == [
        "part\tmy docs/Big Plan.md"
    ]


def test_path_split_at_colon_is_completed(
    document_repo: Path, git: Git, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (document_repo / "a: b.md").write_text("# A\n\n## One\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "Colon")
    monkeypatch.chdir(document_repo)
    assert list_candidates(r"docyard read a:\ b.md#o", monkeypatch, capfd, r"\ b.md#o") == [
        "plain\t\\ b.md#one"
    ]


@pytest.fixture
def indexed_repo(document_repo: Path, git: Git, capfd: pytest.CaptureFixture[str]) -> Path:
    """Return a repository with taxonomy values, after a search that wrote the metadata of the index."""
    (document_repo / "docyard.toml").write_text("[taxonomy.language]\n[taxonomy.level]\n")
    (document_repo / "go.md").write_text(
        "---\ntype: api_spec\ntags: [sdk, 'rate limit', 'security', 'a \"b']\nlanguage: go\n---\n# Go\n"
    )
    git("add", ".")
    git("commit", "--quiet", "--message", "Values")
    assert main(["search", "go", "-C", str(document_repo)]) == 0
    capfd.readouterr()
    return document_repo


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("ty", ["part\ttype:"]),
        ("t", ["part\ttitle:", "part\ttag:", "part\ttype:", "part\ttags:"]),
        ("l", ["part\tlanguage:", "part\tlevel:"]),
        ("ret", []),
        ("type:a", ["plain\ttype:api_spec"]),
        ("language:", ["plain\tlanguage:go"]),
        ("level:", []),
        ("tag:s", ["plain\ttag:sdk", "plain\ttag:security"]),
        ("tags:sd", ["plain\ttags:sdk"]),
        ("tag:r", ['plain\ttag:\\"rate\\ limit\\"']),
        ("nowhere:x", []),
        ("path:my", ["part\tpath:my\\ docs/"]),
        ("path:g", ["part\tpath:go.md", "part\tpath:guide.md"]),
        ("title:", []),
    ],
)
def test_query_word_completes_to_fields_and_values(
    word: str,
    expected: list[str],
    indexed_repo: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(indexed_repo)
    assert list_candidates(f"docyard search retries {word}", monkeypatch, capfd) == expected


def test_fields_and_values_complete_within_brackets_and_quotes(
    indexed_repo: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(indexed_repo)
    assert list_candidates("docyard search '(ty", monkeypatch, capfd, "(ty") == ["part\t(type:"]
    assert list_candidates("docyard search '((type:a", monkeypatch, capfd, "((type:a") == [
        "plain\t((type:api_spec"
    ]
    candidates = list_candidates("docyard search 'tag:\"ra", monkeypatch, capfd, 'tag:"ra')
    assert candidates == ['plain\ttag:"rate limit"']


def test_query_fields_and_values_at_ref_are_those_of_its_commit(
    indexed_repo: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(indexed_repo)
    assert list_candidates("docyard search --ref v1.0 l", monkeypatch, capfd) == []
    assert list_candidates("docyard search --ref v1.0 type:a", monkeypatch, capfd) == ["plain\ttype:api_spec"]
    assert list_candidates("docyard search --ref v1.0 path:go", monkeypatch, capfd) == []


def test_query_without_an_index_completes_to_default_fields(
    document_repo: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(document_repo)
    assert list_candidates("docyard search ty", monkeypatch, capfd) == ["part\ttype:"]
    assert list_candidates("docyard search type:", monkeypatch, capfd) == []


def test_query_of_an_artifact_completes_to_its_fields_and_values(
    indexed_repo: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert main(["build", str(indexed_repo), "--out", str(tmp_path / "site")]) == 0
    capfd.readouterr()
    monkeypatch.chdir(tmp_path)
    assert list_candidates("docyard search --index site lang", monkeypatch, capfd) == ["part\tlanguage:"]
    assert list_candidates("docyard search --index site tag:sd", monkeypatch, capfd) == ["plain\ttag:sdk"]
    assert list_candidates("docyard search --index nowhere tag:sd", monkeypatch, capfd) == []


def test_at_most_300_candidates_are_returned(
    document_repo: Path, git: Git, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (document_repo / "long.md").write_text("# Long\n\n" + "".join(f"## Part {n}\n\n" for n in range(1_000)))
    git("add", ".")
    git("commit", "--quiet", "--message", "Long")
    monkeypatch.chdir(document_repo)
    assert len(list_candidates("docyard read long.md#part", monkeypatch, capfd)) == 300
    assert len(list_candidates("docyard read long.md#part-99", monkeypatch, capfd)) == 11


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script_contains_its_setup_command(shell: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert f"docyard completion {shell}" in capfd.readouterr().out


def test_unknown_shell_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert "bash" in capfd.readouterr().err


def test_board_refs_types_and_proposals_are_completed(
    document_repo: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(document_repo)
    assert main(["proposals", "create", "Say more", "--json"]) == 0
    proposal_id = json.loads(capfd.readouterr().out)["proposal"]
    assert list_candidates("docyard tasks --b", monkeypatch, capfd) == ["plain\t--board"]
    assert "plain\t--limit" in list_candidates("docyard tasks --board --", monkeypatch, capfd)
    assert list_candidates("docyard tasks --board --type run", monkeypatch, capfd) == ["plain\trunbook"]
    assert list_candidates("docyard new Words --type run", monkeypatch, capfd) == ["plain\trunbook"]
    assert list_candidates("docyard search x --since v", monkeypatch, capfd) == ["plain\tv1.0"]
    assert list_candidates("docyard comments list --proposal ", monkeypatch, capfd) == [
        f"plain\t{proposal_id}"
    ]
    assert list_candidates("docyard init --branch ma", monkeypatch, capfd) == ["plain\tmain"]


def test_owners_commits_and_ranges_are_completed(
    document_repo: Path, git: Git, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(document_repo)
    (document_repo / "plan.md").write_text(
        "# Plan\n\n## Tasks\n\n- [ ] One\n  - Assignee: Ana Li\n- [ ] Two\n  - Assignee: bea\n"
        "- [ ] Three\n  - Assignee: Ana Li\n"
    )
    git("add", ".")
    git("commit", "--quiet", "--message", "Plan work")
    tip, parent = git("rev-parse", "HEAD", "HEAD~1").split()
    assert main(["proposals", "create", "Say more", "--json"]) == 0
    proposal_id = json.loads(capfd.readouterr().out)["proposal"]
    assert list_candidates("docyard tasks list --owner ", monkeypatch, capfd) == [
        "plain\tAna\\ Li",
        "plain\tbea",
    ]
    assert list_candidates("docyard tasks list --owner B", monkeypatch, capfd) == ["plain\tbea"]
    assert f"plain\t{parent}" in list_candidates(f"docyard diff {parent[:6]}", monkeypatch, capfd)
    assert list_candidates(f"docyard diff v1.0..{tip[:8]}", monkeypatch, capfd) == [f"plain\tv1.0..{tip}"]
    assert list_candidates("docyard diff v1.0...ma", monkeypatch, capfd) == ["plain\tv1.0...main"]
    assert list_candidates("docyard list --ref HE", monkeypatch, capfd) == ["plain\tHEAD"]
    command = f"docyard proposals approve {proposal_id} --commit "
    assert list_candidates(command, monkeypatch, capfd) == [f"plain\t{tip}"]
    assert list_candidates("docyard proposals approve --commit ", monkeypatch, capfd) == []
