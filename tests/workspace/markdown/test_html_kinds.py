"""HTML blocks are told apart as the library does it, by a name of it that is not public."""

from __future__ import annotations

import pytest

from workspace.markdown.outline import detect_html_block_kind

LINES = ["<pre>", "<!-- a", "<?php", "<!DOCTYPE html>", "<![CDATA[", "<div>", "<custom>"]


@pytest.mark.parametrize(("kind", "line"), [*enumerate(LINES, 1), (0, "text"), (0, "a <b>")])
def test_the_kind_of_html_block_that_begins_with_a_line(kind: int, line: str) -> None:
    assert detect_html_block_kind(line) == kind
