"""Edits preserve documents with unusual bytes, and every form of an address resolves to its section."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from templates import builtin_types
from tests.loops import loop_over
from tests.repositories import Repo
from tests.workspace.documents import EDIT_CONTEXT, UNUSUAL_BYTES, documents, revise_document
from workspace.document.addresses import AmbiguousAddress, resolve_section, split_address
from workspace.document.document import Document
from workspace.document.sections import Section
from workspace.edits.content import InvalidContent
from workspace.edits.documents import CreateDocument
from workspace.edits.metadata import TagDocument
from workspace.edits.operation import DocumentOperation, Operation
from workspace.edits.sections import AddSection, RenameSection
from workspace.edits.tasks import AddTask, CompleteTask
from workspace.edits.text import AppendContent, UpdateContent
from workspace.errors import WorkspaceError
from workspace.git.reader import GitReader
from workspace.markdown.slugs import PREAMBLE
from workspace.snapshot.overlay import Overlay
from workspace.snapshot.snapshot import Snapshot

pytestmark = pytest.mark.smoke

FILE = "doc.md"
TEXT = b"# T\n\nWelcome.\n\n## One\n\nFirst.\n\n- [ ] task\n\n## Two\n\nSecond.\n"


@loop_over("unusual", UNUSUAL_BYTES, ids=repr)
@loop_over("offset", range(0, len(TEXT), 7))
def test_edits_preserve_unusual_bytes(unusual: bytes, offset: int) -> None:
    data = TEXT[:offset] + unusual + TEXT[offset:]
    document = Document.parse(data, FILE)
    for section in document.sections:
        text = document.text(section.body_start, section.end)
        if "\0" not in text:
            update = UpdateContent(file=FILE, slug=section.key, content=text)
            assert revise_document(document, update).data == data
        if not section.is_preamble:
            append = AppendContent(file=FILE, slug=section.key, content="Its own words.")
            new_data = revise_document(document, append).data
            added_length = len(new_data) - len(data)
            insertion = new_data.index(b"Its own words.")
            start = next(
                position for position in range(insertion, -1, -1) if data[:position] == new_data[:position]
            )
            assert new_data[start + added_length :] == data[start:]


@given(documents, st.data())
def test_edit_preserves_addresses_and_bytes_of_other_sections(
    document: Document, data: st.DataObject
) -> None:
    assume(document.sections)
    section = data.draw(st.sampled_from(document.sections))
    slug = section.key
    operation: DocumentOperation = data.draw(
        st.sampled_from(
            [
                UpdateContent(file=FILE, slug=slug, content="Other words."),
                AppendContent(file=FILE, slug=slug, content="More words."),
                RenameSection(file=FILE, slug=slug, new_title="Another title"),
                AddSection(file=FILE, title="A title of its own", parent_slug=slug),
                AddTask(file=FILE, slug=slug, title="Do it"),
            ]
        )
    )
    try:
        new_document = revise_document(document, operation)
    except WorkspaceError:
        return
    for item in document.sections:
        if item.position == section.position:
            continue
        new_section = resolve_section(new_document, item.key)
        assert (new_section.title, new_section.level, new_section.anchor) == (
            item.title,
            item.level,
            item.anchor,
        )
        assert new_document.source(new_section).strip() == document.source(item).strip()
    assert resolve_section(new_document, slug).level == section.level


@given(documents)
def test_every_form_of_an_address_resolves_to_its_section(document: Document) -> None:
    slugs = Counter(section.slug for section in document.sections if not section.is_preamble)
    names = Counter(
        name for section in document.sections for name in {*section.aliases, section.anchor} if name
    )
    keys = {section.key for section in document.sections} | {section.address for section in document.sections}
    for section in document.sections:
        for form in (section.key, f"#{section.key}", f" {section.key} "):
            assert resolve_section(document, form) is section
        path, fragment = split_address(f"{FILE}#{section.key}", {FILE})
        assert (path, fragment) == (FILE, section.key)
        for alias in section.aliases:
            if names[alias] == 1 and alias not in keys:
                assert resolve_section(document, alias) is section
        if not section.is_preamble and slugs[section.slug] == 1:
            is_other_address = section.slug in keys or section.slug in names or section.slug == PREAMBLE
            assert is_other_address or resolve_section(document, section.slug) is section


@given(documents)
def test_slug_of_several_headings_is_ambiguous(document: Document) -> None:
    slugs = Counter(section.slug for section in document.sections if not section.is_preamble)
    names = {
        name
        for section in document.sections
        for name in (section.key, section.address, section.anchor, *section.aliases)
    }
    for slug, count in slugs.items():
        if count > 1 and slug not in names and slug != PREAMBLE:
            with pytest.raises(AmbiguousAddress) as error_info:
                resolve_section(document, slug)
            candidates = error_info.value.details["candidates"]
            assert isinstance(candidates, list)
            assert [resolve_section(document, candidate["slug"]).slug for candidate in candidates] == [
                slug
            ] * count


DOCUMENT_TYPE = next(iter(builtin_types().values()))
OPERATION_BUILDERS: dict[str, Callable[[str], Operation]] = {
    "update_content content": lambda text: UpdateContent(file=FILE, slug="one", content=text),
    "append_content content": lambda text: AppendContent(file=FILE, slug="one", content=text),
    "add_section content": lambda text: AddSection(file=FILE, title="New", content=text),
    "add_section title": lambda text: AddSection(file=FILE, title=text),
    "add_task title": lambda text: AddTask(file=FILE, slug="one", title=text),
    "add_task criteria": lambda text: AddTask(file=FILE, slug="one", title="New", criteria=text),
    "add_task assignee": lambda text: AddTask(file=FILE, slug="one", title="New", assignee=text),
    "rename_section new_title": lambda text: RenameSection(file=FILE, slug="one", new_title=text),
    "complete_task note": lambda text: CompleteTask(file=FILE, slug="one[0]", note=text),
    "tag_document tags": lambda text: TagDocument(file=FILE, tags=(text,)),
    "create_document title": lambda text: CreateDocument(type=DOCUMENT_TYPE, title=text),
    "create_document initial_content": lambda text: CreateDocument(
        type=DOCUMENT_TYPE, title="New", content=text
    ),
}


@pytest.fixture
def overlay(repo: Repo) -> Overlay:
    return Overlay(Snapshot(GitReader(repo.path), repo.commit({FILE: TEXT})))


@loop_over("build_operation", OPERATION_BUILDERS.values(), ids=OPERATION_BUILDERS)
@loop_over("character", ["\0", "\ud800"], ids=ascii)
def test_invalid_character_is_refused_with_line_and_column(
    overlay: Overlay, build_operation: Callable[[str], Operation], character: str
) -> None:
    with pytest.raises(InvalidContent) as error_info:
        build_operation(f"a {character} b").apply(overlay, EDIT_CONTEXT)
    assert "line 1, column 3" in error_info.value.message
    assert (error_info.value.details["line"], error_info.value.details["column"]) == (1, 3)
    error_info.value.message.encode()
    assert overlay.changes() == {}


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [("\0", 1, 1), ("a\nb\0", 2, 2), ("a\r\nb\r\n\0", 3, 1), ("a\rb\r\r\u2028x\ud800", 4, 3)],
    ids=ascii,
)
def test_error_line_is_counted_as_in_markdown(overlay: Overlay, text: str, line: int, column: int) -> None:
    with pytest.raises(InvalidContent) as error_info:
        OPERATION_BUILDERS["update_content content"](text).apply(overlay, EDIT_CONTEXT)
    assert (error_info.value.details["line"], error_info.value.details["column"]) == (line, column)


@loop_over("text", ["\x85", "\u2028", "\x1b[31m", "\x0c", "\u202e", "\u200b", "\ufeff", "\x7f", "\x80"])
def test_unusual_valid_characters_are_written_unchanged(overlay: Overlay, text: str) -> None:
    OPERATION_BUILDERS["update_content content"](f"a {text} b").apply(overlay, EDIT_CONTEXT)
    new_document = overlay.document(FILE)
    assert new_document.data == TEXT.replace(b"First.\n\n- [ ] task", f"a {text} b".encode())
    assert [section.address for section in new_document.sections] == ["_preamble", "one", "two"]


def test_edit_preserves_bytes_that_are_not_utf_8() -> None:
    data = b"# T\n\n## Caf\xe9\n\n\xff\xfe old\n\n## Two\n\nText.\n"
    document = Document.parse(data, FILE)
    section: Section = document.sections[1]
    assert section.title == "Caf\ufffd"
    append_result = revise_document(document, AppendContent(file=FILE, slug=section.key, content="new"))
    assert append_result.data == data.replace(b" old\n", b" old\n\nnew\n")
    new_document = revise_document(document, RenameSection(file=FILE, slug="two", new_title="Three"))
    assert new_document.data == data.replace(b"## Two", b"## Three {#two}")
