"""Undo of any batch: it restores the tree before the batch, and preserves later edits."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from templates import builtin_types
from tests.example_counts import scale_examples
from tests.repositories import create_repository
from workspace.edits.documents import CreateDocument, MoveDocument, RemoveDocument
from workspace.edits.metadata import SetMetadata
from workspace.edits.operation import Operation
from workspace.edits.restore import Undo
from workspace.edits.sections import AddSection, MoveSection, RemoveSection, RenameSection
from workspace.edits.tasks import AddTask, CompleteTask
from workspace.edits.text import AppendContent, UpdateContent
from workspace.git import trees
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode

A_PATH, B_PATH, C_PATH = "a.md", "notes/b.md", "c.md"
FILES = {
    A_PATH: "---\ntype: document\ntags: [x]\n# kept\nowner: ada\n---\n\n"
    "# A\n\nWelcome: [b](notes/b.md#setup).\n\n"
    "## Setup\n\nSteps, and [more](#setup/linux).\n\n### Linux\n\nUse apt.\n\n### Mac\n\nUse brew.\n\n\n"
    "## Tasks\n\n- [ ] One\n- [ ] Two\n\nErrors\n------\n\nSee [below](#last).\n\n"
    "## Last {#last}\n\nThe end.\n\n## Unrelated\n\nOther business.\n",
    B_PATH: "# B\n\n## Setup\n\nAnother one: [a](../a.md#errors).\n\n## Errors\n\nOops [a](../a.md).\n\n"
    "### Deep\n\nDown.\n\n## Unrelated\n\nNor this.",
    C_PATH: "# C\n\nLinks to [linux](a.md#setup/linux), [b](notes/b.md) and [errors](notes/b.md#errors).\n",
}
SLUGS = {
    A_PATH: ("setup", "setup/linux", "setup/mac", "tasks", "errors", "last"),
    B_PATH: ("setup", "errors", "errors/deep"),
}
CONTENTS = st.sampled_from(
    ["New text.", "Two\n\nparagraphs.", "- [ ] a task", "### Sub\n\nBelow.", "| a |\n|---|\n| 1 |"]
)
TITLES = st.sampled_from(["Errors", "Fresh", "Setup", "Ünïcode"])


@st.composite
def operations(draw: st.DrawFn) -> Operation:
    file = draw(st.sampled_from([A_PATH, B_PATH]))
    slug = draw(st.sampled_from(SLUGS[file]))
    other_file = draw(st.sampled_from([A_PATH, B_PATH]))
    neighbor = draw(st.none() | st.sampled_from(SLUGS[other_file]))
    match draw(st.integers(0, 12)):
        case 0:
            return UpdateContent(
                file=file, slug=slug, content=draw(CONTENTS), include_subsections=draw(st.booleans())
            )
        case 1:
            return AppendContent(file=file, slug=slug, content=draw(CONTENTS))
        case 2:
            return AddSection(file=other_file, title=draw(TITLES), content=draw(CONTENTS), after=neighbor)
        case 3:
            return AddSection(file=file, title=draw(TITLES), parent_slug=slug)
        case 4:
            return RemoveSection(file=file, slug=slug)
        case 5:
            return RenameSection(file=file, slug=slug, new_title=draw(TITLES))
        case 6 | 7:
            return MoveSection(file=file, slug=slug, to_file=other_file, before=neighbor)
        case 8:
            return AddTask(file=file, slug=slug, title="Do it")
        case 9:
            return CompleteTask(file=A_PATH, slug="tasks[0]")
        case 10:
            return SetMetadata(file=file, metadata={"owner": draw(st.none() | TITLES), "new": "x"})
        case 11:
            return MoveDocument(file=file, new_path=draw(st.sampled_from(["deep/er/x.md", "y.md"])))
        case _:
            return draw(
                st.sampled_from(
                    [
                        RemoveDocument(path=file),
                        CreateDocument(type=builtin_types()["document"], title="Brand new", content="Hello."),
                    ]
                )
            )


@pytest.fixture(scope="module")
def repo_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create_repository(tmp_path_factory.mktemp("undo") / "repo", FILES).path


@contextmanager
def open_copy(repo_path: Path) -> Iterator[Workspace]:
    """Yield the workspace of a temporary copy of the repository."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "repo"
        shutil.copytree(repo_path, path)
        yield Workspace.open(path, durable=False)


def write_batch(workspace: Workspace, *operations: Operation, mode: BatchMode = BatchMode.EACH) -> str | None:
    """Write a batch, and return its commit; None if the batch changed nothing."""
    result = workspace.write(
        operations, mode=mode, tool="edit_document", client="a", base_commit=workspace.tip()
    )
    return result.commit if result.is_committed else None


def undo_commit(workspace: Workspace, commit: str) -> None:
    """Undo a commit as a client that has read nothing."""
    result = workspace.write([Undo(commit=commit)], mode=BatchMode.EACH, tool="restore_document", client="b")
    [step] = result.steps
    if step.error:
        raise step.error
    assert result.is_committed


def read_tree_files(workspace: Workspace) -> dict[str, bytes]:
    """Return the bytes of every file of the tip, by path."""
    snapshot = workspace.snapshot()
    assert snapshot.tree
    return {
        path: workspace.git.blob(entry.id) for path, entry in trees.walk_tree(workspace.git, snapshot.tree)
    }


@settings(max_examples=scale_examples(20), deadline=None)
@given(st.lists(operations(), min_size=1, max_size=6))
def test_undo_restores_the_tree_before_any_batch(repo_path: Path, batch: Sequence[Operation]) -> None:
    with open_copy(repo_path) as workspace:
        files_before = read_tree_files(workspace)
        commit = write_batch(workspace, *batch)
        assume(commit)
        files_after = read_tree_files(workspace)
        undo_commit(workspace, str(commit))
        assert read_tree_files(workspace) == files_before
        undo_commit(workspace, str(workspace.tip()))
        assert read_tree_files(workspace) == files_after


@settings(max_examples=scale_examples(20), deadline=None)
@given(st.lists(operations(), min_size=1, max_size=6), st.sampled_from([A_PATH, B_PATH]), st.booleans())
@example(
    [
        MoveSection(file=B_PATH, slug="errors/deep", to_file=B_PATH, before="setup"),
        RemoveSection(file=B_PATH, slug="setup"),
    ],
    B_PATH,
    False,
)
def test_undo_preserves_later_edits_of_other_sections(
    repo_path: Path, batch: Sequence[Operation], file: str, is_append: bool
) -> None:
    assume(not any(isinstance(operation, RemoveDocument | MoveDocument) for operation in batch))

    def build_edit() -> Operation:
        if is_append:
            return AppendContent(file=file, slug="unrelated", content="And more.")
        return UpdateContent(file=file, slug="unrelated", content="Other\n\nwords.")

    with open_copy(repo_path) as workspace:
        write_batch(workspace, build_edit())
        expected = read_tree_files(workspace)
    with open_copy(repo_path) as workspace:
        commit = write_batch(workspace, *batch)
        assume(commit)
        assert write_batch(workspace, build_edit())
        undo_commit(workspace, str(commit))
        assert read_tree_files(workspace) == expected


@settings(max_examples=scale_examples(20), deadline=None)
@given(st.lists(operations(), min_size=1, max_size=6), st.lists(operations(), min_size=1, max_size=3))
def test_partial_undo_removes_only_lines_of_the_commit(
    repo_path: Path, batch: Sequence[Operation], later_batch: Sequence[Operation]
) -> None:
    with open_copy(repo_path) as workspace:
        files_before = read_tree_files(workspace)
        commit = write_batch(workspace, *batch)
        assume(commit)
        files_after = read_tree_files(workspace)
        written_lines = {
            line
            for path in files_after
            for line in read_lines(files_after[path]) - read_lines(files_before.get(path, b""))
        }
        write_batch(workspace, *later_batch)
        files_now = read_tree_files(workspace)
        undo_operation = Undo(commit=str(commit), is_partial=True)
        workspace.write([undo_operation], mode=BatchMode.EACH, tool="restore_document", client="b")
        removed_lines = read_all_lines(files_now) - read_all_lines(read_tree_files(workspace))
        assert removed_lines <= written_lines


def read_lines(text: bytes) -> frozenset[bytes]:
    """Return the lines of a document without levels, anchors and destinations, which a move changes."""
    text_without_links = re.sub(rb"(?<=\]\()[^()]*|\{#.*\}", b"", text)
    return frozenset(filter(None, (line.strip(b"# \r\t") for line in text_without_links.split(b"\n"))))


def read_all_lines(files: Mapping[str, bytes]) -> frozenset[bytes]:
    return frozenset(line for text in files.values() for line in read_lines(text))
