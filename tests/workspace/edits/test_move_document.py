"""Moves, renames and removals of documents have the results of the examples in `move_document.md`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import repositories
from tests.loops import loop_over
from tests.repositories import Repo
from tests.workspace.cases import Case, read_cases
from tests.workspace.links.cases import EDIT_CONTEXT, plan_case, read_files
from workspace.document.section_text import compute_digest
from workspace.edits.documents import MoveDocument
from workspace.edits.operation import Operation
from workspace.edits.text import AppendContent, UpdateContent
from workspace.errors import WorkspaceError
from workspace.git.reader import GitReader
from workspace.paths import InvalidPath
from workspace.snapshot.snapshot import DocumentNotFound, Snapshot
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode, Plan, StepStatus, build_plan
from workspace.writing.read_before_write import Precondition, SeenTexts

pytestmark = pytest.mark.smoke


@loop_over("case", read_cases("move_document.md"))
def test_move_rename_and_removal_have_the_results_of_the_examples(case: Case, tmp_path: Path) -> None:
    result = plan_case(case, tmp_path / "repo")
    errors = [f"{step.error.code}: {step.error.message}" for step in result.steps if step.error]
    assert errors == case.fences.get("error", "").splitlines()
    removed_paths = dict.fromkeys(case.fences.get("gone", "").splitlines())
    new_texts = {path: data.decode() for path, data in read_files(case, "after").items()}
    changes = {path: None if data is None else data.decode() for path, data in result.changes.items()}
    assert changes == {**new_texts, **removed_paths}
    outcome = result.steps[-1].outcome
    if "answer" in case.fences:
        assert outcome is not None
        expected_fields = case.json("answer")
        assert {key: outcome.result.get(key) for key in expected_fields} == expected_fields
    if "hints" in case.fences:
        hints = [hint for step in result.steps if step.outcome for hint in step.outcome.hints]
        assert hints == case.fences["hints"].splitlines()


def take_snapshot(repo: Repo) -> Snapshot:
    return Snapshot(GitReader(repo.path), repo.head())


def plan_operations(repo: Repo, *operations: Operation, precondition: Precondition | None = None) -> Plan:
    return build_plan(take_snapshot(repo), operations, BatchMode.EACH, EDIT_CONTEXT, precondition)


def find_error(repo: Repo, operation: Operation) -> WorkspaceError:
    [step] = plan_operations(repo, operation).steps
    assert step.error is not None
    assert step.error.fix
    return step.error


@pytest.mark.parametrize(
    ("new_path", "resulting_path"),
    [
        ("guides", "guides/README.md"),
        ("guides/", "guides/README.md"),
        ("./new/", "new/README.md"),
        ("new/name", "new/name.md"),
        ("v1.2", "v1.2.md"),
        ("new.markdown", "new.markdown"),
        ("readme.md", "readme.md"),
        (" ./a b.md ", "a b.md"),
    ],
)
def test_new_path_is_completed_with_name_and_suffix(repo: Repo, new_path: str, resulting_path: str) -> None:
    [step] = plan_operations(repo, MoveDocument(file="README.md", new_path=new_path)).steps
    assert step.outcome is not None
    assert step.outcome.result["file"] == step.outcome.path == resulting_path
    assert step.outcome.result["was"] == {"file": "README.md"}


@pytest.mark.parametrize("new_path", ["README.md", "./README.md", ".", "./"])
def test_move_to_the_same_path_succeeds_without_a_commit(repo: Repo, new_path: str) -> None:
    result = plan_operations(repo, MoveDocument(file="README.md", new_path=new_path))
    [step] = result.steps
    assert (step.status, result.changes, result.summaries) == (StepStatus.DONE, {}, ())


@loop_over(
    ("new_path", "code", "message_part"),
    [
        ("guides/setup.md", "PATH_EXISTS", "already exists"),
        ("guides/Setup.md", "PATH_EXISTS", "only in case"),
        ("Guides/x.md", "PATH_EXISTS", "only in case"),
        ("README.md/x.md", "PATH_EXISTS", "moved into itself"),
        ("README.md/", "PATH_EXISTS", "moved into itself"),
        ("guides/setup.md/x.md", "PATH_EXISTS", "is a file, not a folder"),
        ("notes.txt", "INVALID_PATH", "a document must be a .md or .markdown file"),
        ("x.MD", "INVALID_PATH", "a document must be a .md or .markdown file"),
        (".hidden/x.md", "INVALID_PATH", "documents are .md or .markdown files"),
        ("excluded/x.md", "INVALID_PATH", "documents are .md or .markdown files"),
        ("../x.md", "INVALID_PATH", "`.` or `..`"),
        ("/x.md", "INVALID_PATH", "not relative"),
        ("", "INVALID_PATH", "empty"),
        ("/", "INVALID_PATH", "not relative"),
        ("a\\b.md", "INVALID_PATH", "backslash"),
        ("a?.md", "INVALID_PATH", "Windows"),
        (".git/x.md", "INVALID_PATH", "Git's own folder"),
    ],
)
def test_move_to_an_invalid_or_used_path_is_refused(
    repo: Repo, new_path: str, code: str, message_part: str
) -> None:
    repo.commit({"docyard.toml": 'exclude = ["excluded/**"]\n'})
    error = find_error(repo, MoveDocument(file="README.md", new_path=new_path))
    assert (error.code, message_part in error.message) == (code, True), error.message


def test_move_out_of_the_root_is_refused(repo: Repo) -> None:
    repo.commit({"docyard.toml": 'root = "guides"\n'})
    error = find_error(repo, MoveDocument(file="guides/setup.md", new_path="setup.md"))
    assert isinstance(error, InvalidPath)
    result = plan_operations(repo, MoveDocument(file="guides/setup.md", new_path="guides/deep"))
    assert result.changes.keys() == {"guides/setup.md", "guides/deep/setup.md"}


def test_error_of_operation_on_the_old_path_names_the_new_path(repo: Repo) -> None:
    result = plan_operations(
        repo,
        MoveDocument(file="README.md", new_path="start.md"),
        MoveDocument(file="start.md", new_path="begin.md"),
        AppendContent(file="README.md", slug="_preamble", content="x"),
        AppendContent(file="begin.md", slug="_preamble", content="More."),
        MoveDocument(file="begin.md", new_path="README.md"),
    )
    assert [step.status.value for step in result.steps] == ["done", "done", "failed", "done", "done"]
    error = result.steps[2].error
    assert isinstance(error, DocumentNotFound)
    assert error.message == "'README.md' was moved to 'begin.md' by an earlier operation of this batch"
    assert error.details["candidates"] == ["begin.md"]
    assert result.changes == {"README.md": b"# Example\n\nText.\n\nMore.\n"}


def test_document_over_the_write_limits_is_moved(repo: Repo) -> None:
    repo.commit({"docyard.toml": "[limits]\nheadings = 10\n", "many.md": "## Same\n\n" * 11})
    assert (
        plan_operations(repo, MoveDocument(file="many.md", new_path="x.md")).steps[0].status
        is StepStatus.DONE
    )


def test_move_to_other_manifest_values_gives_a_hint(repo: Repo) -> None:
    repo.commit(
        {
            "docyard.toml": "[taxonomy.scope]\n",
            "guides/.taxonomy.toml": '[metadata]\nscope = "guide"\n',
        }
    )
    [step] = plan_operations(repo, MoveDocument(file="README.md", new_path="guides/")).steps
    assert step.outcome is not None
    assert step.outcome.hints == (
        "the manifests of the folders give the document other values at its new path "
        "(scope: none before, guide now)",
    )
    [step] = plan_operations(repo, MoveDocument(file="README.md", new_path="x.md")).steps
    assert step.outcome is not None
    assert not step.outcome.hints


@pytest.mark.parametrize("is_read", [True, False])
@pytest.mark.parametrize("evidence", ["base", "seen_texts"])
def test_only_text_read_before_a_move_may_be_overwritten_after_it(
    repo: Repo, evidence: str, is_read: bool
) -> None:
    repo.commit({"other.md": "# Other\n\n[x](README.md)\n"})
    seen_texts, base = SeenTexts(), None
    if is_read and evidence == "base":
        base = take_snapshot(repo)
    elif is_read:
        for path in ("README.md", "other.md"):
            document = take_snapshot(repo).document(path)
            seen_texts.add(compute_digest(document, section) for section in document.sections)
    result = plan_operations(
        repo,
        MoveDocument(file="README.md", new_path="new.md"),
        UpdateContent(file="new.md", slug="_preamble", content="Else."),
        UpdateContent(file="other.md", slug="_preamble", content="Else."),
        precondition=Precondition(base, seen_texts),
    )
    expected = "done" if is_read else "failed"
    assert [step.status.value for step in result.steps] == ["done", expected, expected]


@loop_over("new_path", ["readme.md", "new/place.md"])
def test_move_is_one_commit_in_tree_index_and_work_tree(tmp_path: Path, new_path: str) -> None:
    repo = repositories.create_repository(
        tmp_path / "repo", {"README.md": "# A\n", "b.md": "[a](README.md)\n"}
    )
    workspace = Workspace.open(repo.path)
    head_before = repo.head()
    operation = MoveDocument(file="README.md", new_path=new_path)
    result = workspace.write([operation], mode=BatchMode.EACH, tool="edit_document", client="test")
    assert result.is_committed
    assert repo.git("rev-parse", "HEAD~1").strip() == head_before
    assert repo.git("ls-tree", "-r", "--name-only", "HEAD").split() == sorted(["b.md", new_path])
    assert repo.git("status", "--porcelain") == ""
    assert sorted(str(path.relative_to(repo.path)) for path in repo.path.rglob("*.md")) == sorted(
        ["b.md", new_path]
    )
    assert (repo.path / "b.md").read_text() == f"[a]({new_path})\n"


def test_move_includes_concurrent_edits_of_another_writer(repo: Repo) -> None:
    first_snapshot = take_snapshot(repo)
    repo.commit({"README.md": "# Example\n\nNew text.\n", "late.md": "[x](README.md)\n"})
    result = plan_operations(
        repo,
        MoveDocument(file="README.md", new_path="new.md"),
        precondition=Precondition(first_snapshot=first_snapshot),
    )
    assert result.changes == {
        "README.md": None,
        "new.md": b"# Example\n\nNew text.\n",
        "late.md": b"[x](new.md)\n",
    }
