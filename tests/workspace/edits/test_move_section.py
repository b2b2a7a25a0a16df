"""Moves of sections have the results of `move_section.md`, and preserve all texts and links."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.example_counts import scale_examples
from tests.loops import loop_over
from tests.repositories import Repo
from tests.workspace import documents
from tests.workspace.cases import Case, read_cases
from tests.workspace.links.cases import EDIT_CONTEXT, plan_case, read_files
from workspace.config.tables import LinkRules
from workspace.document.document import Document
from workspace.document.sections import Section
from workspace.edits.content import LevelConflict
from workspace.edits.section_move import SectionMoveResult, is_in_place, move_section
from workspace.edits.section_position import InvalidMove, TargetPosition, find_target_position
from workspace.edits.sections import MoveSection
from workspace.edits.text import UpdateContent
from workspace.errors import WorkspaceError
from workspace.git.reader import GitReader
from workspace.links.link import LinkKind
from workspace.links.reader import read_cached_links
from workspace.markdown.attribute_lists import AnchorForm
from workspace.snapshot.snapshot import Snapshot
from workspace.writing.plan import BatchMode, StepStatus, build_plan
from workspace.writing.read_before_write import Precondition

pytestmark = pytest.mark.smoke
ANCHOR_FORMS = (AnchorForm.BRACES, AnchorForm.BRACES)
LINK_RULES = LinkRules()


@loop_over("case", read_cases("move_section.md"))
def test_move_has_the_result_of_its_example(case: Case, tmp_path: Path) -> None:
    result = plan_case(case, tmp_path / "repo")
    [step] = result.steps
    if "error" in case.fences:
        assert step.error
        assert step.error.fix
        assert f"{step.error.code}: {step.error.message}" == case.fences["error"].strip()
    new_texts = {path: data.decode() for path, data in result.changes.items() if data is not None}
    assert new_texts == {path: data.decode() for path, data in read_files(case, "after").items()}
    if "answer" in case.fences:
        assert step.outcome
        expected_fields = case.json("answer")
        assert {key: step.outcome.result.get(key) for key in expected_fields} == expected_fields
        assert list(step.outcome.hints) == case.fences.get("hints", "").splitlines()


FILES = {
    "a.md": "# A\n\n## Errors\n\n1\n\n## Setup\n\n[e](#errors)\n",
    "b.md": "# B\n\n## Errors\n\n2\n\n## End\n",
}
MOVE_TO_B = MoveSection(file="a.md", slug="errors", to_file="b.md", before="errors")


def test_move_uses_the_section_of_the_base_after_concurrent_edits(repo: Repo) -> None:
    base = Snapshot(GitReader(repo.path), repo.commit(FILES))
    edited_files = {
        name: text.replace("\n\n## Errors\n", "\n\n## Errors\n\nNew.\n\n## Errors\n", 1)
        for name, text in FILES.items()
    }
    tip = Snapshot(GitReader(repo.path), repo.commit(edited_files))
    result = build_plan(tip, [MOVE_TO_B], BatchMode.EACH, EDIT_CONTEXT, Precondition(base=base))
    assert [step.error for step in result.steps] == [None]
    assert result.changes == {
        "a.md": b"# A\n\n## Errors\n\nNew.\n\n## Setup\n\n[e](#errors)\n",
        "b.md": b"# B\n\n## Errors\n\nNew.\n\n## Errors {#errors-2}\n\n1\n\n## Errors\n\n2\n\n## End\n",
    }


def test_move_to_a_deleted_section_is_refused(repo: Repo) -> None:
    base = Snapshot(GitReader(repo.path), repo.commit(FILES))
    tip = Snapshot(GitReader(repo.path), repo.commit({"b.md": "# B\n\n## End\n"}))
    [step] = build_plan(tip, [MOVE_TO_B], BatchMode.EACH, EDIT_CONTEXT, Precondition(base=base)).steps
    assert step.error
    assert step.error.code == "SECTION_NOT_FOUND"


def test_later_operation_of_a_batch_finds_the_moved_section(repo: Repo) -> None:
    tip = Snapshot(GitReader(repo.path), repo.commit(FILES))
    move_back = MoveSection(file="b.md", slug="errors-1", to_file="a.md#_preamble", before="setup")
    result = build_plan(tip, [MOVE_TO_B, move_back], BatchMode.EACH, EDIT_CONTEXT)
    assert [step.status for step in result.steps] == [StepStatus.DONE] * 2
    expected = "# A\n\n## Errors {#errors-1}\n\n1\n\n## Setup\n\n[e](a.md#errors)\n"
    assert {path: data and data.decode() for path, data in result.changes.items()} == {"a.md": expected}


def test_move_requires_no_read_and_does_not_count_as_a_read(repo: Repo) -> None:
    tip = Snapshot(GitReader(repo.path), repo.commit(FILES))
    unread_update = UpdateContent(file="b.md", slug="errors-1", content="Other.")
    result = build_plan(tip, [MOVE_TO_B, unread_update], BatchMode.EACH, EDIT_CONTEXT, Precondition())
    assert result.steps[0].status is StepStatus.DONE
    assert result.steps[1].error
    assert result.steps[1].error.code == "READ_FIRST"


@st.composite
def regular_documents(draw: st.DrawFn) -> str:
    """Draw a document without skipped levels, with any blank lines between sections."""
    gap = st.sampled_from(["\n", "\n\n", "\n\n\n", "\n \n"])
    text = draw(st.sampled_from(["# Title\n\n", "---\ntitle: T\n---\n\n", "# Title\n\nWords.\n\n"]))
    level = 1
    for _ in range(draw(st.integers(1, 6))):
        level = draw(st.integers(2, min(level + 1, 4)))
        title = draw(st.sampled_from(["Errors", "Setup", "`code` and *marks*", "数据"]))
        close = draw(st.sampled_from(["", "", " " + "#" * level, "  "]))
        text += f"{'#' * level} {title}{close}{draw(gap)}"
        body = st.sampled_from(
            ["", "Words.", "- [ ] task\n  - Note: x", "```\n# x\n```", "| a |\n|---|", "> q"]
        )
        if words := draw(body):
            text += words + draw(gap)
    return text.rstrip("\n ") + draw(st.sampled_from(["\n", "\n", "", "\n\n"]))


def move_if_needed(
    source: Document, section: Section, target: Document, position: TargetPosition
) -> SectionMoveResult | None:
    """Return the documents after a move; None if the section already has this position."""
    if is_in_place(source, section, target, position) and position.level == section.level:
        return None
    return move_section(source, section, target, position, ANCHOR_FORMS, LINK_RULES)


def list_movable_sections(document: Document) -> list[Section]:
    return [section for section in document.sections if not section.is_preamble]


def draw_position(draw: Callable[..., Any], target: Document, section: Section | None) -> TargetPosition:
    keys: list[str] = [section.key for section in list_movable_sections(target)]
    placement = draw(st.sampled_from(["end", "parent", "before", "after"])) if keys else "end"
    key = draw(st.sampled_from(keys)) if keys else ""
    parent, before, after = (key if placement == name else None for name in ("parent", "before", "after"))
    return find_target_position(target, parent, before, after, section)


@settings(max_examples=scale_examples(60))
@given(st.data())
def test_move_and_move_back_restores_the_bytes(data: st.DataObject) -> None:
    ending = data.draw(st.sampled_from(["\n", "\n", "\r\n"]))
    texts = [data.draw(regular_documents()).replace("\n", ending).encode() for _ in range(2)]
    source, other_document = (
        Document.parse(text, path) for text, path in zip(texts, ("a.md", "b.md"), strict=True)
    )
    target = data.draw(st.sampled_from([source, other_document]))
    section = data.draw(st.sampled_from(list_movable_sections(source)))
    try:
        position = draw_position(data.draw, target, section if target is source else None)
        move_result = move_if_needed(source, section, target, position)
    except (InvalidMove, LevelConflict):
        return
    if move_result is None:
        return
    parent = None if section.parent is None else source.sections[section.parent]
    siblings = source.children(parent)
    index = siblings.index(section)
    neighbor = siblings[index + 1] if index + 1 < len(siblings) else siblings[index - 1] if index else parent
    neighbor_keys: dict[str, str] = {}
    if neighbor:
        path, offset = move_result.offset_map.map_offset(source.path, neighbor.heading_start) or ("", 0)
        new_neighbor_document = move_result.target if path == move_result.target.path else move_result.source
        placement = "parent" if neighbor is parent else "before" if index + 1 < len(siblings) else "after"
        neighbor_keys[placement] = next(
            section.key for section in new_neighbor_document.sections if section.heading_start == offset
        )
    new_source = move_result.target if target is source else move_result.source
    original_position = find_target_position(
        new_source,
        neighbor_keys.get("parent"),
        neighbor_keys.get("before"),
        neighbor_keys.get("after"),
        move_result.section if target is source else None,
    )
    returned_result = move_section(
        move_result.target, move_result.section, new_source, original_position, ANCHOR_FORMS, LINK_RULES
    )
    assert remove_anchors(returned_result.target) == source.data
    if target is not source:
        assert remove_anchors(returned_result.source) == target.data


def remove_anchors(document: Document) -> bytes:
    """Return a document's bytes without anchors in braces."""
    return re.sub(rb" \{#[^{}\s]+\}", b"", document.data)


@settings(max_examples=scale_examples(60))
@given(st.data())
def test_move_preserves_all_other_sections(data: st.DataObject) -> None:
    source, other_document = (
        Document.parse(data.draw(documents.document_sources()), path) for path in ("a.md", "b.md")
    )
    target = data.draw(st.sampled_from([source, other_document]))
    assume(list_movable_sections(source))
    section = data.draw(st.sampled_from(list_movable_sections(source)))
    try:
        position = draw_position(data.draw, target, section if target is source else None)
        move_result = move_if_needed(source, section, target, position)
    except WorkspaceError:
        return
    if move_result is None:
        return
    new_documents = {source.path: move_result.source, target.path: move_result.target}
    for span in move_result.offset_map.preserved_spans:
        old = (source if span.old_path == source.path else target).data[span.old_start : span.old_end]
        assert new_documents[span.new_path].data[span.new_start : span.new_start + len(old)] == old
    moved_positions = {section.position, *(item.position for item in source.descendants(section))}
    for document in {source.path: source, target.path: target}.values():
        for item in document.sections:
            is_moved = document is source and item.position in moved_positions
            moved_item = find_moved_section(move_result, new_documents, document, item)
            # The title of a document without a heading at the beginning is its first H1.
            assert moved_item.title == item.title or not item.has_heading
            assert (moved_item.level - item.level) == (position.level - section.level if is_moved else 0)
            if len(document.sections_by_address(item.address)) == 1 and (document is target or not is_moved):
                assert moved_item.address == item.address
            if is_moved and document.line_ending == target.line_ending:
                new_body = new_documents[target.path].data[moved_item.body_start : moved_item.end].strip()
                assert new_body.startswith(document.data[item.body_start : item.end].strip())


def find_moved_section(
    move_result: SectionMoveResult, new_documents: dict[str, Document], document: Document, item: Section
) -> Section:
    """Return the section of the new documents that corresponds to `item` of an old document."""
    if not item.has_heading:
        preamble = new_documents[document.path].preamble
        assert preamble is not None
        return preamble
    position = move_result.offset_map.map_offset(document.path, item.heading_start)
    assert position is not None
    return next(
        moved_item
        for moved_item in new_documents[position[0]].sections
        if moved_item.heading_start == position[1] and moved_item.has_heading
    )


REFERENCE_BLOCKS = (
    "[a]",
    "[a][] and [b]",
    "[text][a]",
    "![i][b]",
    "[a]: https://example.org/1",
    "[a]: https://example.org/2",
    '[b]: <https://example.org/3> "T"',
    "> [b]: https://example.org/4",
    "`[a]`",
)


@settings(max_examples=scale_examples(60))
@given(st.data())
def test_move_preserves_the_target_of_every_reference(data: st.DataObject) -> None:
    body = st.lists(st.sampled_from(REFERENCE_BLOCKS), max_size=3).map("\n\n".join)
    bodies = [data.draw(body) for _ in range(5)]
    source = Document.parse("# A\n\n{}\n\n## X\n\n{}\n\n## Y\n\n{}\n".format(*bodies[:3]).encode(), "a.md")
    other_document = Document.parse("# B\n\n{}\n\n## Z\n\n{}\n".format(*bodies[3:]).encode(), "b.md")
    target = data.draw(st.sampled_from([source, other_document]))
    section = data.draw(st.sampled_from(list_movable_sections(source)))
    position = draw_position(data.draw, target, None)
    assume(target is other_document or not section.start <= position.offset <= section.tree_end)
    move_result = move_section(source, section, target, position, ANCHOR_FORMS, LINK_RULES)
    old_documents = {source.path: source, target.path: target}
    new_documents = {source.path: move_result.source, target.path: move_result.target}
    for path, document in old_documents.items():
        for start, destination in read_references(document):
            new_position = move_result.offset_map.map_offset(path, start)
            assert new_position is not None
            assert (new_position[1], destination) in read_references(new_documents[new_position[0]])
    if not move_result.linked_labels:
        assert sum(len(read_references(item)) for item in old_documents.values()) == sum(
            len(read_references(item)) for item in new_documents.values()
        )


def read_references(document: Document) -> list[tuple[int, str]]:
    """Return the positions of references, and their destinations."""
    links = read_cached_links(document).links
    return [(link.start, link.destination) for link in links if link.kind is LinkKind.REFERENCE]
