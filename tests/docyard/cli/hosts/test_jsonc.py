"""Insertion of a member into JSON with comments: nothing else of the text changes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docyard.cli.hosts.jsonc import InvalidJSON, insert_member, read_object
from tests.loops import loop_over

SERVER = {"command": "docyard", "args": ["serve"]}

CASES = {
    "{}": '{\n  "servers": {\n    "docyard": 1\n  }\n}',
    '{"servers": {}}': '{"servers": {\n  "docyard": 1\n}}',
    '{\n\t"servers": {\n\t\t"a": 2\n\t}\n}\n': '{\n\t"servers": {\n\t\t"a": 2,\n\t\t"docyard": 1\n\t}\n}\n',
    '{\n    "servers": {\n        "a": 2, // A\n        /* end */\n    },\n}': (
        '{\n    "servers": {\n        "a": 2, // A\n        /* end */\n        "docyard": 1\n    },\n}'
    ),
    '{\n  "a": 2 // no comma\n  // "servers": {}\n}\n': (
        '{\n  "a": 2, // no comma\n  // "servers": {}\n  "servers": {\n    "docyard": 1\n  }\n}\n'
    ),
    '{\r\n  "a": "} // \\" {"\r\n}\r\n': (
        '{\r\n  "a": "} // \\" {",\r\n  "servers": {\r\n    "docyard": 1\r\n  }\r\n}\r\n'
    ),
}


@loop_over(("text", "expected"), CASES.items())
def test_member_follows_last_member_and_its_comments(text: str, expected: str) -> None:
    assert insert_member(text, "servers", "docyard", 1) == expected


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3),
    max_leaves=8,
)


@given(
    data=st.dictionaries(st.text(), JSON_VALUES, max_size=3),
    servers=st.none() | st.dictionaries(st.text().filter("docyard".__ne__), JSON_VALUES, max_size=3),
    indent=st.sampled_from([None, 2, "\t"]),
)
def test_every_object_is_extended_by_one_member(
    data: dict[str, Any], servers: dict[str, Any] | None, indent: int | str | None
) -> None:
    data.pop("servers", None)
    if servers is not None:
        data["servers"] = servers
    text = json.dumps(data, indent=indent)
    result = insert_member(text, "servers", "docyard", SERVER)
    assert json.loads(result) == {**data, "servers": {**(servers or {}), "docyard": SERVER}}
    characters = iter(result)
    assert all(character in characters for character in text)


@loop_over(
    "text",
    [
        "",
        "[]",
        "1",
        "{",
        '{"a" 1}',
        '{"a": }',
        '{"a": 1 "b": 2}',
        "{,}",
        "{a: 1}",
        "{'a': 1}",
        '{"a": tru}',
        '{"a": "line\nbreak"}',
        '{"a": 1} {}',
        '{"a": 1} /* open',
        '{"a": 1, "a": 2}',
        '{"servers": []}',
        '{"servers": null}',
        '{"servers": {"docyard": 2}}',
        '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}",
    ],
)
def test_unreadable_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidJSON):
        insert_member(text, "servers", "docyard", 1)


def test_comments_and_trailing_commas_are_read() -> None:
    assert read_object('// a\n{"x": [1, /* b */ 2,], "y": {"z": "//",},}') == {"x": [1, 2], "y": {"z": "//"}}
