"""The create_document operation: it fills the skeleton of a document type with the initial content."""

from __future__ import annotations

import pytest

from templates import builtin_types, parse_type
from tests.loops import loop_over
from tests.repositories import Repo
from tests.workspace.documents import EDIT_CONTEXT
from workspace.document.document import Document
from workspace.edits.documents import CreateDocument
from workspace.errors import WorkspaceError
from workspace.git.reader import GitReader
from workspace.paths import InvalidPath
from workspace.snapshot.overlay import Overlay
from workspace.snapshot.snapshot import Snapshot

pytestmark = pytest.mark.smoke

DOCUMENT_TYPE = parse_type(
    "note",
    b'title = "Note"\nsummary = "A note"\ninstructions = ["Write"]\n',
    b"# {title}\n\n## Context\n\n## Steps\n\n### First\n\n## Links\n",
)


@pytest.fixture
def overlay(repo: Repo) -> Overlay:
    return Overlay(Snapshot(GitReader(repo.path), repo.head()))


def create_document(
    overlay: Overlay, title: str, content: str = "", folder: str = "", path: str = ""
) -> Document:
    outcome = CreateDocument(
        type=DOCUMENT_TYPE, title=title, content=content, folder=folder, path=path
    ).apply(overlay, EDIT_CONTEXT)
    document = overlay.document(outcome.path)
    assert outcome.result["path"] == outcome.path == document.path
    assert outcome.result["sections"] == [
        section.address for section in document.sections if not section.is_preamble
    ]
    assert all(section.anchor for section in document.sections)
    return document


def test_created_document_has_the_skeleton_of_its_type(overlay: Overlay) -> None:
    assert create_document(overlay, "Search API").data.decode() == (
        "---\ntype: note\n---\n\n# Search API {#search-api}\n\n## Context {#context}\n\n## Steps {#steps}\n\n"
        "### First {#steps/first}\n\n## Links {#links}\n"
    )


def test_document_without_a_type_has_neither_skeleton_nor_front_matter(overlay: Overlay) -> None:
    CreateDocument(type=None, title="Notes", content="Text.\n\n## More", path="notes").apply(
        overlay, EDIT_CONTEXT
    )
    text = overlay.document("notes.md").data.decode()
    assert text == "# Notes {#notes}\n\nText.\n\n## More {#more}\n"


def test_content_fills_sections_and_adds_other_sections(overlay: Overlay) -> None:
    content = (
        "# Search API\n\nAn introduction.\n\n### steps\n\nOne by one.\n\n#### Deeper\n\nText.\n\n"
        '<a id="named"></a>\n## Other\n\n- [ ] a task\n\nSetext\n------\n\n## Links {#l}\n\nHere.\n'
    )
    assert create_document(overlay, "Search API", content).data.decode() == (
        "---\ntype: note\n---\n\n# Search API {#search-api}\n\nAn introduction.\n\n## Context {#context}\n\n"
        "## steps {#steps}\n\nOne by one.\n\n### Deeper {#steps/deeper}\n\nText.\n\n"
        "### First {#steps/first}\n\n"
        '## Links {#l}\n\nHere.\n\n<a id="named"></a>\n## Other\n\n- [ ] a task\n\n## Setext {#setext}\n'
    )


def test_content_preserves_its_attribute_lists(overlay: Overlay) -> None:
    content = (
        "# Search API { #search }\n\n## Steps { .wide }\n\nOne by one.\n\n### Deeper {: #deep }\n\n"
        "## Links\n{: #l .no_toc }\nHere.\n\n## Other\n{: .no_toc }\n\nMore.\n"
    )
    assert create_document(overlay, "Search API", content).data.decode() == (
        "---\ntype: note\n---\n\n# Search API {#search-api}\n\n## Context {#context}\n\n"
        "## Steps { #steps .wide }\n\nOne by one.\n\n### Deeper {: #deep }\n\n"
        "### First {#steps/first}\n\n"
        "## Links\n{: #l .no_toc }\n\nHere.\n\n## Other {#other}\n{: .no_toc }\n\nMore.\n"
    )


@pytest.mark.parametrize("name", sorted(builtin_types()))
def test_document_of_every_built_in_type_is_created(overlay: Overlay, name: str) -> None:
    document_type = builtin_types()[name]
    outcome = CreateDocument(type=document_type, title="Über {title}: 数据 #", content="Text.").apply(
        overlay, EDIT_CONTEXT
    )
    document = overlay.document(outcome.path)
    assert document.type == name
    assert document.title == "Über {title}: 数据 #"
    expected = [section.title for section in document_type.sections]
    assert [section.title for section in document.sections[1:]] == expected


def test_markdown_marks_are_removed_from_the_plain_title(overlay: Overlay) -> None:
    assert create_document(overlay, "`a` & <b>: *c* \\# #").title == "a & : c # #"


@loop_over(
    ("title", "content", "folder", "code"),
    [
        ("", "", "", "INVALID_TITLE"),
        ("🚀", "", "", "INVALID_TITLE"),
        ("...", "", "", "INVALID_TITLE"),
        ("a\nb", "", "", "INVALID_TITLE"),
        ("x" * 301, "", "", "INVALID_TITLE"),
        ("T {#a}", "", "", "INVALID_TITLE"),
        ("Con", "", "", "INVALID_PATH"),
        ("T", "a\0b", "", "INVALID_CONTENT"),
        ("T", "a\udfffb", "", "INVALID_CONTENT"),
        ("a\ud800b", "", "", "INVALID_CONTENT"),
        ("T", "```\nopen", "", "INVALID_CONTENT"),
        ("T", "<!-- open", "", "INVALID_CONTENT"),
        ("T", "Text.\n\n# Another H1\n", "", "LEVEL_CONFLICT"),
        ("T", "## Steps\n\n### a\n\n## First\n\n### x {#same}\n\n### y {#same}\n", "", "SECTION_EXISTS"),
        ("T", "## A\n\n## A {#a}\n\n## B {#a}\n", "", "SECTION_EXISTS"),
        ("T", "", "../up", "INVALID_PATH"),
        ("T", "", "/etc", "INVALID_PATH"),
        ("T", "", ".git", "INVALID_PATH"),
        ("T", "", ".hidden", "INVALID_PATH"),
        ("T", "", "a\\b", "INVALID_PATH"),
        ("T", "", "README.md", "PATH_EXISTS"),
        ("Setup", "", "guides", "PATH_EXISTS"),
        ("Setup", "", "Guides", "PATH_EXISTS"),
        ("Readme", "", "", "PATH_EXISTS"),
        pytest.param("T", "x" * 10_000_001, "", "LIMIT_EXCEEDED", id="too large"),
    ],
)
def test_invalid_document_is_refused(
    overlay: Overlay, title: str, content: str, folder: str, code: str
) -> None:
    with pytest.raises(WorkspaceError) as error_info:
        create_document(overlay, title, content, folder)
    assert error_info.value.code == code
    assert error_info.value.fix
    assert len(error_info.value.message) < 400
    assert dict(overlay.changes()) == {}


@pytest.mark.parametrize(
    ("folder", "path"),
    [
        ("", "t.md"),
        (".", "t.md"),
        ("guides/", "guides/t.md"),
        ("new/deep", "new/deep/t.md"),
        (" a b ", "a b/t.md"),
    ],
)
def test_document_is_created_in_the_folder(overlay: Overlay, folder: str, path: str) -> None:
    assert create_document(overlay, "T", folder=folder).path == path


@pytest.mark.parametrize(
    ("requested_path", "path"),
    [
        ("decisions/0001-t.md", "decisions/0001-t.md"),
        ("decisions/0001-t", "decisions/0001-t.md"),
        ("t.markdown", "t.markdown"),
        (" a b.md ", "a b.md"),
    ],
)
def test_document_is_created_at_the_path(overlay: Overlay, requested_path: str, path: str) -> None:
    assert create_document(overlay, "T", path=requested_path).path == path


@pytest.mark.parametrize("requested_path", ["t.txt", "../t.md", "/t.md", ".git/t.md", "a\0.md"])
def test_invalid_path_of_new_document_is_refused(overlay: Overlay, requested_path: str) -> None:
    with pytest.raises(InvalidPath):
        create_document(overlay, "T", path=requested_path)


def test_path_used_earlier_in_the_batch_is_refused(overlay: Overlay) -> None:
    create_document(overlay, "T", folder="New")
    for folder in ("New", "new"):
        with pytest.raises(WorkspaceError, match="already exists"):
            create_document(overlay, "T", folder=folder)
