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

ALWAYS = EditContext(AnchorForm.BRACES, "2026-01-01")
AS_DOCUMENT = EditContext(AnchorForm.BRACES, "2026-01-01", is_anchor_optional=True)
PLAIN = "# P\n\n## A\n\nText.\n\n### Sub\n\n## B\n"
ANCHORED = "# P\n\n## A {#a}\n\nText.\n"
ADD = AddSection(file="p.md", title="Sub", parent_slug="b", content="T.\n\n#### Deep\n")


def revise(text: str, operation: DocumentOperation, context: EditContext) -> tuple[str, dict[str, object]]:
    document, edit = operation.revise(Document.parse(text.encode(), "p.md"), context)
    return document.data.decode(), dict(edit.result)


def test_always_writes_anchors() -> None:
    text, result = revise(PLAIN, ADD, ALWAYS)
    assert "### Sub {#b/sub}\n\nT.\n\n#### Deep {#b/sub/deep}\n" in text
    assert (result["slug"], result["subsections"]) == ("b/sub", ["b/sub/deep"])


def test_as_document_writes_no_anchors_in_document_without_anchors() -> None:
    text, result = revise(PLAIN, ADD, AS_DOCUMENT)
    assert "### Sub\n\nT.\n\n#### Deep\n" in text
    assert (result["slug"], result["subsections"]) == ("b/sub", ["b/sub/deep"])


def test_as_document_writes_anchors_in_document_with_anchors() -> None:
    text, _ = revise(ANCHORED, AddSection(file="p.md", title="C"), AS_DOCUMENT)
    assert text.endswith("## C {#c}\n")


def test_as_document_writes_anchors_in_document_without_sections() -> None:
    text, _ = revise("# P\n", AddSection(file="p.md", title="C"), AS_DOCUMENT)
    assert text.endswith("## C {#c}\n")


@pytest.mark.parametrize("operation_class", [AppendContent, UpdateContent])
def test_addresses_without_anchors_are_those_of_the_document(
    operation_class: type[AppendContent | UpdateContent],
) -> None:
    operation = operation_class(file="p.md", slug="b", content="New.\n\n### Sub two\n\nx")
    text, result = revise(PLAIN, operation, AS_DOCUMENT)
    addresses = result["subsections"]
    assert addresses == ["b/sub-two"]
    assert Document.parse(text.encode(), "p.md").section_by_key("b/sub-two")
    assert "{#" not in text


def test_rename_writes_an_anchor_to_keep_the_address() -> None:
    text, _ = revise(PLAIN, RenameSection(file="p.md", slug="a", new_title="Alpha"), AS_DOCUMENT)
    assert "## Alpha {#a}" in text
