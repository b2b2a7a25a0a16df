"""Parts of long texts: joined, they are the whole text; a part ends at the start of a section if possible."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tools.pages import cut_part, number_shown_lines
from workspace.texts.headings import OutlineEntry
from workspace.texts.outline import read_outline
from workspace.texts.text_file import TextFile, TextKind
from workspace.texts.tokens import count_tokens

LINES = st.lists(
    st.sampled_from(["# A", "## B", "### C", "text", "", "日本語 text", "```", "- [ ] one", "x" * 90]),
    max_size=60,
)


def make_text(source: str) -> TextFile:
    return TextFile("a.md", "0" * 40, source.encode(), TextKind.MARKDOWN)


@given(LINES, st.sampled_from(["\n", "\r\n", "\r"]), st.integers(20, 200))
def test_parts_join_to_whole_text(lines: list[str], ending: str, limit: int) -> None:
    text = make_text("".join(line + ending for line in lines))
    outline = read_outline(text)
    parts: list[str] = []
    complete_entries: list[OutlineEntry] = []
    offset = 0
    while True:
        part = cut_part(text, outline.entries, 0, len(text.data), offset, tokens=limit)
        assert count_tokens(part.text) <= limit
        parts.append(part.text)
        complete_entries += part.complete_sections
        part_end = offset + len(part.text)
        later_entries = [entry for entry in outline.entries if len(text.text(0, entry.start)) >= part_end]
        assert list(part.later_sections) == later_entries
        if part.next_offset is None:
            break
        assert part.next_offset == offset + len(part.text) > offset
        offset = part.next_offset
    full_text = text.text()
    assert "".join(parts) == full_text
    assert len(set(complete_entries)) == len(complete_entries)
    cut_offsets = [len("".join(parts[:number])) for number in range(len(parts) + 1)]
    for entry in outline.entries:
        entry_start = len(text.text(0, entry.start))
        entry_end = len(text.text(0, entry.end))
        is_complete = any(
            start <= entry_start and entry_end <= part_end for start, part_end in pairwise(cut_offsets)
        )
        assert (entry in complete_entries) == is_complete


def test_text_is_cut_at_section_start() -> None:
    source = "# A\n\n" + "a\n\n" * 10 + "## B\n\n" + "b\n\n" * 10
    tokens = count_tokens(source) * 3 // 4
    text = make_text(source)
    part = cut_part(text, read_outline(text).entries, 0, len(text.data), 0, tokens=tokens)
    assert part.next_offset == source.index("## B")
    assert [entry.title for entry in part.complete_sections] == ["A"]
    rest_part = cut_part(text, read_outline(text).entries, 0, len(text.data), part.next_offset, tokens=tokens)
    assert rest_part.text == source[source.index("## B") :]
    assert [entry.title for entry in rest_part.complete_sections] == ["B"]


@given(LINES, st.sampled_from(["\n", "\r\n", "\r"]), st.data())
def test_lines_are_counted_with_all_line_ends(lines: list[str], ending: str, data: st.DataObject) -> None:
    first_line = data.draw(st.integers(0, len(lines)))
    last_line = data.draw(st.integers(first_line, len(lines)))
    earlier_text = "".join(line + ending for line in lines[:first_line])
    shown_text = "".join(line + ending for line in lines[first_line:last_line])
    start, end = number_shown_lines(1, earlier_text, shown_text)
    assert start == first_line + 1
    assert end == max(last_line, first_line + 1)
