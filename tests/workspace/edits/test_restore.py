"""Restore and undo: the examples of `restore.md`, several documents, and concurrent writers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.loops import loop_over
from tests.repositories import Repo, create_empty_repository, create_repository
from tests.workspace.cases import Case, read_cases
from tests.workspace.publishing.callback_operation import CallbackOperation
from workspace.document.section_text import compute_digest
from workspace.edits.operation import Operation
from workspace.edits.restore import RestoreDocument, RestoreSection, Undo
from workspace.edits.text import UpdateContent
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode, PlanStep
from workspace.writing.read_before_write import SeenTexts

pytestmark = pytest.mark.smoke

DOCUMENT_PATH = "doc.md"


def write_operations(
    repo: Repo, *operations: Operation, base: str | None = None, seen_texts: SeenTexts | None = None
) -> PlanStep:
    """Write operations, and return the last step; its changes are in the work tree."""
    workspace = Workspace.open(repo.path, durable=False)
    result = workspace.write(
        operations,
        mode=BatchMode.EACH,
        tool="restore_document",
        client="a",
        base_commit=base,
        seen_texts=seen_texts,
    )
    assert result.is_committed == any(
        step.outcome is not None and step.outcome.is_change for step in result.steps
    )
    return result.steps[-1]


def read_work_tree(repo: Repo) -> dict[str, str]:
    names = repo.git("ls-files", "-z").split("\0")[:-1]
    return {name: (repo.path / name).read_bytes().decode() for name in names}


@loop_over("case", read_cases("restore.md"))
def test_restore_has_the_result_of_its_example(case: Case, tmp_path: Path) -> None:
    repo = create_empty_repository(tmp_path / "repo")
    commits = {
        name: repo.commit({DOCUMENT_PATH: case.data(name)})
        for name in ("then", "meanwhile", "now")
        if name in case.fences
    }
    request = case.json("json")
    operation: Operation
    if request.pop("undo", False):
        operation = Undo(commit=commits.get("meanwhile", commits["now"]), **request)
        step = write_operations(repo, operation)
    elif "slug" in request:
        step = write_operations(
            repo, RestoreSection(file=DOCUMENT_PATH, commit=commits["then"], **request), base=repo.head()
        )
    else:
        step = write_operations(
            repo, RestoreDocument(file=DOCUMENT_PATH, commit=commits["then"]), base=repo.head()
        )
    if "error" in case.fences:
        assert step.error
        assert step.error.fix
        message = f"{step.error.code}: {step.error.message}"
        for name, commit in commits.items():
            message = message.replace(commit[:7], name.upper())
        assert message == case.fences["error"].strip()
    else:
        assert step.outcome, step.error
        assert step.outcome.is_change == ("after" in case.fences)
        assert step.outcome.hints or step.outcome.is_change
    expected = case.data("after") if "after" in case.fences else case.data("now")
    assert (repo.path / DOCUMENT_PATH).read_bytes() == expected
    assert repo.status() == ""


GUIDE = "# Guide\n\nWelcome to all of it.\n\n## Setup\n\nSteps in order.\n\n## Usage\n\nRun it and see.\n"


def test_removed_document_is_restored_byte_for_byte(tmp_path: Path) -> None:
    text = "---\r\nkey: v\r\n---\r\n\r\n# A\r\n\r\nText."
    repo = create_repository(tmp_path / "repo", {"folder/a.md": text, "b.md": "# B\n"})
    old_commit = repo.head()
    repo.git("rm", "-q", "folder/a.md")
    repo.commit({})
    step = write_operations(repo, RestoreDocument(file="folder/a.md", commit=old_commit))
    assert step.outcome, step.error
    assert read_work_tree(repo)["folder/a.md"] == text


def test_renamed_document_is_restored_at_its_current_path(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", {"a.md": GUIDE})
    old_commit = repo.head()
    repo.git("mv", "a.md", "b.md")
    repo.commit({})
    repo.commit({"b.md": GUIDE.replace("Steps", "Other steps")})
    step = write_operations(repo, RestoreDocument(file="b.md", commit=old_commit), base=repo.head())
    assert step.outcome, step.error
    assert step.outcome.result["was"] == {"file": "a.md"}
    assert read_work_tree(repo) == {"b.md": GUIDE}


def test_restore_at_the_old_path_after_a_rename_is_refused(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", {"a.md": GUIDE})
    old_commit = repo.head()
    repo.git("mv", "a.md", "b.md")
    repo.commit({})
    step = write_operations(repo, RestoreDocument(file="a.md", commit=old_commit))
    assert step.error
    assert step.error.code == "DOCUMENT_NOT_FOUND"
    assert step.error.details["candidates"] == ["b.md"]


def test_restore_does_not_overwrite_another_document_at_the_path(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", {"a.md": GUIDE})
    old_commit = repo.head()
    repo.git("mv", "a.md", "b.md")
    repo.commit({})
    repo.commit({"a.md": "# Other\n\nNothing alike.\n"})
    step = write_operations(repo, RestoreDocument(file="a.md", commit=old_commit), base=repo.head())
    assert step.error
    assert step.error.code == "PATH_EXISTS"
    assert "'b.md'" in step.error.message


def test_restore_over_unread_text_is_refused(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", {DOCUMENT_PATH: GUIDE})
    old_commit = repo.head()
    repo.commit({DOCUMENT_PATH: GUIDE.replace("Steps", "Unread steps")})
    restore_document, restore_section = (
        RestoreDocument(file=DOCUMENT_PATH, commit=old_commit),
        RestoreSection(file=DOCUMENT_PATH, slug="setup", commit=old_commit),
    )
    for operation in (restore_document, restore_section):
        step = write_operations(repo, operation)
        assert step.error
        assert (step.error.code, step.error.details["slugs"]) == ("READ_FIRST", ["setup"])
    document, seen_texts = Workspace.open(repo.path).snapshot().document(DOCUMENT_PATH), SeenTexts()
    seen_texts.add(
        [compute_digest(document, section) for section in document.sections if section.key == "setup"]
    )
    assert write_operations(repo, restore_section, seen_texts=seen_texts).outcome
    assert read_work_tree(repo) == {DOCUMENT_PATH: GUIDE}


def test_section_is_restored_from_its_earlier_document(tmp_path: Path) -> None:
    section_text = "## Setup\n\nSteps in order.\n\n"
    repo = create_repository(tmp_path / "repo", {"a.md": GUIDE, "b.md": "# B\n\n## Last\n\nEnd.\n"})
    old_commit = repo.head()
    repo.commit({"a.md": GUIDE.replace(section_text, ""), "b.md": f"# B\n\n{section_text}## Last\n\nEnd.\n"})
    repo.commit({"b.md": f"# B\n\n{section_text.replace('in order', 'changed')}## Last\n\nEnd.\n"})
    step = write_operations(
        repo, RestoreSection(file="b.md", slug="setup", commit=old_commit), base=repo.head()
    )
    assert step.outcome, step.error
    assert step.outcome.result["was"] == {"file": "a.md", "slug": "setup"}
    assert read_work_tree(repo)["b.md"] == f"# B\n\n{section_text}## Last\n\nEnd.\n"


def test_removed_section_of_a_renamed_document_is_restored(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", {"a.md": GUIDE})
    old_commit = repo.head()
    repo.git("mv", "a.md", "b.md")
    repo.commit({})
    repo.commit({"b.md": GUIDE.replace("## Setup\n\nSteps in order.\n\n", "")})
    step = write_operations(repo, RestoreSection(file="b.md", slug="setup", commit=old_commit))
    assert step.outcome, step.error
    assert read_work_tree(repo) == {"b.md": GUIDE}


def test_undo_preserves_concurrent_edits_of_another_section(tmp_path: Path) -> None:
    """A commit that is made while an undo is planned is preserved, and the undo is planned again."""
    repo = create_repository(tmp_path / "repo", {DOCUMENT_PATH: GUIDE})
    change_commit = repo.commit({DOCUMENT_PATH: GUIDE.replace("Steps", "Other steps")})
    their_update = UpdateContent(file=DOCUMENT_PATH, slug="usage", content="Do not run it.")
    step = write_operations(
        repo, CallbackOperation(make_writer(repo, their_update)), Undo(commit=change_commit)
    )
    assert step.outcome, step.error
    assert read_work_tree(repo) == {DOCUMENT_PATH: GUIDE.replace("Run it and see.", "Do not run it.")}


def test_concurrent_edit_of_the_same_section_is_a_conflict(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", {DOCUMENT_PATH: GUIDE})
    old_commit = repo.head()
    change_commit = repo.commit({DOCUMENT_PATH: GUIDE.replace("Steps", "Other steps")})
    their_update = UpdateContent(file=DOCUMENT_PATH, slug="setup", content="Theirs.")
    step = write_operations(
        repo, CallbackOperation(make_writer(repo, their_update)), Undo(commit=change_commit)
    )
    assert step.error
    assert step.error.code == "CONFLICT"
    conflicts = step.error.details["conflicts"]
    assert isinstance(conflicts, list)
    [conflict] = conflicts
    assert (conflict["file"], conflict["slug"], conflict["commits"]) == (
        DOCUMENT_PATH,
        "setup",
        [repo.head()],
    )
    restore = RestoreSection(file=DOCUMENT_PATH, slug="setup", commit=old_commit)
    other_update = UpdateContent(file=DOCUMENT_PATH, slug="setup", content="Theirs again.")
    base = repo.head()
    step = write_operations(repo, CallbackOperation(make_writer(repo, other_update)), restore, base=base)
    assert step.error
    assert step.error.code == "CONFLICT"
    assert "Theirs again." in read_work_tree(repo)[DOCUMENT_PATH]


def make_writer(repo: Repo, operation: Operation) -> Callable[[], object]:
    def write() -> None:
        other_workspace = Workspace.open(repo.path, durable=False)
        assert other_workspace.write(
            [operation],
            mode=BatchMode.ALL,
            tool="edit_document",
            client="b",
            base_commit=other_workspace.tip(),
        ).is_committed

    return write


def test_undo_of_a_move_preserves_later_edits(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", {"a.md": GUIDE, "b.md": "# B\n\n[setup](a.md#setup)\n"})
    repo.git("mv", "a.md", "c.md")
    move_commit = repo.commit({"b.md": "# B\n\n[setup](c.md#setup)\n"})
    repo.commit({"c.md": GUIDE.replace("Run it", "Run it twice"), "d.md": "# D\n\n[usage](c.md#usage)\n"})
    step = write_operations(repo, Undo(commit=move_commit))
    assert step.outcome, step.error
    assert read_work_tree(repo) == {
        "a.md": GUIDE.replace("Run it", "Run it twice"),
        "b.md": "# B\n\n[setup](a.md#setup)\n",
        "d.md": "# D\n\n[usage](a.md#usage)\n",
    }


def test_undo_applies_to_a_later_renamed_document(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", {"a.md": GUIDE})
    change_commit = repo.commit({"a.md": GUIDE.replace("Steps", "Other steps")})
    repo.git("mv", "a.md", "b.md")
    repo.commit({})
    step = write_operations(repo, Undo(commit=change_commit))
    assert step.outcome, step.error
    assert read_work_tree(repo) == {"b.md": GUIDE}


def test_move_between_documents_is_undone_in_both_or_neither(tmp_path: Path) -> None:
    section_text = "## Setup\n\nSteps in order.\n\n"
    other_text = "# B\n\nText.\n\n"
    repo = create_repository(
        tmp_path / "repo", {"a.md": GUIDE, "b.md": f"{other_text}## End\n", "c.md": "# C\n"}
    )
    move_commit = repo.commit(
        {
            "a.md": GUIDE.replace(section_text, ""),
            "b.md": f"{other_text}{section_text}## End\n",
            "c.md": "# C\n\nNew.\n",
        }
    )
    later_commit = repo.commit({"b.md": f"{other_text}{section_text.replace('in order', 'changed')}## End\n"})
    step = write_operations(repo, Undo(commit=move_commit))
    assert step.error
    assert step.error.code == "CONFLICT"
    step = write_operations(repo, Undo(commit=move_commit, is_partial=True))
    assert step.outcome, step.error
    assert read_work_tree(repo) == {
        "a.md": GUIDE.replace(section_text, ""),
        "b.md": f"{other_text}{section_text.replace('in order', 'changed')}## End\n",
        "c.md": "# C\n",
    }
    conflicts = step.outcome.result["conflicts"]
    assert isinstance(conflicts, list)
    assert {(conflict["file"], conflict["slug"]) for conflict in conflicts} == {
        ("a.md", "setup"),
        ("b.md", "setup"),
    }
    assert later_commit in [commit for conflict in conflicts for commit in conflict.get("commits", ())]


def test_dependent_moves_are_undone_in_order(tmp_path: Path) -> None:
    other_text = GUIDE.replace("that", "which").replace("Guide", "Other")
    repo = create_repository(tmp_path / "repo", {"a.md": GUIDE, "b.md": other_text})
    repo.git("mv", "b.md", "c.md")
    repo.git("mv", "a.md", "b.md")
    move_commit = repo.commit({"a.md": "# New\n\nNothing alike.\n"})
    step = write_operations(repo, Undo(commit=move_commit))
    assert step.outcome, step.error
    assert read_work_tree(repo) == {"a.md": GUIDE, "b.md": other_text}


def test_undo_of_the_first_commit_removes_its_documents(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", {"a.md": GUIDE, "run.sh": "echo\n"})
    first_commit = repo.head()
    repo.commit({"b.md": "# B\n"})
    step = write_operations(repo, Undo(commit=first_commit))
    assert step.outcome, step.error
    assert set(read_work_tree(repo)) == {"b.md", "run.sh"}
    assert step.outcome.result["left_alone"] == ["run.sh"]


def test_undo_of_a_merge_commit_is_refused(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", {"a.md": GUIDE})
    repo.git("switch", "-qc", "side")
    repo.commit({"b.md": "# B\n"})
    repo.git("switch", "-q", "main")
    repo.commit({"c.md": "# C\n"})
    repo.git("merge", "-q", "--no-edit", "side")
    step = write_operations(repo, Undo(commit=repo.head()))
    assert step.error
    assert step.error.code == "MERGE_COMMIT"


def test_undo_of_a_commit_of_another_branch_is_refused(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", {"a.md": GUIDE})
    repo.git("switch", "-qc", "side")
    side_commit = repo.commit({"b.md": "# B\n"})
    repo.git("switch", "-q", "main")
    step = write_operations(repo, Undo(commit=side_commit))
    assert step.error
    assert step.error.code == "NOT_IN_HISTORY"
    step = write_operations(repo, RestoreDocument(file="b.md", commit=side_commit))
    assert step.outcome, step.error
    assert read_work_tree(repo)["b.md"] == "# B\n"


def test_undo_of_the_oldest_shallow_commit_is_refused(tmp_path: Path) -> None:
    source = create_repository(tmp_path / "source", {"a.md": GUIDE})
    source.commit({"b.md": "# B\n"})
    source.git("clone", "-q", "--depth", "1", f"file://{source.path}", str(tmp_path / "clone"))
    clone = Repo(tmp_path / "clone")
    step = write_operations(clone, Undo(commit=clone.head()))
    assert step.error
    assert step.error.code == "NOT_IN_HISTORY"
    assert "--unshallow" in step.error.fix


LFS_POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"


@loop_over(
    ("old_text", "code"),
    [
        (LFS_POINTER, "NOT_A_DOCUMENT"),
        ("# Long\n\n" + "word " * 500, "LIMIT_EXCEEDED"),
    ],
    ids=["a pointer of Git LFS", "over the limit"],
)
def test_restore_of_an_unreadable_version_is_refused(tmp_path: Path, old_text: str, code: str) -> None:
    repo = create_repository(
        tmp_path / "repo", {DOCUMENT_PATH: old_text, "docyard.toml": "[limits]\ndocument_bytes = 1000\n"}
    )
    old_commit = repo.head()
    repo.commit({DOCUMENT_PATH: GUIDE})
    for operation in (
        RestoreDocument(file=DOCUMENT_PATH, commit=old_commit),
        RestoreSection(file=DOCUMENT_PATH, slug="setup", commit=old_commit),
    ):
        step = write_operations(repo, operation, base=repo.head())
        assert step.error
        assert step.error.code == code


def test_restore_of_a_former_symlink_or_folder_is_refused(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", {"a.md/x.txt": "x", "b.txt": "b"})
    (repo.path / "c.md").symlink_to("b.txt")
    old_commit = repo.commit({})
    repo.git("rm", "-rq", "a.md", "c.md")
    repo.commit({"a.md": GUIDE})
    for path in ("a.md", "c.md"):
        step = write_operations(repo, RestoreDocument(file=path, commit=old_commit), base=repo.head())
        assert step.error
        assert step.error.code == "NOT_AT_REF"


def test_restore_uses_current_settings(tmp_path: Path) -> None:
    repo = create_repository(
        tmp_path / "repo", {DOCUMENT_PATH: GUIDE, "docyard.toml": 'exclude = ["doc.md"]\n'}
    )
    old_commit = repo.head()
    repo.commit({DOCUMENT_PATH: "# Other\n", "docyard.toml": ""})
    step = write_operations(repo, RestoreDocument(file=DOCUMENT_PATH, commit=old_commit), base=repo.head())
    assert step.outcome, step.error
    assert read_work_tree(repo)[DOCUMENT_PATH] == GUIDE
