"""Properties of reading and editing that hold for any document."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.example_counts import scale_examples
from tests.workspace.documents import document_sources, documents, revise_document
from workspace.document.addresses import AmbiguousAddress, format_task_address, resolve_section, resolve_task
from workspace.document.document import Document
from workspace.edits.metadata import TagDocument
from workspace.edits.operation import DocumentOperation
from workspace.edits.sections import AddSection, RemoveSection, RenameSection
from workspace.edits.tasks import AddTask, CompleteTask, ReopenTask
from workspace.edits.text import AppendContent, UpdateContent
from workspace.errors import WorkspaceError
from workspace.markdown.lines import BOM

pytestmark = pytest.mark.smoke

FILE = "doc.md"


@given(
    st.one_of(
        st.binary(max_size=200), st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))
    )
)
def test_any_bytes_are_parsed(data: bytes) -> None:
    document = Document.parse(data, FILE)
    assert document.data == data
    assert document.title
    assert list(document.all_tasks) == sorted(document.all_tasks, key=lambda task: task.start)


@given(documents)
def test_sections_partition_the_body(document: Document) -> None:
    expected_start = document.sections[0].start if document.sections else len(document.data)
    assert not document.data[document.front_matter_end : expected_start].strip(b" \t\r\n")
    for position, section in enumerate(document.sections):
        assert section.position == position
        assert section.start == expected_start
        assert section.start <= section.heading_start <= section.body_start <= section.end <= section.tree_end
        assert section.line <= section.end_line
        expected_start = section.end
        if section.parent is not None:
            parent = document.sections[section.parent]
            assert parent.level < section.level
            assert parent.start < section.start < section.tree_end <= parent.tree_end
    assert expected_start == len(document.data)


@given(documents)
def test_every_key_is_unique_and_resolves_to_its_section(document: Document) -> None:
    keys = [section.key for section in document.sections]
    assert len(keys) == len(set(keys))
    address_counts = Counter(section.address for section in document.sections)
    for section in document.sections:
        assert document.section_by_key(section.key) is section
        assert resolve_section(document, section.key) is section
        if address_counts[section.address] > 1:
            with pytest.raises(AmbiguousAddress) as error_info:
                resolve_section(document, section.address)
            candidates = error_info.value.details["candidates"]
            assert isinstance(candidates, list)
            positions_with_address = [
                item.position for item in document.sections if item.address == section.address
            ]
            assert [
                resolve_section(document, candidate["slug"]).position for candidate in candidates
            ] == positions_with_address


@given(documents)
def test_every_task_is_found_in_its_section(document: Document) -> None:
    count = 0
    for section in document.sections:
        for task in document.tasks(section):
            count += 1
            assert section.start <= task.start < task.box_offset < task.end <= section.end
            assert document.data[task.box_offset - 1 : task.box_offset + 2] in (b"[ ]", b"[x]", b"[X]")
            assert resolve_task(document, format_task_address(section.key, task)) == (section, task)
    assert count == len(document.all_tasks)


@given(documents)
def test_replacing_a_section_with_itself_changes_no_byte(document: Document) -> None:
    for section in document.sections:
        for start in (section.start, section.body_start):
            text = document.text(start, section.end)
            assume("\0" not in text)
            operation = UpdateContent(file=FILE, slug=section.key, content=text)
            assert revise_document(document, operation).data == document.data


@given(documents, st.data())
def test_removing_an_added_section_restores_the_bytes(document: Document, data: st.DataObject) -> None:
    sections = [section for section in document.sections if not section.is_preamble]
    neighbor = data.draw(st.sampled_from([None, *sections]))
    field = data.draw(st.sampled_from(["parent_slug", "before", "after"]))
    content = data.draw(st.sampled_from([None, "Text.", "- item", "### Deeper\n\n<b>"]))
    position = {field: neighbor.key} if neighbor else {}
    add = AddSection(file=FILE, title="A title of its own", content=content, **position)
    try:
        new_document = revise_document(document, add)
    except WorkspaceError:
        return
    new_slug = min(set(list_section_addresses(new_document)) - set(list_section_addresses(document)), key=len)
    restored_document = revise_document(new_document, RemoveSection(file=FILE, slug=new_slug))
    assert (
        restored_document.data == document.data
        or not document.data.removeprefix(BOM).strip()
        or has_one_blank_line_more(restored_document, document)
    )


@given(documents)
def test_reopening_a_completed_task_restores_the_bytes(document: Document) -> None:
    for section in document.sections:
        for task in document.tasks(section):
            if task.is_done or task.field("completed") is not None:
                continue
            slug = format_task_address(section.key, task)
            new_document = revise_document(document, CompleteTask(file=FILE, slug=slug))
            _, completed_task = resolve_task(new_document, slug)
            assert completed_task.is_done
            assert completed_task.field("completed") == "2000-01-02"
            reopened_document = revise_document(new_document, ReopenTask(file=FILE, slug=slug))
            assert reopened_document.data == document.data or has_one_blank_line_more(
                reopened_document, document
            )


def is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@given(documents)
def test_removing_an_added_tag_restores_the_front_matter(document: Document) -> None:
    try:
        tagged_document = revise_document(document, TagDocument(file=FILE, tags=("one of its own",)))
    except WorkspaceError:
        assert document.front_matter_error or not is_utf8(document.data)
        return
    assert tagged_document.tags == (*document.tags, "one of its own")
    assert tagged_document.data[tagged_document.front_matter_end :].endswith(
        document.data[document.front_matter_end :]
    )
    new_document = revise_document(
        tagged_document, TagDocument(file=FILE, tags=("one of its own",), remove=True)
    )
    assert new_document.front_matter == {
        **document.front_matter,
        **({"tags": list(new_document.tags)} if new_document.tags else {}),
    }
    if "tags" not in document.front_matter and document.front_matter:
        assert new_document.data == document.data


CONTENTS = st.sampled_from(
    [
        "",
        "Text.",
        "text\n\n###### Deep\n\nmore",
        "```\nopen",
        "- [ ] a",
        "<div>",
        "---",
        "===",
        "# H1",
        "#### Errors",
        "<!--",
    ]
)


@settings(max_examples=scale_examples(300))
@given(documents, st.data())
def test_edit_preserves_bytes_of_all_other_sections(document: Document, data: st.DataObject) -> None:
    assume(document.sections)
    section = data.draw(st.sampled_from(document.sections))
    content, title = (
        data.draw(CONTENTS),
        data.draw(st.sampled_from(["New", "- x", "> q", "# x", "C #", "a\\"])),
    )
    operation: DocumentOperation = data.draw(
        st.sampled_from(
            [
                UpdateContent(file=FILE, slug=section.key, content=content),
                UpdateContent(file=FILE, slug=section.key, content=content, include_subsections=True),
                AppendContent(file=FILE, slug=section.key, content=content),
                AddTask(file=FILE, slug=section.key, title=title, criteria="none"),
                AddSection(file=FILE, title=title + " new", content=content, before=section.key),
                AddSection(file=FILE, title=title + " new", content=content, after=section.key),
                AddSection(file=FILE, title=title + " new", content=content, parent_slug=section.key),
                RenameSection(file=FILE, slug=section.key, new_title=title),
                RemoveSection(file=FILE, slug=section.key),
            ]
        )
    )
    try:
        new_document = revise_document(document, operation)
    except WorkspaceError:
        return
    edited_positions = {section.position, *(item.position for item in document.descendants(section))}
    other_sections = [section for section in document.sections if section.position not in edited_positions]
    new_texts = [new_document.source(section).strip() for section in new_document.sections]
    for other_section in other_sections:
        text = document.source(other_section).strip()
        assert (
            text in new_texts
            or (not other_section.has_heading and not text)
            or isinstance(operation, RenameSection)
        )
    lines = [
        line
        for other_section in other_sections
        for line in document.source(other_section).splitlines()
        if line.strip()
    ]
    assert [line for line in lines if line not in new_document.data] == []


@given(document_sources())
def test_line_number_of_a_section_is_that_of_its_heading(data: bytes) -> None:
    document = Document.parse(data, FILE)
    for section in document.sections:
        assert document.lines.offset(section.line - 1) == section.heading_start or not section.has_heading


def has_one_blank_line_more(later_document: Document, earlier_document: Document) -> bool:
    """Return True if the only difference is a blank line before a heading.

    Some edits add this line, because the heading would otherwise become text of the paragraph above it.
    """
    if len(later_document.data) - len(earlier_document.data) != len(earlier_document.line_ending):
        return False
    # In a document that mixes line endings, the blank line may have any of them.
    return any(
        normalize_line_ends(later_document.data)
        == normalize_line_ends(earlier_document.data[: section.start])
        + normalize_line_ends(earlier_document.line_ending)
        + normalize_line_ends(earlier_document.data[section.start :])
        for section in earlier_document.sections
        if section.has_heading
    )


def normalize_line_ends(data: bytes) -> bytes:
    """Return a text with line feeds at the ends of its lines."""
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def list_section_addresses(document: Document) -> list[str]:
    return [section.address for section in document.sections]
