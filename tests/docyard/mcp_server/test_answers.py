"""The JSON of tool answers: orjson and pydantic write the same values, and unusual values are encoded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import to_json

from docyard.mcp_server.calls import build_result
from docyard.mcp_server.server import build_unknown_tool_error
from tests.example_counts import scale_examples
from tests.loops import loop_over
from tools.dispatcher import UnknownTool
from tools.tool import Answer

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBERS = st.integers(-(1 << 70), 1 << 70) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


def read_text(data: dict[str, Any]) -> str:
    text: str = build_result(Answer(data))["content"][0]["text"]
    return text


@settings(max_examples=scale_examples(200), deadline=None)
@given(VALUES)
def test_orjson_and_pydantic_write_same_values(value: Any) -> None:
    assert repr(json.loads(read_text({"value": value}))) == repr(json.loads(to_json({"value": value})))


@settings(max_examples=scale_examples(100), deadline=None)
@given(data=st.dictionaries(TEXTS, VALUES, max_size=4))
def test_result_contains_answer_as_text_and_data(data: dict[str, Any]) -> None:
    result = json.loads(to_json(build_result(Answer(data))))
    assert result["structuredContent"] == json.loads(result["content"][0]["text"]) == data
    assert result["isError"] is False


@loop_over(
    ("value", "expected"),
    [
        (float("nan"), "null"),
        ((1, (2,)), "[1,[2]]"),
        ({1: "one"}, '{"1":"one"}'),
        (Path("a/b"), '"a/b"'),
        (json.loads("[" * 200 + "]" * 200), "[" * 200 + "]" * 200),
    ],
)
def test_unusual_values_are_encoded(value: object, expected: str) -> None:
    assert read_text({"value": value}) == f'{{"value":{expected}}}'


def test_lone_surrogate_is_written_as_escape() -> None:
    result = build_result(Answer({"path": "a\udcff", "in": [{"b\ud800": "\udfff"}]}))
    assert result["structuredContent"] == {"path": "a\\udcff", "in": [{"b\\ud800": "\\udfff"}]}
    assert json.loads(to_json(result))["content"][0]["text"] == result["content"][0]["text"]


def test_unknown_tool_of_a_toolset_that_is_off_names_the_option() -> None:
    error = build_unknown_tool_error(UnknownTool("smart_read", [], "reading")).error
    assert "add reading to --toolsets" in error.message
    assert error.data == {"tool": "smart_read", "nearest": [], "toolset": "reading"}
