"""`docyard validate`: the texts that it checks, its output, and its exit codes."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from docyard.cli.checked_files import collect_findings
from docyard.cli.main import main
from docyard.commands.validate import FORMATS
from tests import fork_server
from tests.docyard.conftest import Git
from workspace.config.config import WorkspaceConfig
from workspace.validation.files import list_folder
from workspace.validation.rules import RULES
from workspace.validation.run import RuleSelection, Validator

Capture = pytest.CaptureFixture[str]


def write_documents(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text)


def run_json(capsys: Capture, *arguments: str) -> tuple[int, Any]:
    """Run the command with --json; return its exit code and the parsed report."""
    capsys.readouterr()
    code = main(["validate", "--json", *arguments])
    return code, json.loads(capsys.readouterr().out)


def list_positions(report: Any) -> list[tuple[str, int, str]]:
    return [(finding["path"], finding["line"], finding["rule"]) for finding in report["findings"]]


def test_valid_workspace_exits_with_0(repo: Path, capsys: Capture) -> None:
    assert main(["validate", "-C", str(repo), "--off", "type-structure"]) == 0
    assert capsys.readouterr().out == "Nothing is wrong in 1 document of the work tree.\n"


def test_findings_are_grouped_by_file_and_exit_with_1(repo: Path, capsys: Capture) -> None:
    write_documents(repo, a="# A\n\n[x](gone.md)\n", b="# B\n\n### C \n")
    assert main(["validate", "-C", str(repo), "--off", "type-structure"]) == 1
    assert capsys.readouterr().out == (
        "a.md\n"
        "  3:5  error: the link 'gone.md' leads nowhere: there is no such file  [broken-link]\n"
        "\n"
        "b.md\n"
        "  3:1  warning: an h3 follows the title, so h2 is skipped  [skipped-level]\n"
        "      Write ## here, or a heading between the two.\n"
        "  3:6  warning: white space ends the heading's line  [trailing-space]\n"
        "      Remove the white space.\n"
        "\n"
        "1 error, 2 warnings in 2 files. Checked 3 documents of the work tree.\n"
        f"Some findings can be fixed: `docyard fix -C {repo} --check` shows the fixes.\n"
    )


def test_notes_alone_exit_with_0(repo: Path, capsys: Capture) -> None:
    write_documents(repo, guide="---\ntype: essay\n---\n\n# Guide\n")
    code, report = run_json(capsys, "-C", str(repo))
    assert (code, report["valid"], report["counts"]) == (0, True, {"error": 0, "warning": 0, "note": 1})


def test_missing_anchors_are_reported_if_rule_is_selected(repo: Path, capsys: Capture) -> None:
    assert main(["validate", "-C", str(repo), "--rule", "missing-anchor"]) == 1
    output = capsys.readouterr().out
    assert "guide.md\n  10:1  warning: the heading has no anchor" in output
    assert output.endswith(f"`docyard fix -C {repo} --anchors` writes the missing anchors.\n")


def test_work_tree_index_and_commit_are_separate_sources(repo: Path, git: Git, capsys: Capture) -> None:
    write_documents(repo, guide="# Guide\n\n[staged](1.md)\n")
    git("add", ".")
    write_documents(repo, guide="# Guide\n\n[now](2.md)\n", new="[new](3.md)\n")
    links_by_source = {}
    for options in ((), ("--staged",), ("--ref", "main")):
        _, report = run_json(capsys, "-C", str(repo), "--rule", "broken-link", *options)
        links_by_source[options] = [finding["message"].split("'")[1] for finding in report["findings"]]
    assert links_by_source == {(): ["2.md", "3.md"], ("--staged",): ["1.md"], ("--ref", "main"): []}
    assert run_json(capsys, "-C", str(repo), "--ref", "main")[1]["commit"] == git("rev-parse", "HEAD")


def test_paths_select_documents_but_not_link_targets(
    repo: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo / "docs" / "deep").mkdir(parents=True)
    write_documents(repo / "docs", a="[up](../guide.md#retries) [x](gone.md)\n")
    write_documents(repo / "docs" / "deep", b="[x](gone.md)\n")
    write_documents(repo, c="[x](gone.md)\n")
    monkeypatch.chdir(repo / "docs")
    assert [position[0] for position in list_positions(run_json(capsys, "deep", "a.md")[1])] == [
        "docs/a.md",
        "docs/deep/b.md",
    ]
    assert [position[0] for position in list_positions(run_json(capsys, ".")[1])] == [
        "docs/a.md",
        "docs/deep/b.md",
    ]
    assert list_positions(run_json(capsys, "../c.md")[1]) == [("c.md", 1, "broken-link")]


@pytest.mark.parametrize("path", ["gone.md", "../elsewhere", "ignored.md"])
def test_path_without_document_returns_error(repo: Path, capsys: Capture, path: str) -> None:
    (repo / ".gitignore").write_text("ignored.md\n")
    write_documents(repo, ignored="# Ignored\n")
    assert main(["validate", "-C", str(repo), path]) == 3
    assert capsys.readouterr().err == (
        f"error: there is no document at '{path}' in the work tree\n"
        "  fix: Name a .md file or a folder with .md files that Git does not ignore and that `root` and "
        "`exclude` in docyard.toml include.\n"
    )


def test_paths_are_found_through_link_to_repository(repo: Path, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "linked").symlink_to(repo)
    write_documents(repo, a="[x](gone.md)\n")
    for name in (".", "a.md", str(tmp_path / "linked" / "a.md")):
        assert ("a.md", 1, "broken-link") in list_positions(
            run_json(capsys, "-C", str(tmp_path / "linked"), name)[1]
        )


def test_folder_selects_only_documents_below_it(repo: Path, capsys: Capture) -> None:
    for folder in ("a", "a b", "a0", "a-b", "a/b"):
        (repo / folder).mkdir()
        write_documents(repo / folder, x="[x](gone.md)\n")
    write_documents(repo, a="[x](gone.md)\n")
    assert [position[0] for position in list_positions(run_json(capsys, "-C", str(repo), "a")[1])] == [
        "a/b/x.md",
        "a/x.md",
    ]


@pytest.mark.process
def test_exit_code_is_1_even_if_reader_closes_pipe(repo: Path) -> None:
    write_documents(repo, a="[x](gone.md)\n" * 5_000)
    command = (*fork_server.build_python_command(), "-m", "docyard", "validate", "-C", str(repo))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


@pytest.mark.process
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", [("validate", "--json"), ("links", "--json"), ("fix", "--check")])
def test_full_output_device_exits_with_3(repo: Path, arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full_device:
        command = (*fork_server.build_python_command(), "-m", "docyard", *arguments, "-C", str(repo))
        completed = subprocess.run(
            command, stdout=full_device, stderr=subprocess.PIPE, text=True, check=False
        )
    assert completed.returncode == 3
    assert re.fullmatch(r"error: the output is incomplete: .*\n  fix: .*\.\n", completed.stderr)


def test_folder_without_repository_is_validated(tmp_path: Path, capsys: Capture) -> None:
    write_documents(tmp_path, a="[x](gone.md) [b](b.md)\n", b="# B\n")
    code, report = run_json(capsys, "-C", str(tmp_path))
    assert (code, list_positions(report), report["commit"]) == (1, [("a.md", 1, "broken-link")], None)
    assert main(["validate", "-C", str(tmp_path), "--staged"]) == 3
    assert main(["validate", "-C", str(tmp_path), "--since", "main"]) == 3


def test_suggested_fix_command_matches_source(repo: Path, git: Git, tmp_path: Path, capsys: Capture) -> None:
    write_documents(repo, a="[x](gone.md)\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "A")
    for source in ([], ["--staged"], ["--ref", "HEAD~0"]):
        assert main(["validate", "-C", str(repo), *source, "--rule", "broken-link"]) == 1
        command = " ".join([f"docyard fix -C {repo} --check", *source])
        suggestion = capsys.readouterr().out.splitlines()[-1]
        assert suggestion == f"`{command}` shows which links can be fixed."
        assert main(command.split()[1:]) == 0
        capsys.readouterr()
    folder = tmp_path / "plain"
    folder.mkdir()
    write_documents(folder, a="[x](gone.md)\n\n- [] one\n")
    assert main(["validate", "-C", str(folder)]) == 1
    assert capsys.readouterr().out.endswith("Checked 1 document of the folder.\n")


def test_since_without_commits_returns_error(tmp_path: Path, git: Git, capsys: Capture) -> None:
    git("init", "--quiet", cwd=tmp_path)
    write_documents(tmp_path, a="# A\n")
    assert main(["validate", "-C", str(tmp_path), "--since", "HEAD"]) == 3
    assert capsys.readouterr().err.startswith("error: nothing is committed yet\n  fix: Commit a file first")


def test_bare_repository_is_read_at_head(repo: Path, git: Git, tmp_path: Path, capsys: Capture) -> None:
    git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare.git"))
    _, report = run_json(capsys, "-C", str(tmp_path / "bare.git"), "--off", "type-structure")
    assert (report["valid"], report["commit"]) == (True, git("rev-parse", "HEAD"))
    assert main(["validate", "-C", str(tmp_path / "bare.git"), "--staged"]) == 3


def test_since_reports_only_new_findings(repo: Path, git: Git, capsys: Capture) -> None:
    write_documents(repo, old="# Old\n\n[x](gone.md)\n\n[g](guide.md#retries)\n", new="# New\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "Before")
    git("checkout", "--quiet", "-b", "topic")
    write_documents(repo, guide="# Guide\n\n## Trying again\n", new="# New\n\n[y](gone.md)\n")
    git("commit", "--quiet", "--all", "--message", "Change")
    git("checkout", "--quiet", "main")
    write_documents(repo, old="# Old\n")  # fixed on main since: not new on the topic branch
    git("commit", "--quiet", "--all", "--message", "Fix the links")
    git("checkout", "--quiet", "topic")
    expected = [("new.md", 3, "broken-link"), ("old.md", 5, "broken-fragment")]
    for source in ((), ("--staged",), ("--ref", "topic")):
        code, report = run_json(capsys, "-C", str(repo), "--since", "main", *source)
        assert (code, list_positions(report)) == (1, expected)
    assert run_json(capsys, "-C", str(repo), "--since", "topic")[0] == 0
    assert run_json(capsys, "-C", str(repo), "--since", "topic", "--ref", "main")[0] == 0


def test_drift_is_reported_if_rule_is_enabled(repo: Path, git: Git, capsys: Capture) -> None:
    text = "# Auth {#auth}\n\n## Login {#login}\n\n- Covers: `src/a.py`\n\nText.\n"
    write_documents(repo, auth=text)
    (repo / "src").mkdir()
    for number in range(2):
        (repo / "src/a.py").write_text(f"{number}\n")
        git("add", "-A")
        git("commit", "-q", "-m", f"Commit {number}")
    _, report = run_json(capsys, str(repo / "auth.md"), "-C", str(repo))
    assert report["findings"] == []
    code, report = run_json(capsys, "--rule", "drift", "-C", str(repo))
    assert (code, list_positions(report)) == (1, [("auth.md", 3, "drift")])
    assert report["findings"][0]["message"] == "1 later commit changed the code that this text covers"
    assert run_json(capsys, "--rule", "drift", "-C", str(repo), "--since", "HEAD")[0] == 0
    assert run_json(capsys, "--rule", "drift", "-C", str(repo), "--since", "HEAD~1")[0] == 1
    write_documents(repo, auth=text.replace("Text.", "Corrected text."))
    assert run_json(capsys, "--rule", "drift", "-C", str(repo))[0] == 0
    assert run_json(capsys, "--rule", "drift", "-C", str(repo), "--ref", "HEAD")[0] == 1
    (repo / "docyard.toml").write_text(
        '[[validate.override]]\nmatch = "auth.md"\nrules = { drift = "note" }\n'
    )
    write_documents(repo, auth=text)
    code, report = run_json(capsys, str(repo / "auth.md"), "-C", str(repo))
    assert (code, list_positions(report)) == (0, [("auth.md", 3, "drift")])


def test_drift_is_new_after_a_correction_but_not_after_further_commits(
    repo: Path, git: Git, capsys: Capture
) -> None:
    text = "# Auth {#auth}\n\n## Login {#login}\n\n- Covers: `src/a.py`\n\nText.\n"
    (repo / "src").mkdir()

    def commit(content: str, text: str = text) -> None:
        write_documents(repo, auth=text)
        (repo / "src/a.py").write_text(content)
        git("add", "-A")
        git("commit", "-q", "-m", "Commit")

    def count_findings(*options: str) -> int:
        return len(run_json(capsys, "--rule", "drift", "-C", str(repo), *options)[1]["findings"])

    for number in range(3):
        commit(f"{number}\n")
    assert count_findings() == 1
    assert count_findings("--since", "HEAD~1") == 0
    assert count_findings("--since", "HEAD~2") == 1
    commit("2\n", text.replace("Text.", "Corrected text."))
    commit("3\n", text.replace("Text.", "Corrected text."))
    assert count_findings("--since", "HEAD~2") == 1


def test_drift_in_a_shallow_clone_warns(repo: Path, git: Git, tmp_path: Path, capsys: Capture) -> None:
    write_documents(repo, auth="# Auth\n\n- Covers: `auth.md`\n")
    git("add", "-A")
    git("commit", "-q", "-m", "Commit")
    clone = tmp_path / "clone"
    git("clone", "-q", "--depth", "1", f"file://{repo}", str(clone))
    assert main(["validate", "-C", str(clone), "--rule", "drift", "--since", "HEAD"]) == 0
    assert capsys.readouterr().err.count("this clone is shallow") == 1


def test_drift_without_repository_returns_error(tmp_path: Path, capsys: Capture) -> None:
    write_documents(tmp_path, a="# A\n")
    assert main(["validate", "-C", str(tmp_path), "--rule", "drift"]) == 3
    assert "--off drift" in capsys.readouterr().err


def test_date_is_accepted_as_ref(repo: Path, git: Git, capsys: Capture) -> None:
    code, report = run_json(capsys, "-C", str(repo), "--ref", "@{2099-12-31}")
    assert report == run_json(capsys, "-C", str(repo), "--ref", "HEAD")[1]
    assert code == run_json(capsys, "-C", str(repo), "--ref", "HEAD")[0]
    assert main(["validate", "-C", str(repo), "--ref", "@{2001-01-31}"]) == 3
    assert "is before the history" in capsys.readouterr().err


def test_unknown_ref_returns_error(repo: Path, capsys: Capture) -> None:
    for option in ("--ref", "--since"):
        assert main(["validate", "-C", str(repo), option, "gone"]) == 3
        assert "'gone' names no branch, tag or commit of the repository" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ("--ref", "main", "--staged"),
        ("--json", "--format", "sarif"),
        ("--rule", "no-such-rule"),
        ("--dialect", "gitlab"),
        ("--max-findings", "-1"),
    ],
)
def test_wrong_usage_exits_with_2(repo: Path, arguments: tuple[str, ...]) -> None:
    assert main(["validate", "-C", str(repo), *arguments]) == 2


def test_invalid_settings_exit_with_3(repo: Path, capsys: Capture) -> None:
    (repo / "docyard.toml").write_text('[validate.rules]\nbroken-link = "of"\n')
    assert main(["validate", "-C", str(repo)]) == 3
    assert (
        "validate.rules.broken-link: must be 'error', 'warning', 'note' or 'off'" in capsys.readouterr().err
    )


def test_dialect_option_changes_link_resolution(repo: Path, capsys: Capture) -> None:
    write_documents(repo, a="[x](guide/#retries) [y](guide.md)\n")
    assert list_positions(run_json(capsys, "-C", str(repo), "a.md")[1]) == [("a.md", 1, "broken-link")]
    assert run_json(capsys, "-C", str(repo), "a.md", "--dialect", "mkdocs")[0] == 0


def test_omitted_findings_are_counted(repo: Path, capsys: Capture) -> None:
    write_documents(repo, a="[x](gone.md)\n" * 5)
    code, report = run_json(capsys, "-C", str(repo), "a.md", "--max-findings", "2")
    assert (code, len(report["findings"]), report["left_out"], report["counts"]["error"]) == (1, 2, 3, 5)
    assert main(["validate", "-C", str(repo), "a.md", "--max-findings", "2"]) == 1
    assert "3 more findings are not shown; --max-findings shows more.\n5 errors" in capsys.readouterr().out


@pytest.mark.parametrize("format_name", FORMATS)
def test_every_format_escapes_control_characters(repo: Path, capsys: Capture, format_name: str) -> None:
    (repo / "a\u202eb.md").write_text("[x](<gone\u200b\x1b[2J\u202e.md>)\n\n# \x07 T\n\n[y](#\u2066)\n")
    (repo / "docyard.toml").write_text("")
    assert main(["validate", "-C", str(repo), "--format", format_name]) == 1
    output = capsys.readouterr().out
    assert all(line.isprintable() for line in output.splitlines())
    assert "gone" in output


@pytest.mark.process
def test_several_processes_return_same_findings_as_one(tmp_path: Path) -> None:
    # Each document has a link to a section `s1`, which only d001.md has: only the link of d033.md is valid.
    for number in range(200):
        write_documents(
            tmp_path, **{f"d{number:03}": f"# D\n\n## S{number}\n\n[x](d{(number * 7) % 230:03}.md#s1)\n"}
        )
    files = list_folder(tmp_path, None)
    validator = Validator(files, RuleSelection(files.config.validation))
    findings = collect_findings(validator, files.documents, 1)
    assert len(findings) == 199
    assert collect_findings(validator, files.documents, 3) == findings


def test_docs_page_lists_rules_with_their_levels() -> None:
    page = (Path(__file__).parents[3] / "docs" / "validate.md").read_text(encoding="utf-8")
    levels_by_rule = re.findall(r"^\| `([a-z0-9-]+)` \|.*\| (error|warning|note|off) \|$", page, re.MULTILINE)
    assert levels_by_rule == [(rule.name, (rule.severity or "off")) for rule in RULES]
    [settings] = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    levels = WorkspaceConfig.read(settings.encode()).validation.levels("archive/2020/a.md")
    assert levels == {
        "missing-anchor": "warning",
        "several-h1": "off",
        "broken-link": "off",
        "broken-fragment": "off",
    }
