"""A published documentation: each id is the address, and every operation, merge and fix preserves it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.loops import loop_over
from tests.published_docs import COUNT, documentation, headings_of, path_of, text_of
from tests.repositories import Repo, normal
from tests.workspace.documents import EDIT_CONTEXT
from tests.workspace.validation.fixes.in_memory import fixers
from workspace.config.tables import Dialect
from workspace.document.addresses import find_sections_by_name, resolve_section
from workspace.document.document import Document
from workspace.edits import (
    AppendContent,
    MoveSection,
    Operation,
    RemoveSection,
    RenameSection,
    RestoreDocument,
    RestoreSection,
    UpdateContent,
)
from workspace.git.reader import GitReader
from workspace.links.fragments import find_names, find_target
from workspace.markdown.inline import to_plain_text
from workspace.markdown.slugs import make_heading_slug
from workspace.merge.documents import merge_documents
from workspace.snapshot.snapshot import Snapshot
from workspace.validation.fixes.fix import fix_document, map_offsets
from workspace.workspace import Workspace
from workspace.writing.plan import Mode, plan
from workspace.writing.write import WriteResult

DOCUMENTS = [Document.parse(text_of(number).encode(), path_of(number)) for number in range(COUNT)]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """Return the documentation in a repository, which no test changes."""
    return normal(tmp_path_factory.mktemp("published") / "repo", documentation())


@pytest.fixture
def small(tmp_path: Path) -> Repo:
    """Return four files of the documentation in a repository."""
    return normal(tmp_path / "repo", {path_of(number): text_of(number) for number in range(4)})


def write(repo: Repo, *operations: Operation, base: str | None = None) -> WriteResult:
    workspace = Workspace.open(repo.path, durable=False)
    result = workspace.write(operations, mode=Mode.ALL, tool="edit_document", client="a", base_commit=base)
    assert [step.error for step in result.steps if step.error] == []
    return result


def earlier(number: int) -> dict[str, str]:
    """Return the address that 0.1.0 derived for each published id that it did not read, by the id."""
    found: dict[str, str] = {}
    above = ""
    for heading in headings_of(number):
        below = heading.line.count("\n")
        words = heading.title if below else f"{heading.title} {heading.attributes}"
        slug = make_heading_slug(to_plain_text(words))
        is_read = heading.attributes.startswith("{#") and "{b}" not in heading.attributes
        address = heading.id if is_read else slug if heading.level == 2 else f"{above}/{slug}"
        if heading.level == 2:
            above = address
        if not is_read:
            found[heading.id] = address
    return found


def test_titles_are_clean_and_ids_are_addresses(published: Repo) -> None:
    snapshot = Snapshot(GitReader(published.path), published.head())
    assert len(snapshot.documents) == COUNT
    for number in range(COUNT):
        document = snapshot.document(path_of(number))
        wanted = [(to_plain_text(one.title), one.id, one.level) for one in headings_of(number)]
        *found, last = document.sections[1:]
        assert [(one.title, one.address, one.level) for one in found] == wanted
        assert (last.title, last.address) == ("A set { a, b }", "a-set--a-b-")
        assert "{" not in document.title
        assert resolve_section(document, f"page-{number:03}").is_preamble


def test_first_version_addresses_resolve_in_reads_and_links() -> None:
    for number, document in enumerate(DOCUMENTS):
        addresses = earlier(number)
        assert len(addresses) == 8
        for published_id, address in addresses.items():
            assert resolve_section(document, address).address == published_id
            place = find_target(find_names(document, Dialect.MKDOCS), address)
            assert place is not None
            assert place.section == resolve_section(document, published_id).position


@pytest.mark.property
@loop_over("by", ["id", "earlier address"])
def test_rename_preserves_every_list(by: str) -> None:
    for number, document in enumerate(DOCUMENTS):
        now, addresses = document, earlier(number) if by != "id" else {}
        text = document.data.decode()
        # From the end: a name of 0.1.0 is derived from the headings above, too.
        for heading in reversed(headings_of(number)):
            rename = RenameSection(
                file=document.path, slug=addresses.get(heading.id, heading.id), new_title=f"New {number}"
            )
            now, edit = rename.revise(now, EDIT_CONTEXT)
            assert edit.result["slug"] == heading.id
            text = text.replace(heading.line, heading._replace(title=f"New {number}").line)
        assert now.data.decode() == text
        assert [one.address for one in now.sections] == [one.address for one in document.sections]


@pytest.mark.property
def test_update_of_a_section_preserves_every_list() -> None:
    for number, document in enumerate(DOCUMENTS):
        now, text = document, document.data.decode()
        for heading in headings_of(number):
            update = UpdateContent(file=document.path, slug=heading.id, content="Other words.")
            now, _ = update.revise(now, EDIT_CONTEXT)
            words = f"Words of {heading.title}, number {number}."
            if heading.id == "limits":
                words += "\n\n- [ ] Measure them\n- [x] Write them down"
            text = text.replace(words, "Other words.")
        assert now.data.decode() == text


def test_moves_preserve_ids_and_update_links(published: Repo) -> None:
    snapshot = Snapshot(GitReader(published.path), published.head())
    moves = [
        MoveSection(
            file=path_of(number), slug=f"install-{number:03}", to_file=path_of(number + 1), after="limits"
        )
        for number in range(0, COUNT, 10)
    ]
    result = plan(snapshot, moves, Mode.ALL, EDIT_CONTEXT)
    assert [step.error for step in result.steps if step.error] == []
    for number in range(0, COUNT, 10):
        moved = result.overlay.document(path_of(number + 1))
        assert resolve_section(moved, f"install-{number:03}").title == "Install it"
        assert f"## Install it {{ #install-{number:03} .wide }}\n".encode() in moved.data
        assert not find_sections_by_name(result.overlay.document(path_of(number)), f"install-{number:03}")
        assert [one.address for one in moved.sections if one.address == "first-steps"]
        # A link to it leads to its new document.
        linking = next(other for other in range(COUNT) if (other * 7 + 1) % COUNT == number)
        name = path_of(number + 1).rpartition("/")[2]
        assert f"{name}#install-{number:03})".encode() in result.overlay.document(path_of(linking)).data


def test_move_to_a_document_with_the_same_id_renames_it() -> None:
    files = {
        "a.md": "# A\n\n## X\n{: .wide #options }\n\n## Y { #limits .b key='#limits' }\n",
        "b.md": text_of(0),
    }
    source, target = (Document.parse(text.encode(), path) for path, text in files.items())
    from workspace.config.tables import LinkRules
    from workspace.edits.section_place import find_target_position as find_section_place
    from workspace.edits.transplant import move_section

    for slug, line in (
        ("options", "## X\n{: .wide #options-1 }"),
        ("limits", "## Y { #limits-1 .b key='#limits' }"),
    ):
        place = find_section_place(target, None, None, None, None)
        result = move_section(
            source,
            resolve_section(source, slug),
            target,
            place,
            (EDIT_CONTEXT.form, EDIT_CONTEXT.form),
            LinkRules(),
        )
        assert line.encode() in result.target.data


def test_removed_section_is_restored_with_its_list(small: Repo) -> None:
    path, head_before, text = path_of(1), small.head(), text_of(1)
    ids = ["install-001", "größe", "options", "faq", "in-mdx"]
    write(small, *(RemoveSection(file=path, slug=slug) for slug in ids), base=head_before)
    assert "größe }" not in (small.path / path).read_text()
    write(small, *(RestoreSection(file=path, slug=slug, commit=head_before) for slug in ids))
    assert (small.path / path).read_text() == text
    write(small, UpdateContent(file=path, slug="faq", content="Gone."), base=head_before)
    write(small, RestoreDocument(file=path, commit=head_before), base=small.head())
    assert (small.path / path).read_text() == text


def test_renamed_section_is_restored_by_its_earlier_address(small: Repo) -> None:
    path, head_before = path_of(2), small.head()
    write(small, RenameSection(file=path, slug="first-steps--first-steps-", new_title="Getting going"))
    assert "## Getting going { #first-steps }\n" in (small.path / path).read_text()
    write(small, RestoreSection(file=path, slug="first-steps", commit=head_before))
    assert (small.path / path).read_text() == text_of(2)


def test_first_version_address_is_followed_through_a_rename(small: Repo) -> None:
    path = path_of(2)
    write(small, RenameSection(file=path, slug="first-steps", new_title="Getting going"))
    workspace = Workspace.open(small.path)
    tip = workspace.snapshot()
    assert not find_sections_by_name(tip.document(path), "first-steps--first-steps-")
    move = workspace.moves().find(tip, path, "first-steps--first-steps-")
    assert move is not None
    assert (move.path, move.fragment) == (path, "first-steps")


def test_link_by_a_first_version_address_follows_a_rename(small: Repo) -> None:
    path = path_of(2)
    small.commit({"notes.md": f"# Notes\n\n[a]({path}#first-steps--first-steps-)\n"})
    write(small, RenameSection(file=path, slug="first-steps", new_title="Getting going"))
    assert (small.path / "notes.md").read_text() == f"# Notes\n\n[a]({path}#first-steps)\n"


@pytest.mark.property
def test_merge_preserves_every_list() -> None:
    for number, base in enumerate(DOCUMENTS):
        ours, theirs = base, base
        for heading in headings_of(number):
            rename = RenameSection(file=base.path, slug=heading.id, new_title=f"New {heading.title}")
            ours, _ = rename.revise(ours, EDIT_CONTEXT)
            append = AppendContent(file=base.path, slug=heading.id, content="Theirs.")
            theirs, _ = append.revise(theirs, EDIT_CONTEXT)
        result = merge_documents(base, ours, theirs)
        assert result.conflicts == ()
        document = Document.parse(result.data, base.path)
        assert [one.address for one in document.sections] == [one.address for one in base.sections]
        for heading in headings_of(number):
            assert heading._replace(title=f"New {heading.title}").line.encode() in document.data
        assert document.data.count(b"Theirs.") == len(headings_of(number))


def test_lists_that_both_sides_changed_are_merged() -> None:
    base = "# A\n\n## X { #x }\n\n## Y\n{: #y }\n\nText.\n"
    ours = base.replace("## X { #x }", "## New X { #x }").replace("## Y", "## New Y")
    theirs = base.replace("{ #x }", "{ #x .wide }").replace("{: #y }", "{: #y .wide }")
    one, two, three = (Document.parse(text.encode(), "a.md") for text in (base, ours, theirs))
    result = merge_documents(one, two, three)
    assert result.data.decode() == ("# A\n\n## New X { #x .wide }\n\n## New Y\n{: #y .wide }\n\nText.\n")


def test_fix_preserves_published_ids() -> None:
    files = {document.path: document.data for document in DOCUMENTS}
    found = fixers(files, "missing-anchor", "derived-anchor", "trailing-space")
    for document in DOCUMENTS:
        result = fix_document(document, found)
        # The one heading without an id gets one, in the form of the document's others.
        assert result.document.data.decode() == document.data.decode().replace(
            "## A set { a, b }", "## A set { a, b } { #a-set--a-b- }"
        )


def test_fix_removes_anchors_that_the_first_version_wrote() -> None:
    for number, document in enumerate(DOCUMENTS):
        text, addresses = document.data.decode(), earlier(number)
        for heading in headings_of(number):
            if heading.id in addresses and "\n" not in heading.line:
                text = text.replace(heading.line, f"{heading.line} {{#{addresses[heading.id]}}}")
        written = Document.parse(text.encode(), document.path)
        assert [one.title for one in written.sections] == [one.title for one in document.sections]
        assert [one.address for one in written.sections] == [one.address for one in document.sections]
        result = fix_document(written, fixers({document.path: written.data}, "derived-anchor"))
        assert result.document.data == document.data
        for published_id, address in addresses.items():
            assert resolve_section(written, address).address == published_id
            assert resolve_section(result.document, address).address == published_id
        assert map_offsets(result, Dialect.MKDOCS) is not None
