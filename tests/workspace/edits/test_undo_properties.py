"""Undo of any batch: it restores the tree before, and preserves the edits of others."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from templates import builtin_types
from tests.example_counts import scale_examples
from tests.repositories import normal
from workspace.edits import (
    AddSection,
    AddTask,
    AppendContent,
    CompleteTask,
    CreateDocument,
    MoveDocument,
    MoveSection,
    Operation,
    RemoveDocument,
    RemoveSection,
    RenameSection,
    SetMetadata,
    Undo,
    UpdateContent,
)
from workspace.git import trees
from workspace.workspace import Workspace
from workspace.writing.plan import Mode

A, B, C = "a.md", "notes/b.md", "c.md"
FILES = {
    A: "---\ntype: document\ntags: [x]\n# kept\nowner: ada\n---\n\n# A\n\nWelcome: [b](notes/b.md#setup).\n\n"
    "## Setup\n\nSteps, and [more](#setup/linux).\n\n### Linux\n\nUse apt.\n\n### Mac\n\nUse brew.\n\n\n"
    "## Tasks\n\n- [ ] One\n- [ ] Two\n\nErrors\n------\n\nSee [below](#last).\n\n"
    "## Last {#last}\n\nThe end.\n\n## Unrelated\n\nOther business.\n",
    B: "# B\n\n## Setup\n\nAnother one: [a](../a.md#errors).\n\n## Errors\n\nOops [a](../a.md).\n\n"
    "### Deep\n\nDown.\n\n## Unrelated\n\nNor this.",
    C: "# C\n\nLinks to [linux](a.md#setup/linux), [b](notes/b.md) and [errors](notes/b.md#errors).\n",
}
SLUGS = {
    A: ("setup", "setup/linux", "setup/mac", "tasks", "errors", "last"),
    B: ("setup", "errors", "errors/deep"),
}
WORDS = st.sampled_from(
    ["New text.", "Two\n\nparagraphs.", "- [ ] a task", "### Sub\n\nBelow.", "| a |\n|---|\n| 1 |"]
)
TITLES = st.sampled_from(["Errors", "Fresh", "Setup", "Ünïcode"])


@st.composite
def operations(draw: st.DrawFn) -> Operation:
    file = draw(st.sampled_from([A, B]))
    slug = draw(st.sampled_from(SLUGS[file]))
    other = draw(st.sampled_from([A, B]))
    neighbor = draw(st.none() | st.sampled_from(SLUGS[other]))
    match draw(st.integers(0, 12)):
        case 0:
            return UpdateContent(
                file=file, slug=slug, content=draw(WORDS), include_subsections=draw(st.booleans())
            )
        case 1:
            return AppendContent(file=file, slug=slug, content=draw(WORDS))
        case 2:
            return AddSection(file=other, title=draw(TITLES), content=draw(WORDS), after=neighbor)
        case 3:
            return AddSection(file=file, title=draw(TITLES), parent_slug=slug)
        case 4:
            return RemoveSection(file=file, slug=slug)
        case 5:
            return RenameSection(file=file, slug=slug, new_title=draw(TITLES))
        case 6 | 7:
            return MoveSection(file=file, slug=slug, to_file=other, before=neighbor)
        case 8:
            return AddTask(file=file, slug=slug, title="Do it")
        case 9:
            return CompleteTask(file=A, slug="tasks[0]")
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
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return normal(tmp_path_factory.mktemp("undo") / "repo", FILES).path


def open_copies(first: Path) -> Iterator[Workspace]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "repo"
        shutil.copytree(first, path)
        yield Workspace.open(path, durable=False)


def write(workspace: Workspace, *operations: Operation, mode: Mode = Mode.EACH) -> str | None:
    """Return the commit of a batch; None if it changed nothing."""
    result = workspace.write(
        operations, mode=mode, tool="edit_document", client="a", base_commit=workspace.tip()
    )
    return result.commit if result.is_committed else None


def undo(workspace: Workspace, commit: str) -> None:
    """Undo a commit as a client that has read nothing."""
    result = workspace.write([Undo(commit=commit)], mode=Mode.EACH, tool="restore_document", client="b")
    [step] = result.steps
    if step.error:
        raise step.error
    assert result.is_committed


def contents(workspace: Workspace) -> dict[str, bytes]:
    """Return every file of the tip."""
    snapshot = workspace.snapshot()
    assert snapshot.tree
    return {
        path: workspace.git.blob(entry.id) for path, entry in trees.walk_tree(workspace.git, snapshot.tree)
    }


@settings(max_examples=scale_examples(20), deadline=None)
@given(st.lists(operations(), min_size=1, max_size=6))
def test_undo_restores_the_tree_before_any_batch(first: Path, batch: Sequence[Operation]) -> None:
    for workspace in open_copies(first):
        files_before = contents(workspace)
        commit = write(workspace, *batch)
        assume(commit)
        files_after = contents(workspace)
        undo(workspace, str(commit))
        assert contents(workspace) == files_before
        undo(workspace, str(workspace.tip()))
        assert contents(workspace) == files_after


@settings(max_examples=scale_examples(20), deadline=None)
@given(st.lists(operations(), min_size=1, max_size=6), st.sampled_from([A, B]), st.booleans())
@example(
    [MoveSection(file=B, slug="errors/deep", to_file=B, before="setup"), RemoveSection(file=B, slug="setup")],
    B,
    False,
)
def test_undo_preserves_later_edits_of_other_sections(
    first: Path, batch: Sequence[Operation], file: str, is_append: bool
) -> None:
    assume(not any(isinstance(item, RemoveDocument | MoveDocument) for item in batch))

    def edit() -> Operation:
        if is_append:
            return AppendContent(file=file, slug="unrelated", content="And more.")
        return UpdateContent(file=file, slug="unrelated", content="Other\n\nwords.")

    for workspace in open_copies(first):
        write(workspace, edit())
        wanted = contents(workspace)
    for workspace in open_copies(first):
        commit = write(workspace, *batch)
        assume(commit)
        assert write(workspace, edit())
        undo(workspace, str(commit))
        assert contents(workspace) == wanted


@settings(max_examples=scale_examples(20), deadline=None)
@given(st.lists(operations(), min_size=1, max_size=6), st.lists(operations(), min_size=1, max_size=3))
def test_partial_undo_removes_only_lines_of_the_commit(
    first: Path, batch: Sequence[Operation], later: Sequence[Operation]
) -> None:
    for workspace in open_copies(first):
        files_before = contents(workspace)
        commit = write(workspace, *batch)
        assume(commit)
        files_after = contents(workspace)
        wrote = {
            line
            for path in files_after
            for line in lines(files_after[path]) - lines(files_before.get(path, b""))
        }
        write(workspace, *later)
        now = contents(workspace)
        undone = Undo(commit=str(commit), is_partial=True)
        workspace.write([undone], mode=Mode.EACH, tool="restore_document", client="b")
        removed = every_line(now) - every_line(contents(workspace))
        assert removed <= wrote


def lines(text: bytes) -> frozenset[bytes]:
    """Return the lines of a document without levels, anchors and destinations, which a move changes."""
    plain = re.sub(rb"(?<=\]\()[^()]*|\{#.*\}", b"", text)
    return frozenset(filter(None, (line.strip(b"# \r\t") for line in plain.split(b"\n"))))


def every_line(files: Mapping[str, bytes]) -> frozenset[bytes]:
    return frozenset(line for text in files.values() for line in lines(text))
