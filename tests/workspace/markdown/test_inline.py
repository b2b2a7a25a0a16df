"""Inline sources: each character is mapped to its position in the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspace.errors import LimitExceeded
from workspace.markdown import parser
from workspace.markdown.inline import BlockTextKind, read_block_texts

pytestmark = pytest.mark.smoke

BEGINNINGS = ("", "- ", "10. ", "> ", ">", "  ", "    ", "\t", "-\t", ">\t", "# ", "   ")
WORDS = ("[a", "](b)", "[c]: <d e>", " 'f'", "<div>", "<b", ">", "---", "```", "x", " #", "\xa0", "\t")
texts = st.lists(
    st.builds(
        lambda begin, words: "".join((*begin, *words)),
        st.lists(st.sampled_from(BEGINNINGS), max_size=3),
        st.lists(st.sampled_from(WORDS), max_size=4),
    ),
    max_size=9,
).map("\n".join)


@given(texts)
def test_each_character_of_an_inline_source_has_its_position(text: str) -> None:
    for source in read_block_texts(text):
        for position, character in enumerate(source.text):
            if character not in " \t\n":
                assert text[source.map_to_source(position)] == character


def test_inline_sources_are_found_in_lists_and_quotations() -> None:
    text = "# [a] #\n> - [b]\n>   c\n\n[d]: <e>\n 'f'\n\n1. <div>\n\n   [g]\n   ===\n\n"
    text += "```\n[h]\n```\n\n    [i]\n\n[^j]: k\n"
    assert [(source.kind, source.text) for source in read_block_texts(text)] == [
        (BlockTextKind.INLINE, "# [a] #"),
        (BlockTextKind.INLINE, "[b]\nc"),
        (BlockTextKind.DEFINITION, "[d]: <e>\n'f'"),
        (BlockTextKind.HTML, "<div>\n"),
        (BlockTextKind.INLINE, "[g]"),
        (BlockTextKind.INLINE, "[^j]: k"),
    ]


def test_text_of_too_many_blocks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "MAX_TOKENS", 300)
    assert len(read_block_texts("[a]\n\n" * 100)) == 100
    with pytest.raises(LimitExceeded):
        read_block_texts("[a]\n\n" * 101)
