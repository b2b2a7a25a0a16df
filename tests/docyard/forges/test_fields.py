"""Invalid fields of a response: they raise an error, or are replaced by an empty text."""

from __future__ import annotations

import pytest

from docyard.forges.errors import InvalidForgeResponse
from docyard.forges.transport import Fields
from tests.loops import loop_over


@loop_over(
    "url",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "//forge.example/pull/1",
        "https://",
        "https://forge.example@evil.example/1",
        "https://user:pw@evil.example/1",
        "https://forge.example/1)[other](https://evil.example",
        'https://forge.example/"onclick="',
        "https://forge.example/\u202e1",
        "https://[forge/1",
    ],
)
def test_unsafe_url_is_replaced_by_empty_text(url: str) -> None:
    assert Fields("GitHub", {"html_url": url}).url("html_url") == ""


@loop_over("time", ["0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00", "soon", ""])
def test_invalid_time_is_rejected(time: str) -> None:
    with pytest.raises(InvalidForgeResponse, match="the field 'updated_at' of the response is invalid"):
        Fields("Gitea", {"updated_at": time}).time("updated_at")
