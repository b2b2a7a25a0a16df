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
        lambda form, one, other: form.format(one, other),
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
HEADS = st.sampled_from(["", "", "", "---\nk: v\n---", "---\ntags:\n- a\n- b\nk: 1\n---"])


@st.composite
def parted(draw: st.DrawFn) -> list[list[str]]:
    """Split a document into its preamble and its sections, each as blocks."""
    introduction = [*filter(None, [draw(HEADS)]), *draw(st.lists(BLOCKS, max_size=2))]
    return [introduction, *draw(st.lists(SECTIONS, max_size=5))]


@st.composite
def edited(draw: st.DrawFn, parts: Sequence[list[str]]) -> list[list[str]]:
    """Draw a document after some changes to its text."""
    found = [[*part] for part in parts]
    for _ in range(draw(st.integers(1, 3))):
        part = draw(st.integers(0, len(found) - 1))
        block = draw(st.integers(0, max(0, len(found[part]) - 1)))
        to = draw(st.integers(1, len(found)))
        match draw(st.sampled_from(["add", "write", "append", "take", "remove", "move", "copy", "retitle"])):
            case "add":
                found.insert(to, draw(SECTIONS))
            case "write" if block:
                found[part][block] = draw(BLOCKS)
            case "append":
                found[part].append(draw(BLOCKS))
            case "take" if block:
                del found[part][block]
            case "remove" if part:
                del found[part]
            case "move" if part:
                found.insert(min(to, len(found) - 1), found.pop(part))
            case "copy" if part:
                found.insert(to, [*found[part]])
            case "retitle" if part:
                found[part][0] = draw(HEADINGS)
            case _:
                pass
    return found


def written(parts: Sequence[Sequence[str]], ending: str) -> bytes:
    text = "\n\n".join(block for part in parts for block in part)
    return f"{text}\n".replace("\n", ending).encode()


@st.composite
def versions(draw: st.DrawFn) -> tuple[bytes, bytes, bytes]:
    """Draw a document, and two that were edited from it or are unrelated."""
    base = draw(parted())
    ours, theirs = (draw(parted() if draw(st.integers(0, 5)) == 5 else edited(base)) for _ in range(2))
    ending = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    return written(base, ending), written(ours, ending), written(theirs, ending)


def lines(data: bytes) -> Counter[bytes]:
    """Count the texts of lines, without blank lines, and without marks that a merge may rewrite."""
    plain = re.sub(rb" \{#\w\}", b"", data)
    marks = re.compile(rb"[ \t]*(?:#{1,6}|(?:[-*+]|\d[.])(?:[ \t]\[[ x]\])?)(?=[ \t])")
    stripped = (marks.sub(b"", line, count=1).strip() for line in plain.splitlines())
    return Counter(line for line in stripped if re.search(rb"\w", line))


def body(data: bytes) -> Counter[bytes]:
    return lines(data[Document.parse(data).front_matter_end :])


def merged(versions: Sequence[bytes], decided: dict[UnitId, Resolution] | None = None) -> MergedDocument:
    base, ours, theirs = map(Document.parse, versions)
    return merge_documents(base, ours, theirs, decided or {})


BACK = (b"## Old\n\nold\n\n## B\n\nb\n", b"## B\n\nb\n", b"## B\n\nb\n\n### New\n\nold\n\nmore\n")
TWICE = (
    b"## A\n\n- [ ] one\n- [ ] two\n\n## B\n\nb\n\n## C\n\nc\n",
    b"## A\n\n- [ ] two\n\n## B\n\nb\n\n- [ ] one\n\n## C\n\nc\n",
    b"## A\n\n- [ ] two\n\n## B\n\nb\n\n## C\n\nc\n\n- [ ] one\n",
)
COPIED = (b"## A\n", b"## A\n\n## A\n", b"\n")
EMPTIED = (b"---\nk: v\n---\n", b"---\nk: v\n---\n\n# A\n", b"# A {#x}\n\n# A\n")


@settings(max_examples=scale_examples(100), deadline=None)
@given(versions())
@example(BACK)
@example(TWICE)
@example(COPIED)
@example(EMPTIED)
def test_each_line_is_merged_removed_or_in_conflict(versions: tuple[bytes, bytes, bytes]) -> None:
    found = merged(versions)
    base, ours, theirs, merged_lines = map(body, (*versions, found.data))
    in_conflict = {
        line for conflict in found.conflicts for text in conflict[1:] for line in lines(text or b"")
    }
    for line in (base | ours | theirs | merged_lines).keys() - in_conflict:
        both = ours[line] + theirs[line] - base[line]
        few, many = sorted((ours[line], theirs[line]))
        if base[line] < 2 or not few:
            assert min(both, many) <= merged_lines[line] <= max(both, few)
        else:  # several equal lines are not distinguishable
            assert min(both, few) <= merged_lines[line] <= max(both, many)


@loop_over("versions", [BACK, TWICE, COPIED])
def test_text_removed_and_rewritten_elsewhere_is_a_conflict(versions: tuple[bytes, bytes, bytes]) -> None:
    for sides in (versions, (versions[0], versions[2], versions[1])):
        [conflict] = merged(sides).conflicts
        assert conflict == (UnitId(UnitKind.DOCUMENT), *sides)


@settings(max_examples=scale_examples(30), deadline=None)
@given(versions(), st.sampled_from([ResolutionChoice.OURS, ResolutionChoice.THEIRS]))
def test_one_side_can_be_chosen_in_every_conflict(
    versions: tuple[bytes, bytes, bytes], choice: ResolutionChoice
) -> None:
    decided: dict[UnitId, Resolution] = {}
    while (found := merged(versions, decided)).conflicts:
        units = {conflict.unit for conflict in found.conflicts}
        assert units.isdisjoint(decided)
        decided.update((unit, Resolution(choice)) for unit in units)
    assert set(found.resolved) <= set(decided)
    if UnitId(UnitKind.DOCUMENT) in found.resolved:
        assert found.data == versions[1 if choice is ResolutionChoice.OURS else 2]
