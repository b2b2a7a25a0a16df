"""Completion in real shells: each is started, a line is typed into it, and the line is read back."""

from __future__ import annotations

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
from tests import warm
from tests.docyard.conftest import Git

ROOT = Path(__file__).resolve().parents[3]

# Keys that end a line here: the shell writes what stands in it to a file.
RECORD = b"\x18r"
BASH = """\
record() {{ printf '%s' "$READLINE_LINE" > {out}; }}
bind 'set bell-style none'; bind 'set enable-bracketed-paste off'; bind -x '"\\C-xr": record'
source {script}; echo ready > {out}
"""
ZSH = """\
record() {{ print -rn -- "$BUFFER" > {out}; }}
autoload -Uz compinit; compinit -D -u; zle -N record; bindkey '^Xr' record; unsetopt beep
setopt extended_glob; source {script}; echo ready > {out}
"""
STARTED = {
    "bash": ["bash", "--noprofile", "--norc", "-i"],
    "zsh": ["zsh", "--no-rcs", "--interactive"],
}


@pytest.fixture
def documents(repo: Path, git: Git) -> Path:
    """A repository with names that a shell takes for something else."""
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
def surroundings(tmp_path: Path, documents: Path, home: Path) -> dict[str, str]:
    """The variables of a user whose shell finds this very docyard."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "docyard"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(warm.python())} -m docyard "$@"\n')
    program.chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{folder}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "INPUTRC": os.devnull,
        "TERM": "dumb",
        "LC_ALL": "C.UTF-8",
    }


def typed(
    shell: str, setup: str, lines: list[str], folder: Path, surroundings: dict[str, str], tmp_path: Path
) -> list[str]:
    """What stands in the line after each of these was typed, with the Tab that follows."""
    out, start = tmp_path / "line", tmp_path / f"start.{shell}"
    script = tmp_path / f"docyard.{shell}"
    script.write_bytes(
        subprocess.run(
            ["docyard", "completion", shell], env=surroundings, capture_output=True, check=True
        ).stdout
    )
    start.write_text(setup.format(out=out, script=script))
    process, terminal = pty.fork()
    if not process:
        os.chdir(folder)
        os.execvpe(STARTED[shell][0], STARTED[shell], surroundings)
    try:
        os.write(terminal, f"source {start}\n".encode())
        assert recorded(out, terminal) == "ready\n"
        found = []
        for line in lines:
            os.write(terminal, line.encode() + b"\t" + RECORD)
            found.append(recorded(out, terminal))
            os.write(terminal, b"\x05\x15")  # to the end, and away with all of it
        return found
    finally:
        os.close(terminal)
        os.waitpid(process, 0)


def recorded(out: Path, terminal: int) -> str:
    """The line that the shell has written, once it has."""
    seen, end = b"", time.monotonic() + 60
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.05)[0]:
            seen += os.read(terminal, 65536)
        if out.exists():
            time.sleep(0.05)
            line = out.read_text()
            out.unlink()
            return line
    raise AssertionError(f"the shell wrote nothing; it said {seen!r}")


CASES = {
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
@pytest.mark.parametrize(("shell", "setup"), [("bash", BASH), ("zsh", ZSH)])
def test_a_line_is_completed(
    shell: str, setup: str, documents: Path, surroundings: dict[str, str], tmp_path: Path
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    found = typed(shell, setup, list(CASES), documents, surroundings, tmp_path)
    told = [line.replace(r"\#", "#") for line in found]
    assert dict(zip(CASES, told, strict=True)) == CASES


@pytest.mark.process
def test_the_function_of_bash(documents: Path, surroundings: dict[str, str]) -> None:
    script = """source <(docyard completion bash)
for COMP_LINE in "$@"; do
    COMP_WORDS=($COMP_LINE) COMP_POINT=${#COMP_LINE} COMP_CWORD=2 COMPREPLY=()
    _docyard_completion docyard "${COMP_LINE##* }" read
    printf '%s\\n' "${COMPREPLY[@]}" --
done
"""
    lines = ["docyard read guide.md#retries", "docyard read nothing.md#", r"docyard read my\ docs/"]
    done = subprocess.run(
        ["bash", "--norc", "-c", script, "bash", *lines],
        cwd=documents,
        env=surroundings,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split("--\n") == [
        "guide.md#retries\nguide.md#retries/backoff\n",
        "",
        "docs/Big\\ Plan.md\n",
        "",
    ]


@pytest.mark.process
def test_candidates_in_fish(documents: Path, surroundings: dict[str, str], tmp_path: Path) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    script = "docyard completion fish | source; for line in $argv; complete -C $line; echo; end"
    lines = ["docyard read guide.md#li", r"docyard read my\ docs/B", "docyard read --ref=v"]
    done = subprocess.run(
        ["fish", "--no-config", "-c", script, *lines],
        cwd=documents,
        env=surroundings,
        capture_output=True,
        text=True,
        check=True,
    )
    assert [part.split("\n") for part in done.stdout.strip().split("\n\n")] == [
        ["guide.md#limits\tLimits"],
        ["my docs/Big Plan.md", "my docs/Big Plan.md#"],
        ["--ref=v1.0"],
    ]


def ask(
    line: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], word: str = ""
) -> list[str]:
    """What bash is told for a line, by this process."""
    monkeypatch.setenv("_DOCYARD_COMPLETE", "bash_complete")
    monkeypatch.setenv("_DOCYARD_LINE", line)
    monkeypatch.setenv("_DOCYARD_WORD", word or line.rpartition(" ")[2])
    with pytest.raises(SystemExit):
        main([])
    captured = capfd.readouterr()
    assert captured.err == ""
    return captured.out.split("\n")[:-1] if captured.out.strip() else []


def test_from_the_current_folder(
    documents: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(documents / "my docs")
    assert ask("docyard read ", monkeypatch, capfd) == ["part\tBig\\ Plan.md"]
    assert ask("docyard read ../gu", monkeypatch, capfd) == ["part\t../guide.md"]
    assert ask("docyard read ../guide.md#li", monkeypatch, capfd) == ["plain\t../guide.md#limits"]
    assert ask("docyard read gu", monkeypatch, capfd) == ["part\tguide.md"]


def test_at_a_ref_and_in_another_repository(
    documents: Path, git: Git, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    git("mv", "guide.md", "handbook.md")
    git("commit", "--quiet", "--message", "Rename")
    line = f"docyard read -C {documents} "
    assert ask(line + "gu", monkeypatch, capfd) == []
    assert ask(line + "--ref v1.0 gu", monkeypatch, capfd) == ["part\tguide.md"]
    assert ask(line + "--ref never gu", monkeypatch, capfd) == []


def test_within_quotes(
    documents: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(documents)
    assert ask('docyard read "my docs/Big ', monkeypatch, capfd, "my docs/Big ") == [
        "part\tmy docs/Big Plan.md"
    ]


def test_where_words_are_cut_at_a_colon(
    documents: Path, git: Git, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (documents / "a: b.md").write_text("# A\n\n## One\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "Colon")
    monkeypatch.chdir(documents)
    assert ask(r"docyard read a:\ b.md#o", monkeypatch, capfd, r"\ b.md#o") == ["plain\t\\ b.md#one"]


@pytest.fixture
def searched(documents: Path, git: Git, capfd: pytest.CaptureFixture[str]) -> Path:
    """The documents with values of keys, after a search has written the metadata of the index."""
    (documents / "docyard.toml").write_text("[taxonomy.language]\n[taxonomy.level]\n")
    (documents / "go.md").write_text(
        "---\ntype: api_spec\ntags: [sdk, 'rate limit', 'security', 'a \"b']\nlanguage: go\n---\n# Go\n"
    )
    git("add", ".")
    git("commit", "--quiet", "--message", "Values")
    assert main(["search", "go", "-C", str(documents)]) == 0
    capfd.readouterr()
    return documents


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
def test_fields_and_values_of_queries(
    word: str,
    expected: list[str],
    searched: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(searched)
    assert ask(f"docyard search retries {word}", monkeypatch, capfd) == expected


def test_within_brackets_and_quotes_of_queries(
    searched: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(searched)
    assert ask("docyard search '(ty", monkeypatch, capfd, "(ty") == ["part\t(type:"]
    assert ask("docyard search '((type:a", monkeypatch, capfd, "((type:a") == ["plain\t((type:api_spec"]
    found = ask("docyard search 'tag:\"ra", monkeypatch, capfd, 'tag:"ra')
    assert found == ['plain\ttag:"rate limit"']


def test_keys_of_queries_are_those_of_the_ref(
    searched: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(searched)
    assert ask("docyard search --ref v1.0 l", monkeypatch, capfd) == []
    assert ask("docyard search --ref v1.0 type:a", monkeypatch, capfd) == ["plain\ttype:api_spec"]
    assert ask("docyard search --ref v1.0 path:go", monkeypatch, capfd) == []


def test_fields_without_an_index(
    documents: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(documents)
    assert ask("docyard search ty", monkeypatch, capfd) == ["part\ttype:"]
    assert ask("docyard search type:", monkeypatch, capfd) == []


def test_fields_and_values_of_an_artifact(
    searched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["build", str(searched), "--out", str(tmp_path / "site")]) == 0
    capfd.readouterr()
    monkeypatch.chdir(tmp_path)
    assert ask("docyard search --index site lang", monkeypatch, capfd) == ["part\tlanguage:"]
    assert ask("docyard search --index site tag:sd", monkeypatch, capfd) == ["plain\ttag:sdk"]
    assert ask("docyard search --index nowhere tag:sd", monkeypatch, capfd) == []


def test_at_most_some_hundred(
    documents: Path, git: Git, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (documents / "long.md").write_text("# Long\n\n" + "".join(f"## Part {n}\n\n" for n in range(1_000)))
    git("add", ".")
    git("commit", "--quiet", "--message", "Long")
    monkeypatch.chdir(documents)
    assert len(ask("docyard read long.md#part", monkeypatch, capfd)) == 300
    assert len(ask("docyard read long.md#part-99", monkeypatch, capfd)) == 11


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_says_how_it_is_set_up(shell: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert f"docyard completion {shell}" in capfd.readouterr().out


def test_another_shell_is_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert "bash" in capfd.readouterr().err
