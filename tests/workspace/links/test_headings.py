"""The fragments that GitHub derives from headings with an anchor in braces, which GitHub reads as text."""

from __future__ import annotations

from tests.loops import loop_over
from workspace.document.document import Document
from workspace.links.fragments import derive_brace_fragments, make_github_slug, read_target_headings
from workspace.markdown.inline import to_plain_text

TITLES = (
    "Plain",
    "[Link](a.md)",
    "[a](b c",
    "`code`",
    "*half",
    "_one",
    "a\\",
    "&amp; more",
    "<b>x</b>",
    "![i](x)",
)
ANCHORS = ("{#a}", "{#a/b-c.d}", "{#_a_}", "{#a_b}", " {#a}")


@loop_over("title", TITLES)
@loop_over("anchor", ANCHORS)
def test_fragment_equals_that_of_the_parsed_heading(title: str, anchor: str) -> None:
    source = f"{title} {anchor}"
    document = Document.parse(f"## {source}\n".encode())
    expected = make_github_slug(to_plain_text(f".{source}.")[1:-1])
    assert list(derive_brace_fragments(read_target_headings(document))) == [(expected, 0)]
