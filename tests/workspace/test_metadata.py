"""Front matter that changes by keys: what is set reads back, and all other lines are as they were."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.workspace.documents import FILE, STYLE, documents, revised
from workspace.document import Document
from workspace.edits import SetMetadata
from workspace.errors import WorkspaceError
from workspace.frontmatter import MAX_FRONT_MATTER, MAX_NESTING, are_same, meant
from workspace.frontmatter.writing import write_value

pytestmark = pytest.mark.smoke

words = st.one_of(
    st.sampled_from(
        ["", "on", "null", "2024-05-01", "1", "1.0", "~", "a: b", "# a", "- a", "'", '"', "x\ny\n"]
    ),
    st.sampled_from(
        ["{a}", "[", "&a", "*a", "!t", "| ", "%", "@", "`", "\n x", " ", "é", "数据", "\u2028", "👩"]
    ),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8),
)
scalars = st.one_of(words, st.none(), st.booleans(), st.integers(-(2**64), 2**64), st.floats(-1e9, 1e9))
keys = st.sampled_from(["a", "b", "tags", "title", "on", "1", "a b", "x: y", "数", "'q'"])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)
mappings = st.dictionaries(keys, values, max_size=5)
styles = st.sampled_from([write_value, lambda key, value: yaml.safe_dump({key: value}, width=20)])


@st.composite
def with_front_matter(draw: st.DrawFn) -> tuple[Document, list[str]]:
    """A document whose front matter holds comments, and the lines that belong to no key."""
    written = [draw(styles)(key, value) for key, value in draw(mappings).items()]
    comments = [f"# comment {i}\n" for i in range(len(written) + 1)]
    block = "".join(a + b for a, b in zip(comments, [*written, ""], strict=True))
    return Document.parse(f"---\n{block}---\n\n# D\n\nText.\n".encode(), FILE), comments


@given(with_front_matter(), st.dictionaries(keys, values, min_size=1, max_size=3))
def test_what_is_set_reads_back_and_nothing_else_changes(
    found: tuple[Document, list[str]], metadata: dict[str, Any]
) -> None:
    document, comments = found
    if document.front_matter_error:
        return
    changed = revised(document, SetMetadata(file=FILE, metadata=metadata))
    given = {key: meant(document.front_matter.get(key), value) for key, value in metadata.items()}
    wanted = {**document.front_matter, **given}
    for key, value in metadata.items():
        if value is None:
            del wanted[key]
    assert are_same(dict(changed.front_matter), wanted)
    text = changed.data.decode()
    if wanted:
        assert [line for line in text.splitlines(keepends=True) if line in comments] == comments
    assert text.endswith("# D\n\nText.\n")
    again, edit = SetMetadata(file=FILE, metadata=metadata).revise(changed, STYLE)
    assert again.data == changed.data
    assert (edit.answer["keys_set"], edit.answer["keys_removed"]) == ([], [])


@given(documents, st.dictionaries(keys, values, min_size=1, max_size=2))
def test_the_body_stays_whatever_it_is(document: Document, metadata: dict[str, Any]) -> None:
    try:
        changed = revised(document, SetMetadata(file=FILE, metadata=metadata))
    except WorkspaceError:
        return
    body = document.data[document.front_matter_end :].strip(b" \t\r\n")
    assert changed.data[changed.front_matter_end :].strip(b" \t\r\n").endswith(body)


@given(documents, st.text("abc", min_size=1))
def test_setting_a_key_and_taking_it_out_gives_back_the_bytes(document: Document, value: str) -> None:
    key = "one of its own"
    try:
        changed = revised(document, SetMetadata(file=FILE, metadata={key: value}))
    except WorkspaceError:
        return
    back = revised(changed, SetMetadata(file=FILE, metadata={key: None}))
    if document.front_matter:
        assert back.data == document.data
    elif not document.front_matter_lines:
        assert back.data.split() == document.data.split()


def test_a_value_stays_what_json_says_it_is() -> None:
    known = {"day": date(2024, 5, 1), "at": datetime(2024, 5, 1, 10), 1: "x", "n": 3}
    given = {"day": "2024-06-01", "at": "no date", "1": "y", "n": "3", "new": "2024-06-01"}
    assert meant(known, given) == {
        "day": date(2024, 6, 1),
        "at": "no date",
        1: "y",
        "n": "3",
        "new": "2024-06-01",
    }


@pytest.mark.parametrize(
    ("one", "other"), [(1, 1.0), (1, True), ({"a": 1}, {"a": True}), ([1], [1.0]), ({1: 0}, {True: 0})]
)
def test_values_of_other_types_are_not_the_same(one: object, other: object) -> None:
    assert not are_same(one, other)
    assert are_same(one, one)
    assert are_same([float("nan")], [float("nan")])


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"": 1},
        {" ": 1},
        {"a\u2028b": 1},
        {"a" * 200: 1},
        {"a": {"b\n": 1}},
        {"a": float("nan")},
        {"a": float("inf")},
        {"a": 10**100},
        {"a": nested(MAX_NESTING)},
        {"a": "x" * (MAX_FRONT_MATTER + 1)},
        {"a": "\ud800"},
        {"a": ["\0"]},
    ],
)
def test_what_front_matter_cannot_hold_is_refused(metadata: dict[str, Any]) -> None:
    document = Document.parse(b"# D\n", FILE)
    with pytest.raises(WorkspaceError) as caught:
        revised(document, SetMetadata(file=FILE, metadata=metadata))
    assert caught.value.code in ("INVALID_METADATA", "INVALID_CONTENT")
    assert caught.value.fix


def test_front_matter_that_would_be_too_large_is_refused() -> None:
    document = Document.parse(b"---\na: " + b"x" * (MAX_FRONT_MATTER - 100) + b"\n---\n", FILE)
    with pytest.raises(WorkspaceError) as caught:
        revised(document, SetMetadata(file=FILE, metadata={"b": "x" * 200}))
    assert caught.value.code == "INVALID_FRONT_MATTER"


def test_a_title_that_the_h1_hides_is_told() -> None:
    document = Document.parse(b"# D\n", FILE)
    _, edit = SetMetadata(file=FILE, metadata={"title": "E"}).revise(document, STYLE)
    assert ["rename_section" in hint for hint in edit.hints] == [True]
    _, edit = SetMetadata(file=FILE, metadata={"title": "E"}).revise(Document.parse(b"## D\n", FILE), STYLE)
    assert not edit.hints


@pytest.mark.parametrize(
    "value", ["a\n---\nb", " ---\nx", "x\n  ---  \n", {"k": "a\n---\nb"}, ["x\n---"], "x\n...\ny", "---"]
)
@pytest.mark.parametrize("before", ["", "---\nl: {k: 1}\n---\n", "---\nl:\n  k: x # c\n---\n"])
def test_no_value_ends_the_front_matter(value: object, before: str) -> None:
    document = Document.parse(f"{before}# F\n".encode(), FILE)
    changed, _ = SetMetadata(file=FILE, metadata={"l": value, "m": value}).revise(document, STYLE)
    assert changed.front_matter == {"l": value, "m": value}
    assert changed.sections[0].title == "F"
