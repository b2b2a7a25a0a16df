"""`docyard fix`: fixes in a commit, in the work tree, or as a preview."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from docyard.cli.main import main
from docyard.commands.fix import RULES
from tests.docyard.conftest import Git
from tests.loops import loop_over
from workspace.validation.fixes.fix import FIXABLE_RULES

FIXABLE_TEXT = "# Doc\n\n- [] one\n\n[g](Guide.md)\n"


def run_fix(capsys: pytest.CaptureFixture[str], repo: Path, *arguments: str) -> tuple[int, str, str]:
    code = main(["fix", "-C", str(repo), *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def commit_files(repo: Path, git: Git, **files: str) -> None:
    for name, text in files.items():
        (repo / f"{name}.md").write_text(text)
    git("add", ".")
    git("commit", "--quiet", "--message", "More")


def test_safe_fixes_are_committed_in_one_commit(
    repo: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    commit_files(repo, git, doc=FIXABLE_TEXT)
    code, output, _ = run_fix(capsys, repo, "--message", "Fix links")
    assert code == 0
    assert (repo / "doc.md").read_text() == "# Doc\n\n- [ ] one\n\n[g](guide.md)\n"
    assert git("log", "-1", "--format=%s %an") == "Fix links Ann Author"
    assert git("status", "--porcelain") == ""
    assert "-- [] one\n+- [ ] one\n" in output
    assert (
        f"Fixed in 1 document: 1 broken-link, 1 malformed-task (commit {git('rev-parse', 'HEAD')[:12]})."
        in output
    )
    assert main(["validate", "-C", str(repo), "doc.md"]) == 0
    capsys.readouterr()
    assert run_fix(capsys, repo)[1] == "There is nothing to fix.\n"


def test_anchors_option_changes_only_headings(
    repo: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    commit_files(repo, git, doc=FIXABLE_TEXT + "\n## Retries ##  \n")
    code, output, _ = run_fix(capsys, repo, "--anchors")
    assert code == 0
    assert (repo / "doc.md").read_text() == FIXABLE_TEXT + "\n## Retries {#retries} ##  \n"
    assert "2 missing-anchor" in output
    assert main(["validate", "-C", str(repo), "--rule", "missing-anchor"]) == 0
    capsys.readouterr()
    head = git("rev-parse", "HEAD")
    assert run_fix(capsys, repo, "--anchors") == (0, "There is nothing to fix.\n", "")
    assert git("rev-parse", "HEAD") == head


def test_check_option_reads_work_tree_and_changes_no_file(
    repo: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_fix(capsys, repo, "--check")[0] == 0
    (repo / "draft.md").write_text(FIXABLE_TEXT)
    code, output, _ = run_fix(capsys, repo, "--check")
    assert code == 1
    assert "+++ b/draft.md" in output
    assert "Would fix in 1 document: 1 broken-link, 1 malformed-task." in output
    assert (repo / "draft.md").read_text() == FIXABLE_TEXT
    assert run_fix(capsys, repo, "--check", "--staged")[0] == 0
    git("add", "draft.md")
    assert run_fix(capsys, repo, "--check", "--staged")[0] == 1
    assert run_fix(capsys, repo, "--check", "--ref", "HEAD")[0] == 0
    assert git("log", "--oneline").count("\n") == 0


def test_write_option_fixes_files_without_commit(
    repo: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / "draft.md").write_text(FIXABLE_TEXT)
    (repo / "draft.md").chmod(0o755)
    (repo / "other.md").write_text(FIXABLE_TEXT)
    code, output, _ = run_fix(capsys, repo, "--write", "draft.md")
    assert code == 0
    assert "Fixed in 1 document" in output
    assert (repo / "draft.md").read_text() == "# Doc\n\n- [ ] one\n\n[g](guide.md)\n"
    assert (repo / "draft.md").stat().st_mode & 0o777 == 0o755
    assert (repo / "other.md").read_text() == FIXABLE_TEXT
    assert git("status", "--porcelain") == "?? draft.md\n?? other.md"
    assert git("log", "--oneline").count("\n") == 0


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX limits of file sizes")
def test_unwritable_files_are_not_reported_as_fixed(repo: Path) -> None:
    (repo / "large.md").write_text(f"{FIXABLE_TEXT}{'word ' * 100_000}")
    (repo / "small.md").write_text(FIXABLE_TEXT)
    limited_script = (
        "import resource, sys; from docyard.cli.main import main; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)); sys.exit(main(sys.argv[1:]))"
    )
    for file_names, summary in (
        (("large.md", "small.md"), "Fixed in 1 document: 1 broken-link, 1 malformed-task."),
        (("large.md",), "No file could be written."),
    ):
        command = (sys.executable, "-c", limited_script, "fix", "--write", "-C", str(repo), *file_names)
        completed = subprocess.run(command, capture_output=True, text=True, check=False)
        assert completed.returncode == 3
        assert "not fixed: large.md: the file cannot be written" in completed.stderr
        assert completed.stdout.endswith(f"{summary}\n")
        assert "large.md" not in completed.stdout
    assert (repo / "large.md").read_text().startswith(FIXABLE_TEXT)
    assert sorted(path.name for path in repo.iterdir() if "new" in path.name) == []


def test_uncommitted_documents_are_reported_if_commit_needs_no_fix(
    repo: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / "draft.md").write_text(FIXABLE_TEXT)
    code, output, _ = run_fix(capsys, repo)
    assert (code, output) == (
        0,
        "There is nothing to fix in the commit. Documents with uncommitted changes: 1; "
        f"`docyard fix -C {repo} --write` fixes the files.\n",
    )
    assert run_fix(capsys, repo, "guide.md")[1] == "There is nothing to fix.\n"
    code, _, error = run_fix(capsys, repo, "draft.md")
    assert code == 3
    assert "there is no document at 'draft.md' in the commit" in error
    (repo / ".gitignore").write_text("draft.md\n")
    assert run_fix(capsys, repo)[1] == "There is nothing to fix.\n"


def test_links_in_work_tree_follow_new_anchors(
    repo: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / "a.md").write_text("# A\n\n## API\n\n### Errors\n\n## Errors\n")
    (repo / "b.md").write_text("[x](a.md#errors)\n")
    code, output, _ = run_fix(capsys, repo, "--write", "--anchors", "a.md")
    assert code == 0
    assert (repo / "b.md").read_text() == "[x](a.md#api/errors)\n"
    assert "3 missing-anchor, 1 updated link." in output


def test_file_with_uncommitted_changes_is_refused(
    repo: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    commit_files(repo, git, doc=FIXABLE_TEXT)
    (repo / "doc.md").write_text("mine\n")
    code, _, error = run_fix(capsys, repo)
    assert code == 3
    assert "doc.md" in error
    assert (repo / "doc.md").read_text() == "mine\n"


def test_json_contains_fixes_and_unfixed_findings(
    repo: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    commit_files(repo, git, doc=FIXABLE_TEXT, long="## " + "a" * 1_001 + "\n")
    code, output, _ = run_fix(
        capsys, repo, "--check", "--json", "--rule", "malformed-task", "--rule", "missing-anchor"
    )
    assert code == 1
    data = json.loads(output)
    assert data["commit"] is None
    assert data["mends"] == {"malformed-task": 1, "missing-anchor": 1}
    assert data["documents"] == [
        {"path": "doc.md", "mends": [{"rule": "malformed-task", "line": 3}]},
        {"path": "guide.md", "mends": [{"rule": "missing-anchor", "line": 10}]},
    ]
    assert [(finding["path"], finding["line"], finding["rule"]) for finding in data["left"]] == [
        ("long.md", 1, "missing-anchor")
    ]
    assert json.loads(run_fix(capsys, repo, "--json")[1])["commit"] == git("rev-parse", "HEAD")


def test_unfixed_findings_are_reported_after_diff(
    repo: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    commit_files(repo, git, **{f"d{number}": "# T {#x}\n\n## X\n" for number in range(30)})
    code, _, error = run_fix(capsys, repo, "--anchors", "--check")
    assert code == 1
    assert (
        "not fixed: d0.md:3: 'x' is already the name of another target in the document [missing-anchor]\n"
        in error
    )
    assert "not fixed: 10 more, which --json lists" in error


def test_long_diff_is_truncated_and_hidden_characters_are_escaped(
    repo: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    commit_files(repo, git, doc="# T\n\n## A \x1b[31m\u202eb\n" + "## More\n" * 100)
    _, output, _ = run_fix(capsys, repo, "--anchors", "--check", "--lines", "6")
    assert "\x1b" not in output
    assert "\u202e" not in output
    assert output.count("\n") == 8  # six lines of the diff, the note about truncation, and the summary
    assert "The diff is truncated" in output
    _, output, _ = run_fix(capsys, repo, "--anchors", "--check", "--lines", "0")
    assert output.count("\n") == 1


@loop_over(
    "arguments",
    [
        ["--check", "--write"],
        ["--staged"],
        ["--ref", "HEAD"],
        ["--check", "--ref", "HEAD", "--staged"],
        ["--check", "--message", "x"],
        ["--write", "--branch", "main"],
        ["--rule", "several-h1"],
    ],
)
def test_invalid_options_exit_with_2(
    repo: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert run_fix(capsys, repo, *arguments)[0] == 2


def test_folder_without_repository_is_refused_with_init_as_fix(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "a.md").write_text("## A\n")
    code, _, error = run_fix(capsys, tmp_path / "plain", "--anchors")
    assert code == 3
    assert "docyard init" in error
    assert (tmp_path / "plain" / "a.md").read_text() == "## A\n"


def test_bare_repository_is_fixed_by_commit_but_not_by_write_option(
    repo: Path, git: Git, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commit_files(repo, git, doc=FIXABLE_TEXT)
    git("clone", "--quiet", "--bare", str(repo), str(tmp_path / "bare.git"))
    bare_path = tmp_path / "bare.git"
    assert run_fix(capsys, bare_path, "--check", "--ref", "main")[0] == 1
    assert run_fix(capsys, bare_path, "--write")[0] == 3
    assert run_fix(capsys, bare_path)[0] == 0
    assert "- [ ] one" in git("show", "main:doc.md", cwd=bare_path)


def test_repository_without_commit_has_no_fixes(
    tmp_path: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    git("init", "--quiet", cwd=folder)
    assert run_fix(capsys, folder) == (0, "There is nothing to fix.\n", "")
    (folder / "doc.md").write_text("- [] one\n")
    assert run_fix(capsys, folder, "--check")[0] == 1


def test_rule_option_accepts_every_fixable_rule() -> None:
    assert set(RULES) == FIXABLE_RULES


def test_protected_document_is_fixed_in_proposal(
    repo: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / "docyard.toml").write_text('[[protect]]\npaths = ["doc.md"]\n')
    commit_files(repo, git, doc=FIXABLE_TEXT, free=FIXABLE_TEXT)
    head_before = git("rev-parse", "HEAD")
    code, output, _ = run_fix(capsys, repo, "--message", "Fix links", "--json")
    data = json.loads(output)
    assert (code, git("rev-parse", "HEAD")) == (0, head_before)
    branch = f"proposals/{data['proposal']}-fix-links"
    assert git("rev-parse", branch) == data["commit"]
    assert git("show", f"{branch}:doc.md") == "# Doc\n\n- [ ] one\n\n[g](guide.md)"
    assert git("show", f"{branch}:free.md") == "# Doc\n\n- [ ] one\n\n[g](guide.md)"
    code, output, _ = run_fix(capsys, repo, "free.md")
    assert "Fixed in 1 document" in output
    assert "proposal" not in output
    code, output, _ = run_fix(capsys, repo, "doc.md")
    assert "`docyard proposals submit " in output
    assert git("status", "--porcelain") == ""
