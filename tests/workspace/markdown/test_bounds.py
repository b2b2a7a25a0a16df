"""The cost of a text is estimated without parsing it: marks within words do not begin blocks."""

from __future__ import annotations

import pytest

from workspace.markdown import parser
from workspace.markdown.parser import may_have_too_many_blocks


@pytest.mark.parametrize(
    ("line", "is_over_limit"),
    [
        (b"# A heading-with-marks.in it {#a-b/c-d.e-f}\n", False),
        (b"1. - > x\n", True),
        (b"- x\r", True),
        (b"\t* * *\n", True),
    ],
)
def test_only_marks_at_the_beginning_count_as_blocks(
    line: bytes, is_over_limit: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parser, "MAX_TOKENS", 500)
    assert may_have_too_many_blocks(line * 100, 100) is is_over_limit
