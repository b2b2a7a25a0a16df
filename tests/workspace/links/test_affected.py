"""The fast check of an edit detects every name that was added, removed or moved."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workspace.config.names import Dialect
from workspace.document.document import Document
from workspace.links.fragments import find_names
from workspace.links.inbound_links import _may_define_name

LINES = st.sampled_from(
    [
        "Some text.",
        "text <!-- a",
        "-->",
        "- item",
        "- # In a list",
        "> ## Quoted",
        ">\t### Quoted",
        "1. #",
        "words",
        "  ---",
        "> ===",
        "> words",
        "[^1]: A footnote",
        "A use[^1].",
        '<a id="x"></a>',
        "<a",
        'name="y">',
        "<div id=z>",
        "```",
        "    # code",
        "***",
        "",
    ]
)
texts = st.lists(LINES, max_size=5).map("\n".join)


@given(texts, texts, st.sampled_from(["\n", "\r\n", "\r"]))
def test_text_without_names_defines_no_name(old: str, new: str, ending: str) -> None:
    old_data, new_data = (f"## A\n\n{text}\n".replace("\n", ending).encode() for text in (old, new))
    if not _may_define_name(old_data + new_data):
        for dialect in Dialect:
            assert [*find_names(Document.parse(old_data), dialect)] == [
                *find_names(Document.parse(new_data), dialect)
            ]
