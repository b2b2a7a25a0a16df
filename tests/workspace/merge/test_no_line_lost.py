"""A merge of any three documents loses no line of a side, and restores no removed line.

The documents are small, so that titles, anchors and texts often repeat, and sections are empty.
The sides are edited as text: a moved heading gets no anchor.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.example_counts import scale_examples
from tests.loops import loop_over
from workspace.document.document import Document
from workspace.merge.conflict import MergedDocument, Resolution, ResolutionChoice, UnitId, UnitKind
from workspace.merge.documents import merge_documents

TITLES = st.sampled_from(["A", "B", "C", "Errors"])
ANCHORS = st.sampled_from(["", "", "", " {#x}", " {#y}"])
HEADINGS = st.one_of(
    st.builds("{} {}{}".format, st.sampled_from(["#", "##", "##", "###", "####"]), TITLES, ANCHORS),
    st.builds("{}\n{}".format, TITLES, st.sampled_from(["===", "---"])),
)
WORDS = st.integers(0, 40).map("w{}".format)
BLOCKS = st.one_of(
    WORDS,
    WORDS,
    st.builds(
        lambda form, first, second: form.format(first, second),
        st.sampled_from(
            [
                "- {}\n- {}",
                "- [ ] {}\n- [x] {}",
                "1. {}\n2. {}",
                "| {} |\n|---|\n| {} |",
                "```\n{}\n{}\n```",
                "{}\n\t{}",
                "> {}\n> {}",
                "[^1]: {} {}",
                "[{}]: /{}",
            ]
        ),
        WORDS,
        WORDS,
    ),
)
SECTIONS = st.builds(lambda heading, texts: [heading, *texts], HEADINGS, st.lists(BLOCKS, max_size=2))
FRONT_MATTERS = st.sampled_from(["", "", "", "---\nk: v\n---", "---\ntags:\n- a\n- b\nk: 1\n---"])


@st.composite
def split_documents(draw: st.DrawFn) -> list[list[str]]:
    """Draw a document as its preamble and its sections, each as a list of blocks."""
    introduction = [*filter(None, [draw(FRONT_MATTERS)]), *draw(st.lists(BLOCKS, max_size=2))]
    return [introduction, *draw(st.lists(SECTIONS, max_size=5))]


@st.composite
def edited_documents(draw: st.DrawFn, sections: Sequence[list[str]]) -> list[list[str]]:
    """Draw a document, as in `split_documents`, after some changes to its text."""
    new_sections = [[*blocks] for blocks in sections]
    for _ in range(draw(st.integers(1, 3))):
        section_index = draw(st.integers(0, len(new_sections) - 1))
        block_index = draw(st.integers(0, max(0, len(new_sections[section_index]) - 1)))
        target_index = draw(st.integers(1, len(new_sections)))
        match draw(st.sampled_from(["add", "write", "append", "take", "remove", "move", "copy", "retitle"])):
            case "add":
                new_sections.insert(target_index, draw(SECTIONS))
            case "write" if block_index:
                new_sections[section_index][block_index] = draw(BLOCKS)
            case "append":
                new_sections[section_index].append(draw(BLOCKS))
            case "take" if block_index:
                del new_sections[section_index][block_index]
            case "remove" if section_index:
                del new_sections[section_index]
            case "move" if section_index:
                new_sections.insert(min(target_index, len(new_sections) - 1), new_sections.pop(section_index))
            case "copy" if section_index:
                new_sections.insert(target_index, [*new_sections[section_index]])
            case "retitle" if section_index:
                new_sections[section_index][0] = draw(HEADINGS)
            case _:
                pass
    return new_sections


def join_blocks(sections: Sequence[Sequence[str]], ending: str) -> bytes:
    text = "\n\n".join(block for blocks in sections for block in blocks)
    return f"{text}\n".replace("\n", ending).encode()


@st.composite
def versions(draw: st.DrawFn) -> tuple[bytes, bytes, bytes]:
    """Draw a document, and two versions that were edited from the document or are unrelated."""
    base = draw(split_documents())
    ours, theirs = (
        draw(split_documents() if draw(st.integers(0, 5)) == 5 else edited_documents(base)) for _ in range(2)
    )
    ending = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    return join_blocks(base, ending), join_blocks(ours, ending), join_blocks(theirs, ending)


def count_lines(data: bytes) -> Counter[bytes]:
    """Count the texts of lines, without blank lines, and without marks that a merge may rewrite."""
    text_without_anchors = re.sub(rb" \{#\w\}", b"", data)
    line_prefix = re.compile(rb"[ \t]*(?:#{1,6}|(?:[-*+]|\d[.])(?:[ \t]\[[ x]\])?)(?=[ \t])")
    line_texts = (line_prefix.sub(b"", line, count=1).strip() for line in text_without_anchors.splitlines())
    return Counter(line for line in line_texts if re.search(rb"\w", line))


def count_body_lines(data: bytes) -> Counter[bytes]:
    return count_lines(data[Document.parse(data).front_matter_end :])


def merge_versions(
    texts: Sequence[bytes], resolutions: dict[UnitId, Resolution] | None = None
) -> MergedDocument:
    base, ours, theirs = map(Document.parse, texts)
    return merge_documents(base, ours, theirs, resolutions or {})


# Each example is a base, our version and their version.
REMOVAL_AND_MOVE = (
    b"## Old\n\nold\n\n## B\n\nb\n",
    b"## B\n\nb\n",
    b"## B\n\nb\n\n### New\n\nold\n\nmore\n",
)
TWO_MOVES = (
    b"## A\n\n- [ ] one\n- [ ] two\n\n## B\n\nb\n\n## C\n\nc\n",
    b"## A\n\n- [ ] two\n\n## B\n\nb\n\n- [ ] one\n\n## C\n\nc\n",
    b"## A\n\n- [ ] two\n\n## B\n\nb\n\n## C\n\nc\n\n- [ ] one\n",
)
HEADING_COPY = (b"## A\n", b"## A\n\n## A\n", b"\n")
FRONT_MATTER_REMOVAL = (b"---\nk: v\n---\n", b"---\nk: v\n---\n\n# A\n", b"# A {#x}\n\n# A\n")


@settings(max_examples=scale_examples(100), deadline=None)
@given(versions())
@example(REMOVAL_AND_MOVE)
@example(TWO_MOVES)
@example(HEADING_COPY)
@example(FRONT_MATTER_REMOVAL)
def test_each_line_is_merged_removed_or_in_conflict(versions: tuple[bytes, bytes, bytes]) -> None:
    result = merge_versions(versions)
    base, ours, theirs, merged_lines = map(count_body_lines, (*versions, result.data))
    conflict_lines = {
        line for conflict in result.conflicts for text in conflict[1:] for line in count_lines(text or b"")
    }
    for line in (base | ours | theirs | merged_lines).keys() - conflict_lines:
        combined_count = ours[line] + theirs[line] - base[line]
        lower_count, higher_count = sorted((ours[line], theirs[line]))
        if base[line] < 2 or not lower_count:
            assert min(combined_count, higher_count) <= merged_lines[line] <= max(combined_count, lower_count)
        else:  # equal lines cannot be distinguished
            assert min(combined_count, lower_count) <= merged_lines[line] <= max(combined_count, higher_count)


@loop_over("versions", [REMOVAL_AND_MOVE, TWO_MOVES, HEADING_COPY])
def test_text_removed_and_rewritten_elsewhere_is_a_conflict(versions: tuple[bytes, bytes, bytes]) -> None:
    for ordered_versions in (versions, (versions[0], versions[2], versions[1])):
        [conflict] = merge_versions(ordered_versions).conflicts
        assert conflict == (UnitId(UnitKind.DOCUMENT), *ordered_versions)


@settings(max_examples=scale_examples(30), deadline=None)
@given(versions(), st.sampled_from([ResolutionChoice.OURS, ResolutionChoice.THEIRS]))
def test_one_side_can_be_chosen_in_every_conflict(
    versions: tuple[bytes, bytes, bytes], choice: ResolutionChoice
) -> None:
    resolutions: dict[UnitId, Resolution] = {}
    while (result := merge_versions(versions, resolutions)).conflicts:
        units = {conflict.unit for conflict in result.conflicts}
        assert units.isdisjoint(resolutions)
        resolutions.update((unit, Resolution(choice)) for unit in units)
    assert set(result.resolved_units) <= set(resolutions)
    if UnitId(UnitKind.DOCUMENT) in result.resolved_units:
        assert result.data == versions[1 if choice is ResolutionChoice.OURS else 2]
