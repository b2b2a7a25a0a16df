"""Documents without a heading at the beginning, whose introduction may be empty."""

from __future__ import annotations

import pytest

from workspace.document.document import Document
from workspace.document.splices import Edit, EditContext, Splice, StructureChanged, apply_edit
from workspace.edits.operation import DocumentOperation
from workspace.edits.sections import AddSection, RemoveSection, RenameSection
from workspace.edits.text import AppendContent, UpdateContent
from workspace.markdown.attribute_lists import AnchorForm

EDIT_CONTEXT = EditContext(AnchorForm.BRACES, "2000-01-01")

FRONT_MATTER = "---\ntitle: Architecture\n---"
DOCUMENTS = {
    "no line end": FRONT_MATTER,
    "one line end": f"{FRONT_MATTER}\n",
    "one blank line": f"{FRONT_MATTER}\n\n",
    "two blank lines": f"{FRONT_MATTER}\n\n\n",
    "CRLF": f"{FRONT_MATTER}\n\n".replace("\n", "\r\n"),
    "text": f"{FRONT_MATTER}\n\nAn introduction.\n",
    "a section": f"{FRONT_MATTER}\n\n## Nodes\n\nText.\n",
    "text and a section": f"{FRONT_MATTER}\nAn introduction.\n\n## Nodes\n\nText.\n",
}
parametrize_documents = pytest.mark.parametrize("text", DOCUMENTS.values(), ids=DOCUMENTS)


def apply_operation(document: Document, operation: DocumentOperation) -> Document:
    return apply_edit(document, operation.make_edit(document, EDIT_CONTEXT))


@parametrize_documents
def test_removing_an_added_section_restores_the_bytes(text: str) -> None:
    document = Document.parse(text.encode(), "a.md")
    new_document = apply_operation(document, AddSection(file="a.md", title="Control plane"))
    assert [section.address for section in new_document.sections][-1] == "control-plane"
    assert (
        apply_operation(new_document, RemoveSection(file="a.md", slug="control-plane")).data == document.data
    )


@parametrize_documents
@pytest.mark.parametrize("operation", [UpdateContent, AppendContent])
def test_text_is_written_into_the_introduction(
    text: str, operation: type[UpdateContent] | type[AppendContent]
) -> None:
    document = Document.parse(text.encode(), "a.md")
    new_document = apply_operation(document, operation(file="a.md", slug="_preamble", content="Words."))
    assert new_document.preamble
    assert b"Words." in new_document.source(new_document.preamble)
    assert new_document.title == "Architecture"
    assert len(new_document.sections) == len(document.sections)


@parametrize_documents
def test_rename_of_the_introduction_changes_the_title(text: str) -> None:
    document = Document.parse(text.encode(), "a.md")
    assert (
        apply_operation(document, RenameSection(file="a.md", slug="_preamble", new_title="Plan")).title
        == "Plan"
    )


def test_open_fence_in_the_introduction_is_refused() -> None:
    document = Document.parse(DOCUMENTS["a section"].encode(), "a.md")
    assert document.preamble
    start = document.preamble.start
    with pytest.raises(StructureChanged):
        apply_edit(document, Edit((Splice(start, start, b"\n```\n"),), {}, "Open a fence"))
