"""Updates of front matter by key: set values are read back, and all other lines are unchanged."""

from __future__ import annotations

from contextlib import suppress
from datetime import date, datetime
from time import perf_counter
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.loops import loop_over
from tests.workspace.documents import EDIT_CONTEXT, FILE, documents, revise_document
from workspace.document.document import Document
from workspace.edits.metadata import SetMetadata
from workspace.errors import WorkspaceError
from workspace.frontmatter.editor import set_keys
from workspace.frontmatter.reader import (
    MAX_FRONT_MATTER_LENGTH,
    MAX_NESTING_DEPTH,
    InvalidFrontMatter,
    coerce_value,
    have_equal_values_and_types,
    parse_front_matter,
)
from workspace.frontmatter.writer import write_pair

pytestmark = pytest.mark.smoke

MAX_READ_TIME_S = 3

yaml_texts = st.one_of(
    st.sampled_from(
        ["", "on", "null", "2024-05-01", "1", "1.0", "~", "a: b", "# a", "- a", "'", '"', "x\ny\n"]
    ),
    st.sampled_from(
        ["{a}", "[", "&a", "*a", "!t", "| ", "%", "@", "`", "\n x", " ", "é", "数据", "\u2028", "👩"]
    ),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8),
)
scalars = st.one_of(yaml_texts, st.none(), st.booleans(), st.integers(-(2**64), 2**64), st.floats(-1e9, 1e9))
key_names = st.sampled_from(["a", "b", "tags", "title", "on", "1", "a b", "x: y", "数", "'q'"])
yaml_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(key_names, inner, max_size=3),
    max_leaves=8,
)
mappings = st.dictionaries(key_names, yaml_values, max_size=5)
pair_writers = st.sampled_from([write_pair, lambda key, value: yaml.safe_dump({key: value}, width=20)])


@st.composite
def documents_with_comments(draw: st.DrawFn) -> tuple[Document, list[str]]:
    """Draw a document whose front matter has comments, and these comments."""
    entries = [draw(pair_writers)(key, value) for key, value in draw(mappings).items()]
    comments = [f"# comment {number}\n" for number in range(len(entries) + 1)]
    block = "".join(comment + entry for comment, entry in zip(comments, [*entries, ""], strict=True))
    return Document.parse(f"---\n{block}---\n\n# D\n\nText.\n".encode(), FILE), comments


@given(documents_with_comments(), st.dictionaries(key_names, yaml_values, min_size=1, max_size=3))
def test_new_values_are_read_back_and_comments_preserved(
    document_and_comments: tuple[Document, list[str]], metadata: dict[str, Any]
) -> None:
    document, comments = document_and_comments
    if document.front_matter_error:
        return
    new_document = revise_document(document, SetMetadata(file=FILE, metadata=metadata))
    new_values = {key: coerce_value(document.front_matter.get(key), value) for key, value in metadata.items()}
    expected = {**document.front_matter, **new_values}
    for key, value in metadata.items():
        if value is None:
            del expected[key]
    assert have_equal_values_and_types(dict(new_document.front_matter), expected)
    text = new_document.data.decode()
    if expected:
        assert [line for line in text.splitlines(keepends=True) if line in comments] == comments
    assert text.endswith("# D\n\nText.\n")
    repeated_document, edit = SetMetadata(file=FILE, metadata=metadata).revise(new_document, EDIT_CONTEXT)
    assert repeated_document.data == new_document.data
    assert (edit.result["keys_set"], edit.result["keys_removed"]) == ([], [])


@given(documents, st.dictionaries(key_names, yaml_values, min_size=1, max_size=2))
def test_setting_keys_preserves_any_body(document: Document, metadata: dict[str, Any]) -> None:
    try:
        new_document = revise_document(document, SetMetadata(file=FILE, metadata=metadata))
    except WorkspaceError:
        return
    body = document.data[document.front_matter_end :].strip(b" \t\r\n")
    assert new_document.data[new_document.front_matter_end :].strip(b" \t\r\n").endswith(body)


@given(documents, st.text("abc", min_size=1))
def test_removing_a_set_key_restores_the_bytes(document: Document, value: str) -> None:
    key = "one of its own"
    try:
        new_document = revise_document(document, SetMetadata(file=FILE, metadata={key: value}))
    except WorkspaceError:
        return
    restored_document = revise_document(new_document, SetMetadata(file=FILE, metadata={key: None}))
    if document.front_matter:
        assert restored_document.data == document.data
    elif not document.front_matter_lines:
        assert restored_document.data.split() == document.data.split()


def test_text_becomes_a_date_only_where_the_old_value_is_a_date() -> None:
    old_value = {"day": date(2024, 5, 1), "at": datetime(2024, 5, 1, 10), 1: "x", "n": 3}
    new_value = {"day": "2024-06-01", "at": "no date", "1": "y", "n": "3", "new": "2024-06-01"}
    assert coerce_value(old_value, new_value) == {
        "day": date(2024, 6, 1),
        "at": "no date",
        1: "y",
        "n": "3",
        "new": "2024-06-01",
    }


@loop_over(
    ("left", "right"), [(1, 1.0), (1, True), ({"a": 1}, {"a": True}), ([1], [1.0]), ({1: 0}, {True: 0})]
)
def test_values_of_different_types_are_not_equal(left: object, right: object) -> None:
    assert not have_equal_values_and_types(left, right)
    assert have_equal_values_and_types(left, left)
    assert have_equal_values_and_types([float("nan")], [float("nan")])


def nest_lists(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@loop_over(
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
        {"a": nest_lists(MAX_NESTING_DEPTH)},
        {"a": "x" * (MAX_FRONT_MATTER_LENGTH + 1)},
        {"a": "\ud800"},
        {"a": ["\0"]},
    ],
)
def test_metadata_that_front_matter_cannot_represent_is_refused(metadata: dict[str, Any]) -> None:
    document = Document.parse(b"# D\n", FILE)
    with pytest.raises(WorkspaceError) as error_info:
        revise_document(document, SetMetadata(file=FILE, metadata=metadata))
    assert error_info.value.code in ("INVALID_METADATA", "INVALID_CONTENT")
    assert error_info.value.fix


def test_too_large_front_matter_is_refused() -> None:
    document = Document.parse(b"---\na: " + b"x" * (MAX_FRONT_MATTER_LENGTH - 100) + b"\n---\n", FILE)
    with pytest.raises(WorkspaceError) as error_info:
        revise_document(document, SetMetadata(file=FILE, metadata={"b": "x" * 200}))
    assert error_info.value.code == "INVALID_FRONT_MATTER"


def test_setting_a_title_that_the_h1_overrides_gives_a_hint() -> None:
    document = Document.parse(b"# D\n", FILE)
    _, edit = SetMetadata(file=FILE, metadata={"title": "E"}).revise(document, EDIT_CONTEXT)
    assert ["rename_section" in hint for hint in edit.hints] == [True]
    _, edit = SetMetadata(file=FILE, metadata={"title": "E"}).revise(
        Document.parse(b"## D\n", FILE), EDIT_CONTEXT
    )
    assert not edit.hints


@loop_over(
    "value", ["a\n---\nb", " ---\nx", "x\n  ---  \n", {"k": "a\n---\nb"}, ["x\n---"], "x\n...\ny", "---"]
)
@loop_over("front_matter", ["", "---\nl: {k: 1}\n---\n", "---\nl:\n  k: x # c\n---\n"])
def test_no_value_ends_the_front_matter(value: object, front_matter: str) -> None:
    document = Document.parse(f"{front_matter}# F\n".encode(), FILE)
    new_document, _ = SetMetadata(file=FILE, metadata={"l": value, "m": value}).revise(document, EDIT_CONTEXT)
    assert new_document.front_matter == {"l": value, "m": value}
    assert new_document.sections[0].title == "F"


@st.composite
def nested_lines(draw: st.DrawFn, column: int = 2, depth: int = 0) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Draw lines of a block list or mapping, and the path to the scalar of each line; () if it has none."""
    is_list = draw(st.booleans())
    lines: list[str] = []
    paths: list[tuple[Any, ...]] = []
    for item_number in range(draw(st.integers(1, 3))):
        name, marker = (item_number, "-") if is_list else (f"k{item_number}", f"k{item_number}:")
        form = draw(st.sampled_from(["scalar", "flow", "below", "comment"] if depth < 3 else ["scalar"]))
        if form == "comment":
            lines.append(" " * column + f"#  above {item_number}")
            paths.append(())
        text = draw(st.sampled_from(["é👩", "two words", "'q # x'", '"a: b"', "10", "2024-05-01", "~"]))
        if form == "flow":
            text = f"[ x,{text} , {{k:   'y'}} ]"
        if form != "below":
            lines.append(f"{' ' * column}{marker}  {text}   # of {item_number}")
            paths.append((name, 1) if form == "flow" else (name,))
            continue
        inner_lines, inner_paths = draw(nested_lines(column + 2, depth + 1))
        if is_list and inner_paths[0] and draw(st.booleans()):
            inner_lines[0] = f"{' ' * column}- {inner_lines[0][column + 2 :]}"
        else:
            lines.append(f"{' ' * column}{marker}   # of {item_number}")
            paths.append(())
        lines += inner_lines
        paths += [(name, *path) if path else () for path in inner_paths]
    return lines, paths


@given(nested_lines(), st.sampled_from(["\n", "\r\n"]), st.data())
def test_edit_inside_value_changes_no_other_line(
    lines_and_paths: tuple[list[str], list[tuple[Any, ...]]], ending: str, data: st.DataObject
) -> None:
    lines, paths = (
        ["a: 1 # first", "v: # of v", *lines_and_paths[0], "# below", "z: 1"],
        [(), (), *lines_and_paths[1], (), ()],
    )
    source = ending.join(lines) + ending
    value: Any = parse_front_matter(source)["v"]
    number = data.draw(st.sampled_from([number for number, path in enumerate(paths) if path]))
    *container_path, last_key = paths[number]
    container = value
    for key in container_path:
        container = container[key]
    change = data.draw(st.sampled_from(["set", "add", "remove"]))
    if change == "set":
        container[last_key] = "new: 'text'"
    elif change == "add" and isinstance(container, list):
        container.append("new")
    elif change == "add":
        container["new"] = ["x"]
    elif len(container) > 1:
        del container[last_key]
    new_source = set_keys(source, {"v": value}, ending)
    assert have_equal_values_and_types(parse_front_matter(new_source)["v"], value)
    new_lines = new_source.split(ending)
    assert len(new_lines) == len(new_source.splitlines()) + 1
    unchanged_lines = [line for line in lines if line in new_lines]
    if change == "set":
        expected = [*lines[:number], new_lines[number], *lines[number + 1 :]]
        assert new_lines[:-1] == expected
        assert new_lines[number].endswith(lines[number].rpartition("   # of")[2])
    elif change == "add":
        assert len(unchanged_lines) >= len(lines) - 1  # a list in brackets grows on its own line
    else:
        assert len(unchanged_lines) >= len(lines) - 2  # the next key may move to the line of the dash


@pytest.mark.parametrize(
    ("old_source", "new_value", "new_source"),
    [
        ("[a,  'b',c ]", ["a", "b", "x", "c"], "[a,  'b', x,c ]"),
        ("[a,  'b',c ]", ["b", "c"], "['b',c ]"),
        ("[a,  'b',c ]", ["a"], "[a ]"),
        ("[a,  'b',c ]", [], "[ ]"),
        ("[ ]", ["a", {"b": None}], "[a, {b: null} ]"),
        ("[a, # one\n  b, # two\n  c] # all", ["a", "c"], "[a, # one\n  c] # all"),
        ("[a, # one\n  b # two\n  ]", ["a"], "[a, # one\n   # two\n  ]"),
        ("{a:  1, b: \"x\", 'c': [1]}", {"a": 1, "b": "y", "c": [1, 2]}, "{a:  1, b: \"y\", 'c': [1, 2]}"),
        ("{a:  1, b: 2}", {"b": 2, "c": 3}, "{b: 2, c: 3}"),
        ("\n- - a # one\n  - b\n- c", [["b"], "c"], "\n- - b\n- c"),
        ("\n  - a: |\n      x\n      # y\n  # z\n  - b", ["b"], "\n  # z\n  - b"),
        ("\n  - a\n  - b", [{"k": [1]}, "b", ["l", {"m": 2}]], "\n  - k: [1]\n  - b\n  - - l\n    - m: 2"),
        ("\n  - a: # one\n  - b", [{"a": "x\ny"}, "b"], "\n  - a: |- # one\n      x\n      y\n  - b"),
        ("\n  k: &x y # one\n  l: 1", {"k": "z", "l": 1}, "\n  k: z # one\n  l: 1"),
    ],
)
def test_edited_list_or_mapping_preserves_its_form(
    old_source: str, new_value: object, new_source: str
) -> None:
    assert set_keys(f"k: {old_source}\nl: 1\n", {"k": new_value}, "\n") == f"k: {new_source}\nl: 1\n"


@pytest.mark.parametrize(
    "source",
    [
        "!!timestamp soon",
        '!!int ""',
        "!!int",
        '!!float ""',
        "!!bool maybe",
        "1" + ":59" * 2000 + ".5",
        "9" * 5000,
        "2024-13-45",
    ],
)
def test_unconstructible_value_is_invalid_front_matter(source: str) -> None:
    document = Document.parse(f"---\na: {source}\n---\n\n# T\n".encode())
    assert document.front_matter_error is not None
    with pytest.raises(InvalidFrontMatter):
        revise_document(document, SetMetadata(file=FILE, metadata={"b": 1}))


def test_mapping_with_merged_keys_is_rewritten() -> None:
    source = "k:\n  a: 1\n  <<: {x: {p: 1}}\n"
    assert parse_front_matter(set_keys(source, {"k": {"x": {"p": 2}, "a": 1}}, "\n")) == {
        "k": {"x": {"p": 2}, "a": 1}
    }


def test_key_of_another_yaml_type_is_refused() -> None:
    with pytest.raises(InvalidFrontMatter):
        set_keys("1: no\ntrue:\n- a\n", {"1": ["b"]}, "\n")


@pytest.mark.parametrize(
    "line", ["k: *x #" + " " * 60_000 + "y", '"' + "*" * 60_000 + '": *x y', "k: *x " + "# " * 30_000]
)
def test_long_line_with_an_alias_is_read_in_seconds(line: str) -> None:
    start = perf_counter()
    with suppress(InvalidFrontMatter):
        set_keys(f"a: &x 1\n{line}\n", {"b": 1}, "\n")
    assert perf_counter() - start < MAX_READ_TIME_S


def test_comment_after_an_alias_is_not_part_of_its_value() -> None:
    source = 'a: &x 1\n"*x # b": *x  # why\n'
    assert set_keys(source, {"*x # b": 2}, "\n") == "a: &x 1\n'*x # b': 2 # why\n"
