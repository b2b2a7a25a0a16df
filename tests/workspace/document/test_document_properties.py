"""Properties of any document."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.example_counts import scale_examples
from tests.workspace.documents import documents, revise_document, texts
from workspace.document.addresses import AmbiguousAddress, format_task_address, resolve_section, resolve_task
from workspace.document.document import Document
from workspace.edits import (
    AddSection,
    AddTask,
    AppendContent,
    CompleteTask,
    RemoveSection,
    RenameSection,
    ReopenTask,
    TagDocument,
    UpdateContent,
)
from workspace.edits.operation import DocumentOperation
from workspace.errors import WorkspaceError
from workspace.markdown.lines import BOM

pytestmark = pytest.mark.smoke

FILE = "doc.md"


@given(
    st.one_of(
        st.binary(max_size=200), st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))
    )
)
def test_any_bytes_parse(data: bytes) -> None:
    document = Document.parse(data, FILE)
    assert document.data == data
    assert document.title
    assert list(document.all_tasks) == sorted(document.all_tasks, key=lambda task: task.start)


@given(documents)
def test_sections_partition_the_body(document: Document) -> None:
    place = document.sections[0].start if document.sections else len(document.data)
    assert not document.data[document.front_matter_end : place].strip(b" \t\r\n")
    for position, section in enumerate(document.sections):
        assert section.position == position
        assert section.start == place
        assert section.start <= section.heading_start <= section.body <= section.end <= section.tree_end
        assert section.line <= section.end_line
        place = section.end
        if section.parent is not None:
            parent = document.sections[section.parent]
            assert parent.level < section.level
            assert parent.start < section.start < section.tree_end <= parent.tree_end
    assert place == len(document.data)


@given(documents)
def test_every_key_is_unique_and_resolves_to_its_section(document: Document) -> None:
    keys = [section.key for section in document.sections]
    assert len(keys) == len(set(keys))
    count = Counter(section.address for section in document.sections)
    for section in document.sections:
        assert document.section_by_key(section.key) is section
        assert resolve_section(document, section.key) is section
        if count[section.address] > 1:
            with pytest.raises(AmbiguousAddress) as caught:
                resolve_section(document, section.address)
            candidates = caught.value.details["candidates"]
            assert isinstance(candidates, list)
            same_address = [item.position for item in document.sections if item.address == section.address]
            assert [resolve_section(document, item["slug"]).position for item in candidates] == same_address


@given(documents)
def test_every_task_is_found_in_its_section(document: Document) -> None:
    found = 0
    for section in document.sections:
        for task in document.tasks(section):
            found += 1
            assert section.start <= task.start < task.box < task.end <= section.end
            assert document.data[task.box - 1 : task.box + 2] in (b"[ ]", b"[x]", b"[X]")
            assert resolve_task(document, format_task_address(section, task)) == (section, task)
    assert found == len(document.all_tasks)


@given(documents)
def test_replacing_a_section_with_itself_changes_no_byte(document: Document) -> None:
    for section in document.sections:
        for start in (section.start, section.body):
            text = document.text(start, section.end)
            assume("\0" not in text)
            update = UpdateContent(file=FILE, slug=section.key, content=text)
            assert revise_document(document, update).data == document.data


@given(documents, st.data())
def test_removing_an_added_section_restores_the_bytes(document: Document, data: st.DataObject) -> None:
    others = [item for item in document.sections if not item.is_preamble]
    neighbor = data.draw(st.sampled_from([None, *others]))
    where = data.draw(st.sampled_from(["parent_slug", "before", "after"]))
    content = data.draw(st.sampled_from([None, "Text.", "- item", "### Deeper\n\n<b>"]))
    place = {where: neighbor.key} if neighbor else {}
    add = AddSection(file=FILE, title="A title of its own", content=content, **place)
    try:
        new_document = revise_document(document, add)
    except WorkspaceError:
        return
    added = min(set(sections(new_document)) - set(sections(document)), key=len)
    removed = revise_document(new_document, RemoveSection(file=FILE, slug=added))
    assert (
        removed.data == document.data
        or not document.data.removeprefix(BOM).strip()
        or is_spaced(removed, document)
    )


@given(documents)
def test_reopening_a_completed_task_restores_the_bytes(document: Document) -> None:
    for section in document.sections:
        for task in document.tasks(section):
            if task.is_done or task.field("completed") is not None:
                continue
            slug = format_task_address(section, task)
            new_document = revise_document(document, CompleteTask(file=FILE, slug=slug))
            _, ticked = resolve_task(new_document, slug)
            assert ticked.is_done
            assert ticked.field("completed") == "2000-01-02"
            reopened = revise_document(new_document, ReopenTask(file=FILE, slug=slug))
            assert reopened.data == document.data or is_spaced(reopened, document)


def is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@given(documents)
def test_removing_an_added_tag_restores_the_front_matter(document: Document) -> None:
    try:
        tagged = revise_document(document, TagDocument(file=FILE, tags=("one of its own",)))
    except WorkspaceError:
        assert document.front_matter_error or not is_utf8(document.data)
        return
    assert tagged.tags == (*document.tags, "one of its own")
    assert tagged.data[tagged.front_matter_end :].endswith(document.data[document.front_matter_end :])
    new_document = revise_document(tagged, TagDocument(file=FILE, tags=("one of its own",), remove=True))
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
    below = {section.position, *(item.position for item in document.descendants(section))}
    left = [item for item in document.sections if item.position not in below]
    words = [new_document.source(item).strip() for item in new_document.sections]
    for item in left:
        own = document.source(item).strip()
        assert own in words or (not item.has_heading and not own) or isinstance(operation, RenameSection)
    lines = [line for item in left for line in document.source(item).splitlines() if line.strip()]
    assert [line for line in lines if line not in new_document.data] == []


@given(texts())
def test_line_numbers_count_lines(data: bytes) -> None:
    document = Document.parse(data, FILE)
    for section in document.sections:
        assert document.lines.offset(section.line - 1) == section.heading_start or not section.has_heading


def is_spaced(later: Document, earlier: Document) -> bool:
    """Return True if a blank line was added before a heading that would otherwise become text."""
    if len(later.data) - len(earlier.data) != len(earlier.ending):
        return False
    # Of two adjacent kinds of line endings, either may be that of the blank line.
    return any(
        plain(later.data)
        == plain(earlier.data[: section.start]) + plain(earlier.ending) + plain(earlier.data[section.start :])
        for section in earlier.sections
        if section.has_heading
    )


def plain(data: bytes) -> bytes:
    """Return a text with line feeds at the ends of its lines."""
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def sections(document: Document) -> list[str]:
    return [section.address for section in document.sections]
