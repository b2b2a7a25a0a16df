"""`to_title`: a section becomes a document; a document gets a title, and a file name made from the title."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.loops import loop_over
from tests.repositories import create_repository
from workspace.edits.documents import MoveDocument
from workspace.edits.operation import Operation
from workspace.edits.sections import MoveSection
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode
from workspace.writing.write import WriteResult

GUIDE = "# Guide\n\nSee [terms](#glossary/terms).\n\n## Glossary\n\nWords.\n\n### Terms\n\nA.\n\n## End\n"
FILES = {"docs/guide.md": GUIDE, "other.md": "# Other\n\n[g](docs/guide.md#glossary)\n"}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.open(create_repository(tmp_path / "repo", FILES).path, durable=False)


def write_operation(workspace: Workspace, operation: Operation) -> WriteResult:
    return workspace.write([operation], mode=BatchMode.ALL, tool="test", client="test")


def read_document(workspace: Workspace, path: str) -> str:
    return workspace.snapshot().document(path).data.decode()


def test_section_of_the_same_title_becomes_the_document_and_keeps_its_addresses(workspace: Workspace) -> None:
    result = write_operation(
        workspace, MoveSection(file="docs/guide.md", slug="glossary", to_title="Glossary")
    )
    assert result.is_committed
    assert read_document(workspace, "docs/glossary.md") == (
        "# Glossary {#glossary}\n\nWords.\n\n## Terms {#glossary/terms}\n\nA.\n"
    )
    assert "[terms](glossary.md#glossary/terms)" in read_document(workspace, "docs/guide.md")
    assert "[g](docs/glossary.md#glossary)" in read_document(workspace, "other.md")
    assert result.steps[0].outcome
    fields = result.steps[0].outcome.result
    assert (fields["file"], fields["slug"], fields["created"]) == ("docs/glossary.md", "glossary", True)


def test_title_of_a_new_document_takes_no_address_away_from_a_section(workspace: Workspace) -> None:
    write_operation(
        workspace,
        MoveSection(file="docs/guide.md", slug="glossary/terms", to_title="Glossary/terms", to_file="t.md"),
    )
    assert read_document(workspace, "t.md").startswith(
        "# Glossary/terms {#glossaryterms}\n\n## Terms {#glossary/terms}\n"
    )


def test_document_gets_a_title_and_its_file_name(workspace: Workspace) -> None:
    result = write_operation(workspace, MoveDocument(file="docs/guide.md", to_title="User manual"))
    assert result.is_committed
    assert read_document(workspace, "docs/user-manual.md").startswith("# User manual\n")
    assert "[g](docs/user-manual.md#glossary)" in read_document(workspace, "other.md")


def test_document_gets_a_title_and_another_path(workspace: Workspace) -> None:
    write_operation(workspace, MoveDocument(file="docs/guide.md", new_path="manual/", to_title="Manual"))
    assert read_document(workspace, "manual/guide.md").startswith("# Manual\n")


def test_document_with_the_file_name_of_its_new_title_stays_in_place(workspace: Workspace) -> None:
    result = write_operation(workspace, MoveDocument(file="docs/guide.md", to_title="GUIDE"))
    assert result.is_committed
    assert read_document(workspace, "docs/guide.md").startswith("# GUIDE\n")


@loop_over("text", ["## Just\n\nbody\n", "", "text only\n"])
def test_document_without_title_gets_one(tmp_path: Path, text: str) -> None:
    workspace = Workspace.open(create_repository(tmp_path / "repo", {"a.md": text}).path, durable=False)
    result = write_operation(workspace, MoveDocument(file="a.md", to_title="Head"))
    assert result.is_committed
    assert read_document(workspace, "head.md").startswith("# Head {#head}\n")
    assert result.steps[0].outcome
    assert result.steps[0].outcome.result["anchors_added"] == ["head"]


def test_title_that_differs_in_case_is_written_above_the_section(workspace: Workspace) -> None:
    write_operation(workspace, MoveSection(file="docs/guide.md", slug="end", to_title="END"))
    assert read_document(workspace, "docs/end.md") == "# END {#end-1}\n\n## End {#end}\n"


@loop_over(
    ("operation", "code"),
    [
        (MoveSection(file="docs/guide.md", slug="glossary", to_title="Guide"), "PATH_EXISTS"),
        (MoveSection(file="docs/guide.md", slug="glossary", to_title="!!!"), "INVALID_TITLE"),
        (MoveSection(file="docs/guide.md", slug="glossary", to_title="A", before="end"), "INVALID_MOVE"),
        (MoveSection(file="docs/guide.md", slug="_preamble", to_title="A"), "INVALID_MOVE"),
        (MoveSection(file="docs/guide.md", slug="glossary", to_title="A", to_file="../a.md"), "INVALID_PATH"),
        (MoveDocument(file="docs/guide.md"), "INVALID_MOVE"),
        (MoveDocument(file="docs/guide.md", to_title="Other", new_path="other.md"), "PATH_EXISTS"),
        (MoveDocument(file="docs/guide.md", to_title="a\nb"), "INVALID_TITLE"),
    ],
)
def test_invalid_target_is_refused(workspace: Workspace, operation: Operation, code: str) -> None:
    tip = workspace.tip()
    result = write_operation(workspace, operation)
    assert result.steps[0].error
    assert (result.steps[0].error.code, workspace.tip()) == (code, tip)
