"""Moves of sections, by the examples of `tests/cases/move_section.md`, and properties of every move."""

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
from workspace.edits import MoveSection, UpdateContent
from workspace.edits.content import LevelConflict
from workspace.edits.section_place import InvalidMove, TargetPosition, find_target_position
from workspace.edits.transplant import SectionMoveResult, is_in_place, move_section
from workspace.errors import WorkspaceError
from workspace.git.reader import GitReader
from workspace.links.link import LinkKind
from workspace.links.reader import read_cached_links
from workspace.markdown.attribute_lists import AnchorForm
from workspace.snapshot.snapshot import Snapshot
from workspace.writing.plan import Mode, StepStatus, plan
from workspace.writing.read_before_write import Precondition

pytestmark = pytest.mark.smoke
FORMS = (AnchorForm.BRACES, AnchorForm.BRACES)
RULES = LinkRules()


@loop_over("case", read_cases("move_section.md"))
def test_move_has_the_result_of_its_example(case: Case, tmp_path: Path) -> None:
    done = plan_case(case, tmp_path / "repo")
    [step] = done.steps
    if "error" in case.fences:
        assert step.error
        assert step.error.fix
        assert f"{step.error.code}: {step.error.message}" == case.fences["error"].strip()
    changed = {path: data.decode() for path, data in done.changes.items() if data is not None}
    assert changed == {path: data.decode() for path, data in read_files(case, "after").items()}
    if "answer" in case.fences:
        assert step.outcome
        wanted = case.json("answer")
        assert {key: step.outcome.result.get(key) for key in wanted} == wanted
        assert list(step.outcome.hints) == case.fences.get("hints", "").splitlines()


FILES = {
    "a.md": "# A\n\n## Errors\n\n1\n\n## Setup\n\n[e](#errors)\n",
    "b.md": "# B\n\n## Errors\n\n2\n\n## End\n",
}
OUT = MoveSection(file="a.md", slug="errors", to_file="b.md", before="errors")


def test_move_uses_the_section_of_the_base_after_concurrent_edits(repo: Repo) -> None:
    base = Snapshot(GitReader(repo.path), repo.commit(FILES))
    changed = {
        name: text.replace("\n\n## Errors\n", "\n\n## Errors\n\nNew.\n\n## Errors\n", 1)
        for name, text in FILES.items()
    }
    tip = Snapshot(GitReader(repo.path), repo.commit(changed))
    done = plan(tip, [OUT], Mode.EACH, EDIT_CONTEXT, Precondition(base=base))
    assert [step.error for step in done.steps] == [None]
    assert done.changes == {
        "a.md": b"# A\n\n## Errors\n\nNew.\n\n## Setup\n\n[e](#errors)\n",
        "b.md": b"# B\n\n## Errors\n\nNew.\n\n## Errors {#errors-2}\n\n1\n\n## Errors\n\n2\n\n## End\n",
    }


def test_move_to_a_deleted_section_is_refused(repo: Repo) -> None:
    base = Snapshot(GitReader(repo.path), repo.commit(FILES))
    tip = Snapshot(GitReader(repo.path), repo.commit({"b.md": "# B\n\n## End\n"}))
    [step] = plan(tip, [OUT], Mode.EACH, EDIT_CONTEXT, Precondition(base=base)).steps
    assert step.error
    assert step.error.code == "SECTION_NOT_FOUND"


def test_later_operation_of_a_batch_finds_the_moved_section(repo: Repo) -> None:
    tip = Snapshot(GitReader(repo.path), repo.commit(FILES))
    back = MoveSection(file="b.md", slug="errors-1", to_file="a.md#_preamble", before="setup")
    done = plan(tip, [OUT, back], Mode.EACH, EDIT_CONTEXT)
    assert [step.status for step in done.steps] == [StepStatus.DONE] * 2
    first = "# A\n\n## Errors {#errors-1}\n\n1\n\n## Setup\n\n[e](a.md#errors)\n"
    assert {path: data and data.decode() for path, data in done.changes.items()} == {"a.md": first}


def test_move_requires_no_read_and_does_not_count_as_one(repo: Repo) -> None:
    tip = Snapshot(GitReader(repo.path), repo.commit(FILES))
    unseen = UpdateContent(file="b.md", slug="errors-1", content="Other.")
    done = plan(tip, [OUT, unseen], Mode.EACH, EDIT_CONTEXT, Precondition())
    assert done.steps[0].status is StepStatus.DONE
    assert done.steps[1].error
    assert done.steps[1].error.code == "READ_FIRST"


@st.composite
def tidy(draw: st.DrawFn) -> str:
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


def move(
    source: Document, section: Section, target: Document, place: TargetPosition
) -> SectionMoveResult | None:
    """Return the documents after a move; None if the section is there already."""
    if is_in_place(source, section, target, place) and place.level == section.level:
        return None
    return move_section(source, section, target, place, FORMS, RULES)


def movable(document: Document) -> list[Section]:
    return [item for item in document.sections if not item.is_preamble]


def any_place(draw: Callable[..., Any], target: Document, moved: Section | None) -> TargetPosition:
    keys: list[str] = [item.key for item in movable(target)]
    kind = draw(st.sampled_from(["end", "parent", "before", "after"])) if keys else "end"
    key = draw(st.sampled_from(keys)) if keys else ""
    parent, before, after = (key if kind == name else None for name in ("parent", "before", "after"))
    return find_target_position(target, parent, before, after, moved)


@settings(max_examples=scale_examples(60))
@given(st.data())
def test_move_and_move_back_restores_the_bytes(data: st.DataObject) -> None:
    ending = data.draw(st.sampled_from(["\n", "\n", "\r\n"]))
    texts = [data.draw(tidy()).replace("\n", ending).encode() for _ in range(2)]
    source, other = (Document.parse(text, path) for text, path in zip(texts, ("a.md", "b.md"), strict=True))
    target = data.draw(st.sampled_from([source, other]))
    section = data.draw(st.sampled_from(movable(source)))
    try:
        place = any_place(data.draw, target, section if target is source else None)
        there = move(source, section, target, place)
    except (InvalidMove, LevelConflict):
        return
    if there is None:
        return
    parent = None if section.parent is None else source.sections[section.parent]
    siblings = source.children(parent)
    index = siblings.index(section)
    neighbor = siblings[index + 1] if index + 1 < len(siblings) else siblings[index - 1] if index else parent
    keys: list[str | None] = [None, None, None]
    if neighbor:
        path, offset = there.offset_map.place(source.path, neighbor.heading_start) or ("", 0)
        home = there.target if path == there.target.path else there.source
        kind = 0 if neighbor is parent else 1 if index + 1 < len(siblings) else 2
        keys[kind] = next(item.key for item in home.sections if item.heading_start == offset)
    now = there.target if target is source else there.source
    back = find_target_position(now, keys[0], keys[1], keys[2], there.section if target is source else None)
    returned = move_section(there.target, there.section, now, back, FORMS, RULES)
    assert plain(returned.target) == source.data
    if target is not source:
        assert plain(returned.source) == target.data


def plain(document: Document) -> bytes:
    """Return a document's bytes without anchors in braces."""
    return re.sub(rb" \{#[^{}\s]+\}", b"", document.data)


@settings(max_examples=scale_examples(60))
@given(st.data())
def test_move_preserves_all_other_sections(data: st.DataObject) -> None:
    source, other = (Document.parse(data.draw(documents.texts()), path) for path in ("a.md", "b.md"))
    target = data.draw(st.sampled_from([source, other]))
    assume(movable(source))
    section = data.draw(st.sampled_from(movable(source)))
    try:
        place = any_place(data.draw, target, section if target is source else None)
        moved = move(source, section, target, place)
    except WorkspaceError:
        return
    if moved is None:
        return
    now = {source.path: moved.source, target.path: moved.target}
    for piece in moved.offset_map.pieces:
        old = (source if piece.old_path == source.path else target).data[piece.old_start : piece.old_end]
        assert now[piece.new_path].data[piece.new_start : piece.new_start + len(old)] == old
    below = {section.position, *(item.position for item in source.descendants(section))}
    for document in {source.path: source, target.path: target}.values():
        for item in document.sections:
            is_moved = document is source and item.position in below
            moved_item = find_moved(moved, now, document, item)
            # The title of a document without a heading at the beginning is its first H1.
            assert moved_item.title == item.title or not item.has_heading
            assert (moved_item.level - item.level) == (place.level - section.level if is_moved else 0)
            if len(document.sections_by_address(item.address)) == 1 and (document is target or not is_moved):
                assert moved_item.address == item.address
            if is_moved and document.ending == target.ending:
                words = now[target.path].data[moved_item.body : moved_item.end].strip()
                assert words.startswith(document.data[item.body : item.end].strip())


def find_moved(
    moved: SectionMoveResult, now: dict[str, Document], document: Document, item: Section
) -> Section:
    """Return the section of the result that a section became."""
    if not item.has_heading:
        preamble = now[document.path].preamble
        assert preamble is not None
        return preamble
    place = moved.offset_map.place(document.path, item.heading_start)
    assert place is not None
    return next(
        moved_item
        for moved_item in now[place[0]].sections
        if moved_item.heading_start == place[1] and moved_item.has_heading
    )


PARTS = (
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
    body = st.lists(st.sampled_from(PARTS), max_size=3).map("\n\n".join)
    bodies = [data.draw(body) for _ in range(5)]
    source = Document.parse("# A\n\n{}\n\n## X\n\n{}\n\n## Y\n\n{}\n".format(*bodies[:3]).encode(), "a.md")
    other = Document.parse("# B\n\n{}\n\n## Z\n\n{}\n".format(*bodies[3:]).encode(), "b.md")
    target = data.draw(st.sampled_from([source, other]))
    section = data.draw(st.sampled_from(movable(source)))
    place = any_place(data.draw, target, None)
    assume(target is other or not section.start <= place.offset <= section.tree_end)
    moved = move_section(source, section, target, place, FORMS, RULES)
    known = {source.path: source, target.path: target}
    now = {source.path: moved.source, target.path: moved.target}
    for path, document in known.items():
        for start, destination in read_references(document):
            place_now = moved.offset_map.place(path, start)
            assert place_now is not None
            assert (place_now[1], destination) in read_references(now[place_now[0]])
    if not moved.linked_labels:
        assert sum(len(read_references(item)) for item in known.values()) == sum(
            len(read_references(item)) for item in now.values()
        )


def read_references(document: Document) -> list[tuple[int, str]]:
    """Return the positions of references, and their destinations."""
    links = read_cached_links(document).links
    return [(link.start, link.destination) for link in links if link.kind is LinkKind.REFERENCE]
