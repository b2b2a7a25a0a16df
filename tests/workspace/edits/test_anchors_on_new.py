"""`anchors_on_new`: whether new headings of a document without anchors have anchors."""

from __future__ import annotations

import pytest

from workspace.document.document import Document
from workspace.document.splices import EditContext
from workspace.edits.operation import DocumentOperation
from workspace.edits.sections import AddSection, RenameSection
from workspace.edits.text import AppendContent, UpdateContent
from workspace.markdown.attribute_lists import AnchorForm

pytestmark = pytest.mark.smoke

ALWAYS_CONTEXT = EditContext(AnchorForm.BRACES, "2026-01-01")
AS_DOCUMENT_CONTEXT = EditContext(AnchorForm.BRACES, "2026-01-01", is_anchor_optional=True)
TEXT_WITHOUT_ANCHORS = "# P\n\n## A\n\nText.\n\n### Sub\n\n## B\n"
TEXT_WITH_ANCHORS = "# P\n\n## A {#a}\n\nText.\n"
ADD_SUBSECTION = AddSection(file="p.md", title="Sub", parent_slug="b", content="T.\n\n#### Deep\n")


def revise(text: str, operation: DocumentOperation, context: EditContext) -> tuple[str, dict[str, object]]:
    document, edit = operation.revise(Document.parse(text.encode(), "p.md"), context)
    return document.data.decode(), dict(edit.result)


def test_anchors_on_new_always_writes_anchors() -> None:
    text, result = revise(TEXT_WITHOUT_ANCHORS, ADD_SUBSECTION, ALWAYS_CONTEXT)
    assert "### Sub {#b/sub}\n\nT.\n\n#### Deep {#b/sub/deep}\n" in text
    assert (result["slug"], result["subsections"]) == ("b/sub", ["b/sub/deep"])


def test_as_document_writes_no_anchors_in_document_without_anchors() -> None:
    text, result = revise(TEXT_WITHOUT_ANCHORS, ADD_SUBSECTION, AS_DOCUMENT_CONTEXT)
    assert "### Sub\n\nT.\n\n#### Deep\n" in text
    assert (result["slug"], result["subsections"]) == ("b/sub", ["b/sub/deep"])


def test_as_document_writes_anchors_in_document_with_anchors() -> None:
    text, _ = revise(TEXT_WITH_ANCHORS, AddSection(file="p.md", title="C"), AS_DOCUMENT_CONTEXT)
    assert text.endswith("## C {#c}\n")


def test_as_document_writes_anchors_in_document_without_sections() -> None:
    text, _ = revise("# P\n", AddSection(file="p.md", title="C"), AS_DOCUMENT_CONTEXT)
    assert text.endswith("## C {#c}\n")


@pytest.mark.parametrize("operation_class", [AppendContent, UpdateContent])
def test_reported_addresses_without_anchors_equal_the_derived_addresses(
    operation_class: type[AppendContent | UpdateContent],
) -> None:
    operation = operation_class(file="p.md", slug="b", content="New.\n\n### Sub two\n\nx")
    text, result = revise(TEXT_WITHOUT_ANCHORS, operation, AS_DOCUMENT_CONTEXT)
    addresses = result["subsections"]
    assert addresses == ["b/sub-two"]
    assert Document.parse(text.encode(), "p.md").section_by_key("b/sub-two")
    assert "{#" not in text


def test_rename_writes_an_anchor_to_keep_the_address() -> None:
    text, _ = revise(
        TEXT_WITHOUT_ANCHORS, RenameSection(file="p.md", slug="a", new_title="Alpha"), AS_DOCUMENT_CONTEXT
    )
    assert "## Alpha {#a}" in text
