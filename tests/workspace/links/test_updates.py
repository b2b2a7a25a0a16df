"""Link updates: after any operation, each link still leads to its target if the target exists."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import repositories
from tests.example_counts import scale_examples
from tests.loops import loop_over
from tests.repositories import Repo, make_signature
from tests.workspace.links.cases import EDIT_CONTEXT
from workspace.document.document import Document
from workspace.edits.documents import MoveDocument, RemoveDocument
from workspace.edits.operation import Operation
from workspace.edits.sections import AddSection, RemoveSection, RenameSection
from workspace.edits.text import AppendContent, UpdateContent
from workspace.git.reader import GitReader
from workspace.git.store import GitStore
from workspace.git.trees import rewrite_tree
from workspace.links.file_tree import OverlayFileTree
from workspace.links.inbound_links import AffectedPaths
from workspace.links.reader import read_cached_links
from workspace.links.resolver import LinkStatus, resolve
from workspace.snapshot.overlay import Overlay
from workspace.snapshot.snapshot import Snapshot
from workspace.writing.plan import BatchMode, Plan, build_plan

PATHS = ("a.md", "docs/b.md", "docs/README.md", "x y/c.md")
_LINK_NUMBER = re.compile(rb"\[L\d+\]")
_SECTION_MARK = re.compile(rb"mark\d+;")
_FILE_MARK = re.compile(rb"file\d+;")

titles = st.sampled_from(["Errors", "Errors", "A b", "`code` *x*", "Top", "errors-1", "数据"])
anchors = st.sampled_from(["", "", "", " {#one}", ' <a id="two"></a>'])
FRAGMENTS = "# #errors #errors-1 #errors-2 #a-b #one #two #top #_preamble #a-b/errors #one/errors"
fragments = st.sampled_from(["", *FRAGMENTS.split()])
forms = st.sampled_from(["[L{n}]({to})", "[L{n}](<{to}> 'T')", "- [L{n}]({to})", "| [L{n}]({to}) |\n|---|"])


@st.composite
def file_sets(draw: st.DrawFn) -> dict[str, bytes]:
    """Draw documents by path, with a mark in each section and with links between the documents."""
    files, number = {}, 0
    for path in PATHS:
        blocks = [f"---\nid: file{number};\n---"]
        for level in draw(st.lists(st.integers(1, 4), min_size=1, max_size=5)):
            number += 1
            blocks.append(f"{'#' * level} {draw(titles)}{draw(anchors)}")
            blocks.append(f"mark{number};")
            for _ in range(draw(st.integers(0, 2))):
                number += 1
                parent_path = "../" if "/" in path else ""
                destination = draw(
                    st.sampled_from(
                        ["", *(parent_path + linked_path.replace(" ", "%20") for linked_path in PATHS)]
                    )
                )
                if draw(st.booleans()):
                    destination = "/" + destination.removeprefix("../") if destination else ""
                blocks.append(draw(forms).format(n=number, to=destination + draw(fragments)))
        files[path] = draw(st.sampled_from(["\n\n", "\r\n\r\n"])).join(blocks).encode() + b"\n"
    return files


operations = st.one_of(
    st.builds(
        lambda file, to: MoveDocument(file=file, new_path=to),
        st.sampled_from(PATHS),
        st.sampled_from(["A.md", "docs/c.md", "new/deep/(d) 100%.md", "b.md", "x y/README.md"]),
    ),
    st.builds(
        lambda *arguments: ("rename", *arguments),
        st.integers(0, 30),
        st.sampled_from(["New", "Errors"]),
    ),
    st.builds(lambda number: ("remove", number), st.integers(0, 30)),
    st.builds(lambda number: ("update", number), st.integers(0, 30)),
    st.builds(lambda *arguments: ("add", *arguments), st.integers(0, 30), titles),
    st.builds(lambda file: RemoveDocument(path=file), st.sampled_from(PATHS)),
)


def make_operation(overlay: Snapshot, drawn_operation: object) -> Operation:
    """Return the drawn operation; its number selects one of all sections."""
    if isinstance(drawn_operation, Operation):
        return drawn_operation
    assert isinstance(drawn_operation, tuple)
    sections = [(path, section) for path in PATHS for section in overlay.document(path).sections]
    path, section = sections[drawn_operation[1] % len(sections)]
    match drawn_operation[0]:
        case "rename":
            return RenameSection(file=path, slug=section.key, new_title=drawn_operation[2])
        case "remove":
            return RemoveSection(file=path, slug=section.key)
        case "update":
            return UpdateContent(file=path, slug=section.key, content="mark9999;")
        case _:
            return AddSection(file=path, title=drawn_operation[2])


def read_targets(overlay: Overlay, paths: set[str]) -> dict[bytes, tuple[LinkStatus, bytes | None]]:
    """Return the target of each link by its number: a status, and the mark of a section or file."""
    file_tree = OverlayFileTree(overlay)
    targets: dict[bytes, tuple[LinkStatus, bytes | None]] = {}
    for path in paths:
        document = overlay.find(path)
        for link in read_cached_links(document).links if document else ():
            assert document is not None
            number = _LINK_NUMBER.search(document.data, link.start, link.end)
            resolved_link = resolve(file_tree, path, link)
            target = file_tree.document(resolved_link.path) if resolved_link.path else None
            mark = None
            section_index = (
                resolved_link.fragment_target.section if resolved_link.fragment_target is not None else None
            )
            section = (
                target.sections[section_index] if target is not None and section_index is not None else None
            )
            # A link to the title counts as a link to the document, because an operation may remove the title.
            if target is not None and section is not None and not section.is_preamble:
                mark = _SECTION_MARK.search(target.data, section.start, section.tree_end)
            elif target is not None:
                mark = _FILE_MARK.search(target.data)
            if number is not None:
                targets[number.group()] = (resolved_link.status, mark.group() if mark else None)
    return targets


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> GitStore:
    return GitStore(repositories.create_repository(tmp_path_factory.mktemp("links") / "repo").path)


def commit_files(store: GitStore, files: Mapping[str, bytes]) -> Snapshot:
    """Return a snapshot of a commit with only these files, on no branch."""
    tree = rewrite_tree(store, None, {path: store.put_blob(data) for path, data in files.items()})
    return Snapshot(store, store.put_commit(tree, [], make_signature(), make_signature(), "Some files"))


@settings(max_examples=scale_examples(100), deadline=None, suppress_health_check=list(HealthCheck))
@given(file_sets(), st.lists(operations, min_size=1, max_size=2))
def test_links_lead_to_the_same_targets_after_a_batch(
    store: GitStore, files: dict[str, bytes], drawn_operations: list[object]
) -> None:
    snapshot = commit_files(store, files)
    old_targets = read_targets(Overlay(snapshot), set(PATHS))
    result = build_plan(
        snapshot,
        [make_operation(snapshot, operation) for operation in drawn_operations],
        BatchMode.EACH,
        EDIT_CONTEXT,
    )
    new_targets = read_targets(result.overlay, {*PATHS, *result.changes})
    all_bytes = b"".join(
        document.data for path in {*PATHS, *result.changes} if (document := result.overlay.find(path))
    )
    for number, (status, mark) in old_targets.items():
        if number not in new_targets or status is not LinkStatus.OK:
            continue
        # If the mark of the target still exists, the link must lead to it.
        if mark is not None and mark in all_bytes:
            assert new_targets[number] == (LinkStatus.OK, mark), number


@settings(max_examples=scale_examples(25), deadline=None, suppress_health_check=list(HealthCheck))
@given(file_sets(), st.sampled_from(PATHS))
def test_move_and_move_back_changes_only_destinations(
    store: GitStore, files: dict[str, bytes], path: str
) -> None:
    snapshot = commit_files(store, files)
    move_away = MoveDocument(file=path, new_path="far/away/x.md")
    move_back = MoveDocument(file="far/away/x.md", new_path=path)
    result = build_plan(snapshot, [move_away, move_back], BatchMode.ALL, EDIT_CONTEXT)
    assert all(step.outcome for step in result.steps)
    assert read_targets(result.overlay, set(PATHS)) == read_targets(Overlay(snapshot), set(PATHS))
    for document_path in PATHS:
        old_document = Document.parse(files[document_path], document_path)
        assert remove_destinations(result.overlay.document(document_path)) == remove_destinations(
            old_document
        )


def remove_destinations(document: Document) -> bytes:
    """Return the bytes outside the destinations of links."""
    data = document.data
    for link in reversed(read_cached_links(document).links):
        data = data[: link.destination_start] + data[link.destination_end :]
    return data


def take_snapshot(repo: Repo) -> Snapshot:
    return Snapshot(GitReader(repo.path), repo.head())


def plan_operations(folder: Path, files: dict[str, str | bytes], *operations: Operation) -> Plan:
    repo = repositories.create_repository(folder / "repo", files)
    return build_plan(take_snapshot(repo), operations, BatchMode.EACH, EDIT_CONTEXT)


@pytest.mark.slow
def test_ten_thousand_links_of_a_document_to_itself_are_updated(tmp_path: Path) -> None:
    lines = "".join(f"- [{number}](d.md#errors) and [x](#errors)\n" for number in range(5_000))
    text = f"# D\n\n## Up\n\n### Errors\n\n{lines}"
    files: dict[str, str | bytes] = {"d.md": text}
    result = plan_operations(
        tmp_path,
        files,
        MoveDocument(file="d.md", new_path="x/e.md"),
        RenameSection(file="x/e.md", slug="up/errors", new_title="Other"),
        RemoveSection(file="x/e.md", slug="up/errors"),
    )
    move_outcome, rename_outcome, removal_outcome = (step.outcome for step in result.steps)
    assert move_outcome is not None
    assert (move_outcome.result["links_rewritten"], move_outcome.result["files_rewritten"]) == (
        5_000,
        ["x/e.md"],
    )
    assert rename_outcome is not None
    assert rename_outcome.result["links_rewritten"] == 10_000
    assert removal_outcome is not None
    assert "broken_links" not in removal_outcome.result  # they were removed with the section


def test_unreadable_document_is_reported(tmp_path: Path) -> None:
    result = plan_operations(
        tmp_path,
        {
            "docyard.toml": "[limits]\ndocument_bytes = 1000\n",
            "a.md": "# A\n",
            "large.md": "[a](a.md)\n" * 200,
            "lfs.md": "version https://git-lfs.github.com/spec/v1\noid sha256:a.md\nsize 1\n",
            "b.md": "[a](a.md)\n",
        },
        MoveDocument(file="a.md", new_path="c.md"),
    )
    outcome = result.steps[0].outcome
    assert outcome is not None
    assert outcome.result["files_rewritten"] == ["b.md"]
    assert outcome.hints == ("files too large to read, whose links were not updated: large.md",)


def test_broken_links_and_images_are_not_rewritten(tmp_path: Path) -> None:
    result = plan_operations(
        tmp_path,
        {"docs/a.md": "[x](none.md) ![i](i.png) ![j](j.png)\n", "docs/i.png": b"i"},
        MoveDocument(file="docs/a.md", new_path="a.md"),
    )
    assert result.changes == {"docs/a.md": None, "a.md": b"[x](none.md) ![i](docs/i.png) ![j](j.png)\n"}


def test_result_lists_at_most_a_hundred_files_and_broken_links(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"n/{number:03}.md": "[a](../a.md)\n" for number in range(120)}
    result = plan_operations(tmp_path, {"a.md": "# A\n", **files}, MoveDocument(file="a.md", new_path="b.md"))
    outcome = result.steps[0].outcome
    assert outcome is not None
    assert outcome.result["links_rewritten"] == 120
    assert outcome.result["files_rewritten"] == sorted(files)[:100]
    assert len(result.changes) == 122
    removal_outcome = (
        build_plan(result.snapshot, [RemoveDocument(path="a.md")], BatchMode.EACH, EDIT_CONTEXT)
        .steps[0]
        .outcome
    )
    assert removal_outcome is not None
    broken_links = removal_outcome.result["broken_links"]
    assert isinstance(broken_links, list)
    assert (len(broken_links), removal_outcome.result["broken_links_total"]) == (100, 120)
    assert broken_links[0] == {"file": "n/000.md", "slug": "_preamble", "line": 1, "destination": "../a.md"}


@loop_over(
    ("text", "operation", "is_affected"),
    [
        ("## A\n\n### B\n", AppendContent(file="a.md", slug="a", content="`code`, - [ ] x and <b>"), False),
        ("## A\n\n- # In a list\n", AppendContent(file="a.md", slug="a", content="Text."), False),
        ("## A\n\n- # In a list\n", UpdateContent(file="a.md", slug="a", content="Text."), True),
        ('## A\n\n<a id="x"></a>\n', UpdateContent(file="a.md", slug="a", content="Text."), True),
        ("## A\n\n[^1]: note\n", UpdateContent(file="a.md", slug="a", content="Text."), True),
        ("## A\n", AddSection(file="a.md", title="B"), False),
        ("## B\n\n### A\n", AddSection(file="a.md", title="A", before="b"), True),
        ("## A\n", RenameSection(file="a.md", slug="a", new_title="B"), False),
        ("## B\n\n### A\n", RenameSection(file="a.md", slug="b/a", new_title="C"), True),
    ],
)
def test_links_are_searched_only_if_a_name_may_have_changed(
    tmp_path: Path, text: str, operation: Operation, is_affected: bool
) -> None:
    repo = repositories.create_repository(tmp_path / "repo", {"a.md": text})
    old_overlay = Overlay(take_snapshot(repo))
    new_overlay = old_overlay.copy()
    outcome = operation.apply(new_overlay, EDIT_CONTEXT)
    assert outcome.offset_map is not None
    assert AffectedPaths.of(old_overlay, new_overlay, outcome.offset_map).paths == (
        {"a.md"} if is_affected else set()
    )
