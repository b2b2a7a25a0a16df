"""The kind of an HTML block is the number of its start condition in CommonMark §4.6."""

from __future__ import annotations

import pytest

from workspace.markdown.outline import detect_html_block_kind

LINES = ["<pre>", "<!-- a", "<?php", "<!DOCTYPE html>", "<![CDATA[", "<div>", "<custom>"]


@pytest.mark.parametrize(("kind", "line"), [*enumerate(LINES, 1), (0, "text"), (0, "a <b>")])
def test_kind_of_html_block_is_detected_by_its_first_line(kind: int, line: str) -> None:
    assert detect_html_block_kind(line) == kind
