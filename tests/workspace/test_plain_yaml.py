"""Front matter that is read without the YAML parser says what the parser says."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from workspace import frontmatter
from workspace.plain_yaml import read_plain

pytestmark = pytest.mark.smoke

VALUES = (
    "text", "two words", '"quoted: yes"', "'single # too'", '"esc\\n"', "a: b", "a #b", "a#b", "a:b",
    "http://x/y", "10", "1.5", "0x1f", "1:30", "true", "No", "null", "~", "2024-05-01", "2024-13-45",
    "11/04/2016", "_", "(a)", "[]", "[a, b]", '["a, b", c d, 1]', "[a, [b]]", "[a,]", "[ a ]", "{a: b}",
    "- a", "|", ">-", "&a b", "*a", "!x y", "é", "a\tb", "a ", "'", '"', "? a", "%a", "@a", "- ", "", "-",
    "# a", "a:", "<<", "=", "...", "a'b", 'a"b',
)  # fmt: skip
KEYS = ("title", "tags", "ms.date", "on", "null", "a-b", "_x", "<<", "1", "a b", "-a", "é")

values = st.sampled_from(VALUES)
lines = st.one_of(
    st.builds(
        lambda key, gap, value: f"{key}:{gap}{value}",
        st.sampled_from(KEYS),
        st.sampled_from(["", " ", "  "]),
        values,
    ),
    st.builds(lambda key: f"{key}:", st.sampled_from(KEYS)),
    st.builds(lambda indent, value: f"{indent}- {value}", st.sampled_from(["", "", "  ", "   "]), values),
    st.sampled_from(["", " ", "# comment", "  # comment", "---", "...", "  more", "a"]),
)


def types(value: object) -> object:
    return [types(item) for item in value] if isinstance(value, list) else type(value)


@given(st.lists(lines, max_size=6).map("\n".join), st.sampled_from(["", "\n", "\r\n"]))
@example("a:\n  - b\n- c", "")
@example("a: b\n- c", "")
@example("a:\n# comment\n- b", "")
def test_it_says_what_the_parser_says(source: str, ending: str) -> None:
    source = source.replace("\n", "\r\n") + ending if ending == "\r\n" else source + ending
    found = read_plain(source, frontmatter.word)
    if found is None:
        return
    loaded = yaml.safe_load(source)
    expected = {str(key): value for key, value in (loaded or {}).items()}
    assert found == expected
    assert list(found) == list(expected)
    assert [types(value) for value in found.values()] == [types(value) for value in expected.values()]


def test_what_most_documents_have_needs_no_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    source = (
        'title: "How to: retry"\ntags: [a, "b c"]\nauthors:\n  - ada\n\n# why\nweight: 10\ndate: 11/04/2016\n'
    )
    expected = yaml.safe_load(source)
    frontmatter.read(source)
    monkeypatch.setattr(yaml, "load", None)
    assert frontmatter.read(source) == expected


def test_a_line_of_spaces_takes_no_time() -> None:
    for source in ("a: [b" + " " * 60_000 + "x", "a: b" + " " * 60_000 + "#", "a:" + " " * 60_000 + "\tb"):
        read_plain(source, frontmatter.word)
