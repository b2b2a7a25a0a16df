"""Published documentation with ids in its headings: each id is an address, and every edit preserves it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.loops import loop_over
from tests.published_docs import FILE_COUNT, make_documentation, make_headings, make_path, make_text
from tests.repositories import Repo, create_repository
from tests.workspace.documents import EDIT_CONTEXT
from tests.workspace.validation.fixes.in_memory import build_fix_finder
from workspace.config.names import Dialect
from workspace.config.tables import LinkRules
from workspace.document.addresses import find_sections_by_name, resolve_section
from workspace.document.document import Document
from workspace.edits.operation import Operation
from workspace.edits.restore import RestoreDocument, RestoreSection
from workspace.edits.section_move import move_section
from workspace.edits.section_position import find_target_position
from workspace.edits.sections import MoveSection, RemoveSection, RenameSection
from workspace.edits.text import AppendContent, UpdateContent
from workspace.git.reader import GitReader
from workspace.links.fragments import find_names, find_target
from workspace.markdown.inline import to_plain_text
from workspace.markdown.slugs import make_heading_slug
from workspace.merge.documents import merge_documents
from workspace.snapshot.snapshot import Snapshot
from workspace.validation.fixes.fix import fix_document, make_offset_map
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode, build_plan
from workspace.writing.write import WriteResult

# The number of headings of each page whose id version 0.1.0 did not read.
UNREAD_ID_COUNT = 8
DOCUMENTS = [Document.parse(make_text(number).encode(), make_path(number)) for number in range(FILE_COUNT)]


@pytest.fixture(scope="module")
def published_repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """Return the documentation in a repository, which no test changes."""
    return create_repository(tmp_path_factory.mktemp("published") / "repo", make_documentation())


@pytest.fixture
def small_repo(tmp_path: Path) -> Repo:
    """Return four files of the documentation in a repository."""
    return create_repository(tmp_path / "repo", {make_path(number): make_text(number) for number in range(4)})


def write_operations(repo: Repo, *operations: Operation, base: str | None = None) -> WriteResult:
    workspace = Workspace.open(repo.path, durable=False)
    result = workspace.write(
        operations, mode=BatchMode.ALL, tool="edit_document", client="a", base_commit=base
    )
    assert [step.error for step in result.steps if step.error] == []
    return result


def derive_earlier_addresses(number: int) -> dict[str, str]:
    """Return the derived addresses, by published id, of the headings whose ids version 0.1.0 did not read."""
    addresses: dict[str, str] = {}
    parent_address = ""
    for heading in make_headings(number):
        has_attributes_below = "\n" in heading.source
        words = heading.title if has_attributes_below else f"{heading.title} {heading.attributes}"
        slug = make_heading_slug(to_plain_text(words))
        is_read = heading.attributes.startswith("{#") and "{b}" not in heading.attributes
        address = heading.id if is_read else slug if heading.level == 2 else f"{parent_address}/{slug}"
        if heading.level == 2:
            parent_address = address
        if not is_read:
            addresses[heading.id] = address
    return addresses


def test_titles_are_clean_and_ids_are_addresses(published_repo: Repo) -> None:
    snapshot = Snapshot(GitReader(published_repo.path), published_repo.head())
    assert len(snapshot.documents) == FILE_COUNT
    for number in range(FILE_COUNT):
        document = snapshot.document(make_path(number))
        expected = [
            (to_plain_text(heading.title), heading.id, heading.level) for heading in make_headings(number)
        ]
        *sections, last_section = document.sections[1:]
        assert [(section.title, section.address, section.level) for section in sections] == expected
        assert (last_section.title, last_section.address) == ("A set { a, b }", "a-set--a-b-")
        assert "{" not in document.title
        assert resolve_section(document, f"page-{number:03}").is_preamble


def test_first_version_addresses_resolve_in_reads_and_links() -> None:
    for number, document in enumerate(DOCUMENTS):
        addresses = derive_earlier_addresses(number)
        assert len(addresses) == UNREAD_ID_COUNT
        for published_id, address in addresses.items():
            assert resolve_section(document, address).address == published_id
            target = find_target(find_names(document, Dialect.MKDOCS), address)
            assert target is not None
            assert target.section == resolve_section(document, published_id).position


@pytest.mark.property
@loop_over("name_kind", ["id", "earlier address"])
def test_rename_preserves_every_attribute_list(name_kind: str) -> None:
    for number, document in enumerate(DOCUMENTS):
        new_document, addresses = document, derive_earlier_addresses(number) if name_kind != "id" else {}
        text = document.data.decode()
        # The last heading is renamed first: version 0.1.0 derived a name also from the headings above.
        for heading in reversed(make_headings(number)):
            rename = RenameSection(
                file=document.path, slug=addresses.get(heading.id, heading.id), new_title=f"New {number}"
            )
            new_document, edit = rename.revise(new_document, EDIT_CONTEXT)
            assert edit.result["slug"] == heading.id
            text = text.replace(heading.source, heading._replace(title=f"New {number}").source)
        assert new_document.data.decode() == text
        assert [section.address for section in new_document.sections] == [
            section.address for section in document.sections
        ]


@pytest.mark.property
def test_update_of_a_section_preserves_every_attribute_list() -> None:
    for number, document in enumerate(DOCUMENTS):
        new_document, text = document, document.data.decode()
        for heading in make_headings(number):
            update = UpdateContent(file=document.path, slug=heading.id, content="Other words.")
            new_document, _ = update.revise(new_document, EDIT_CONTEXT)
            words = f"Words of {heading.title}, number {number}."
            if heading.id == "limits":
                words += "\n\n- [ ] Measure them\n- [x] Write them down"
            text = text.replace(words, "Other words.")
        assert new_document.data.decode() == text


def test_moves_preserve_ids_and_update_links(published_repo: Repo) -> None:
    snapshot = Snapshot(GitReader(published_repo.path), published_repo.head())
    moves = [
        MoveSection(
            file=make_path(number), slug=f"install-{number:03}", to_file=make_path(number + 1), after="limits"
        )
        for number in range(0, FILE_COUNT, 10)
    ]
    result = build_plan(snapshot, moves, BatchMode.ALL, EDIT_CONTEXT)
    assert [step.error for step in result.steps if step.error] == []
    for number in range(0, FILE_COUNT, 10):
        target = result.overlay.document(make_path(number + 1))
        assert resolve_section(target, f"install-{number:03}").title == "Install it"
        assert f"## Install it {{ #install-{number:03} .wide }}\n".encode() in target.data
        assert not find_sections_by_name(result.overlay.document(make_path(number)), f"install-{number:03}")
        assert [section.address for section in target.sections if section.address == "first-steps"]
        # Page n links to the section of page 7n + 1 (see `make_text`), and now names its new document.
        linking_number = next(
            candidate for candidate in range(FILE_COUNT) if (candidate * 7 + 1) % FILE_COUNT == number
        )
        name = make_path(number + 1).rpartition("/")[2]
        assert (
            f"{name}#install-{number:03})".encode() in result.overlay.document(make_path(linking_number)).data
        )


def test_section_moved_to_a_document_with_the_same_id_gets_another_id() -> None:
    files = {
        "a.md": "# A\n\n## X\n{: .wide #options }\n\n## Y { #limits .b key='#limits' }\n",
        "b.md": make_text(0),
    }
    source, target = (Document.parse(text.encode(), path) for path, text in files.items())
    for slug, line in (
        ("options", "## X\n{: .wide #options-1 }"),
        ("limits", "## Y { #limits-1 .b key='#limits' }"),
    ):
        position = find_target_position(target, None, None, None, None)
        result = move_section(
            source,
            resolve_section(source, slug),
            target,
            position,
            (EDIT_CONTEXT.anchor_form, EDIT_CONTEXT.anchor_form),
            LinkRules(),
        )
        assert line.encode() in result.target.data


def test_removed_section_is_restored_with_its_attribute_list(small_repo: Repo) -> None:
    path, head_before, text = make_path(1), small_repo.head(), make_text(1)
    ids = ["install-001", "größe", "options", "faq", "in-mdx"]
    write_operations(small_repo, *(RemoveSection(file=path, slug=slug) for slug in ids), base=head_before)
    assert "größe }" not in (small_repo.path / path).read_text()
    write_operations(small_repo, *(RestoreSection(file=path, slug=slug, commit=head_before) for slug in ids))
    assert (small_repo.path / path).read_text() == text
    write_operations(small_repo, UpdateContent(file=path, slug="faq", content="Gone."), base=head_before)
    write_operations(small_repo, RestoreDocument(file=path, commit=head_before), base=small_repo.head())
    assert (small_repo.path / path).read_text() == text


def test_renamed_section_is_restored_by_its_earlier_address(small_repo: Repo) -> None:
    path, head_before = make_path(2), small_repo.head()
    write_operations(
        small_repo, RenameSection(file=path, slug="first-steps--first-steps-", new_title="Getting going")
    )
    assert "## Getting going { #first-steps }\n" in (small_repo.path / path).read_text()
    write_operations(small_repo, RestoreSection(file=path, slug="first-steps", commit=head_before))
    assert (small_repo.path / path).read_text() == make_text(2)


def test_first_version_address_is_found_after_a_rename(small_repo: Repo) -> None:
    path = make_path(2)
    write_operations(small_repo, RenameSection(file=path, slug="first-steps", new_title="Getting going"))
    workspace = Workspace.open(small_repo.path)
    tip = workspace.snapshot()
    assert not find_sections_by_name(tip.document(path), "first-steps--first-steps-")
    move = workspace.moves().find(tip, path, "first-steps--first-steps-")
    assert move is not None
    assert (move.path, move.fragment) == (path, "first-steps")


def test_link_by_a_first_version_address_is_updated_by_a_rename(small_repo: Repo) -> None:
    path = make_path(2)
    small_repo.commit({"notes.md": f"# Notes\n\n[a]({path}#first-steps--first-steps-)\n"})
    write_operations(small_repo, RenameSection(file=path, slug="first-steps", new_title="Getting going"))
    assert (small_repo.path / "notes.md").read_text() == f"# Notes\n\n[a]({path}#first-steps)\n"


@pytest.mark.property
def test_merge_preserves_every_attribute_list() -> None:
    for number, base in enumerate(DOCUMENTS):
        our_document, their_document = base, base
        for heading in make_headings(number):
            rename = RenameSection(file=base.path, slug=heading.id, new_title=f"New {heading.title}")
            our_document, _ = rename.revise(our_document, EDIT_CONTEXT)
            append = AppendContent(file=base.path, slug=heading.id, content="Theirs.")
            their_document, _ = append.revise(their_document, EDIT_CONTEXT)
        result = merge_documents(base, our_document, their_document)
        assert result.conflicts == ()
        document = Document.parse(result.data, base.path)
        assert [section.address for section in document.sections] == [
            section.address for section in base.sections
        ]
        for heading in make_headings(number):
            assert heading._replace(title=f"New {heading.title}").source.encode() in document.data
        assert document.data.count(b"Theirs.") == len(make_headings(number))


def test_attribute_lists_that_both_sides_changed_are_merged() -> None:
    base = "# A\n\n## X { #x }\n\n## Y\n{: #y }\n\nText.\n"
    ours = base.replace("## X { #x }", "## New X { #x }").replace("## Y", "## New Y")
    theirs = base.replace("{ #x }", "{ #x .wide }").replace("{: #y }", "{: #y .wide }")
    base_document, our_document, their_document = (
        Document.parse(text.encode(), "a.md") for text in (base, ours, theirs)
    )
    result = merge_documents(base_document, our_document, their_document)
    assert result.data.decode() == ("# A\n\n## New X { #x .wide }\n\n## New Y\n{: #y .wide }\n\nText.\n")


def test_fix_preserves_published_ids() -> None:
    files = {document.path: document.data for document in DOCUMENTS}
    fix_finder = build_fix_finder(files, "missing-anchor", "derived-anchor", "trailing-space")
    for document in DOCUMENTS:
        result = fix_document(document, fix_finder)
        # The only heading without an id gets an id in the form of the other headings.
        assert result.document.data.decode() == document.data.decode().replace(
            "## A set { a, b }", "## A set { a, b } { #a-set--a-b- }"
        )


def test_fix_removes_anchors_that_the_first_version_wrote() -> None:
    for number, document in enumerate(DOCUMENTS):
        text, addresses = document.data.decode(), derive_earlier_addresses(number)
        for heading in make_headings(number):
            if heading.id in addresses and "\n" not in heading.source:
                text = text.replace(heading.source, f"{heading.source} {{#{addresses[heading.id]}}}")
        document_with_anchors = Document.parse(text.encode(), document.path)
        assert [section.title for section in document_with_anchors.sections] == [
            section.title for section in document.sections
        ]
        assert [section.address for section in document_with_anchors.sections] == [
            section.address for section in document.sections
        ]
        result = fix_document(
            document_with_anchors,
            build_fix_finder({document.path: document_with_anchors.data}, "derived-anchor"),
        )
        assert result.document.data == document.data
        for published_id, address in addresses.items():
            assert resolve_section(document_with_anchors, address).address == published_id
            assert resolve_section(result.document, address).address == published_id
        assert make_offset_map(result, Dialect.MKDOCS) is not None
