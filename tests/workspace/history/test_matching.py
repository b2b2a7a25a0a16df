"""Line diffs: shared lines of two versions, and unified diffs."""

from __future__ import annotations

import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.loops import loop_over
from workspace.diff import sequences
from workspace.diff.sequences import pair_lines
from workspace.diff.unified import format_unified_diff
from workspace.markdown.lines import split_lines

LINE = st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n"])
LINES = st.lists(LINE, max_size=14)
FEW_LINES = st.lists(LINE, max_size=7)  # for more lines, Git skips some repeated lines


def measure_longest_subsequence(old: list[bytes], new: list[bytes]) -> int:
    """Return the length of the longest common subsequence, by dynamic programming."""
    table = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for row, line in enumerate(old):
        for column, new_line in enumerate(new):
            best = max(table[row][column + 1], table[row + 1][column])
            table[row + 1][column + 1] = table[row][column] + 1 if line == new_line else best
    return table[-1][-1]


@given(FEW_LINES, FEW_LINES)
def test_number_of_pairs_is_the_length_of_the_longest_subsequence(old: list[bytes], new: list[bytes]) -> None:
    pairs = pair_lines(old, new)
    assert all(old[old_line] == new[new_line] for old_line, new_line in pairs)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))
    assert len(pairs) == measure_longest_subsequence(old, new)


def test_added_lines_are_as_late_as_possible() -> None:
    assert pair_lines([b"a", b"b", b"a"], [b"a", b"b", b"a", b"b", b"a"]) == [(0, 0), (1, 1), (2, 2)]


@loop_over("size", [20_000])
def test_different_texts_are_split_at_unique_lines(size: int) -> None:
    old = [b"old %d" % number if number % 3 else b"both %d" % number for number in range(size)]
    new = [b"new %d" % number if number % 3 else b"both %d" % number for number in range(size)]
    assert len(pair_lines(old, new)) == len(range(0, size, 3))


def test_long_texts_of_repeated_lines_are_compared_to_the_end() -> None:
    old = [b"%d" % (number % 50) for number in range(15_000)]
    new = [b"first", *old[:7_000], *old[7_001:], b"last"]
    assert len(pair_lines(old, new)) == len(old) - 1


def test_texts_without_order_are_compared_in_bounded_time() -> None:
    old = [b"%d" % (number * 7919 % 13) for number in range(50_000)]
    new = [b"%d" % (number * 104729 % 17) for number in range(50_000)]
    pairs = pair_lines(old, new)
    assert all(old[old_line] == new[new_line] for old_line, new_line in pairs)


@given(LINES, LINES)
def test_pairs_of_long_texts_are_shared_lines_in_order(old: list[bytes], new: list[bytes]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sequences, "_MAX_LINES", 2)
        pairs = pair_lines(old, new)
    assert all(old[old_line] == new[new_line] for old_line, new_line in pairs)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))


@given(LINES, LINES, st.booleans(), st.booleans())
def test_diff_applied_to_old_text_gives_new_text(
    old: list[bytes], new: list[bytes], cuts_old_newline: bool, cuts_new_newline: bool
) -> None:
    """Apply a unified diff to the old text, according to its format."""
    old_text, new_text = b"".join(old), b"".join(new)
    old_text = old_text[:-1] if cuts_old_newline else old_text
    new_text = new_text[:-1] if cuts_new_newline else new_text
    diff = format_unified_diff(old_text, new_text)
    assert (diff == "") == (old_text == new_text)
    assert apply_diff(old_text, diff) == new_text


def apply_diff(old_text: bytes, diff: str) -> bytes:
    source, result, position = split_lines(old_text), [], 0
    lines = diff.split("\n") if diff else []
    for number, line in enumerate(lines):
        text = line[1:].encode() + b"\n"
        if number + 1 < len(lines) and lines[number + 1].startswith("\\"):
            text = text[:-1]
        match line[0]:
            case "@":
                first_line, _, count = line.split(" ")[1][1:].partition(",")
                hunk_start = int(first_line) - (count != "0")
                result += source[position:hunk_start]
                position = hunk_start
            case " ":
                assert source[position] == text
                result.append(text)
                position += 1
            case "-":
                assert source[position] == text
                position += 1
            case "+":
                result.append(text)
    return b"".join([*result, *source[position:]])


def test_diff_equals_that_of_git(tmp_path: Path) -> None:
    old = "".join(f"Line {number}\n" for number in range(40))
    new = old.replace("Line 3\n", "").replace("Line 20\n", "Row 20\n").replace("Line 39\n", "Line 39")
    (tmp_path / "old").write_text(old)
    (tmp_path / "new").write_text(new)
    command = ["git", "diff", "--no-index", "old", "new"]
    git_diff = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    git_lines = [line for line in git_diff.split("\n")[4:] if line]
    our_lines = format_unified_diff(old.encode(), new.encode()).split("\n")
    assert [line.partition(" @@ ")[0].removesuffix(" @@") for line in our_lines] == [
        line.partition(" @@ ")[0].removesuffix(" @@") for line in git_lines
    ]


def test_diff_has_line_numbers_and_number_of_omitted_lines() -> None:
    old_text, new_text = b"".join(b"%d\n" % number for number in range(9)), b"0\n"
    assert format_unified_diff(old_text, new_text, old_line=11, new_line=21).startswith(
        "@@ -11,9 +21 @@\n 0\n-1\n"
    )
    assert format_unified_diff(old_text, new_text, max_chars=30).endswith("… 4 more lines")
    assert format_unified_diff(None, b"new\n") == "@@ -0,0 +1 @@\n+new"
    assert format_unified_diff(b"\xff\n", None) == "@@ -1 +0,0 @@\n-\ufffd"
