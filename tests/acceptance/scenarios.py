"""Parse scenarios, and compare responses with them.

A scenario is a Markdown document with headings of level 2, which are the titles of calls, and these blocks:

    ````markdown file=api.md      an initial file
    ```json call edit_document    the arguments of a call
    ```json answer                the expected data of the response
    ```json error                 the expected data of a response that must be an error
    ```text answer                the exact text of the response; `text error` if it must be an error

In expected data, `"<string>"`, `"<integer>"`, `"<number>"`, `"<strings>"`, `"<array>"`, `"<object>"` and
`"<commit>"` match any value of their type; `"<string>"` and `"<strings>"` match no empty value. `…` in a
string matches any text. A list with `"…"` matches a list that contains its other items in order, and any more
items. An object may have more fields than those in the scenario.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

CASES_FOLDER = Path(__file__).resolve().parents[1] / "cases"

_BLOCK_OR_TITLE = re.compile(
    r"^(?P<fence>`{3,})(?P<language>\w+) (?P<role>[^\n]+)\n(?P<text>.*?)^(?P=fence)$|^## (?P<title>[^\n]+)$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class ScenarioCall:
    """A call of a tool, and its expected response: data or a text, and whether it must be an error."""

    title: str
    tool: str
    arguments: dict[str, Any]
    expected_data: Any = None
    expected_text: str | None = None
    must_fail: bool = False


@dataclass(frozen=True, slots=True)
class Scenario:
    """The initial files, and the calls in order."""

    files: Mapping[str, str]
    calls: tuple[ScenarioCall, ...]


def read_scenario(name: str) -> Scenario:
    """Return the scenario of a file in `tests/cases`."""
    source = (CASES_FOLDER / f"{name}.md").read_text(encoding="utf-8")
    files: dict[str, str] = {}
    calls: list[ScenarioCall] = []
    title, number = "", 0
    for match in _BLOCK_OR_TITLE.finditer(source):
        if match["title"]:
            title, number = match["title"], 0
            continue
        role, text = match["role"], match["text"]
        if role.startswith("file="):
            files[role.removeprefix("file=")] = text
        elif role.startswith("call "):
            number += 1
            call_title = title if number == 1 else f"{title} ({number})"
            calls.append(ScenarioCall(call_title, role.removeprefix("call "), json.loads(text)))
        elif match["language"] == "text":
            calls.append(
                replace(calls.pop(), expected_text=text.removesuffix("\n"), must_fail=role == "error")
            )
        else:
            calls.append(replace(calls.pop(), expected_data=json.loads(text), must_fail=role == "error"))
    return Scenario(files, tuple(calls))


_PLACEHOLDERS: Mapping[str, Any] = {
    "<string>": lambda value: isinstance(value, str) and value,
    "<integer>": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "<number>": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "<array>": lambda value: isinstance(value, list),
    "<strings>": lambda value: (
        isinstance(value, list) and value and all(isinstance(item, str) for item in value)
    ),
    "<object>": lambda value: isinstance(value, dict),
    "<commit>": lambda value: isinstance(value, str) and re.fullmatch("[0-9a-f]{40}", value),
}


def find_difference(expected: Any, actual: Any, path: str = "response") -> str | None:
    """Return the first difference between a response and the expected response; None if they match."""
    match expected:
        case str() if expected in _PLACEHOLDERS:
            return None if _PLACEHOLDERS[expected](actual) else f"{path} is {actual!r}, not {expected}"
        case str() if "…" in expected:
            pattern = ".*".join(re.escape(part) for part in expected.split("…"))
            is_match = isinstance(actual, str) and re.fullmatch(pattern, actual, re.DOTALL)
            return None if is_match else f"{path} is {actual!r}, not {expected!r}"
        case dict():
            if not isinstance(actual, dict):
                return f"{path} is {actual!r}, not an object"
            for key, value in expected.items():
                if key not in actual:
                    return f"{path} has no {key!r}: {actual!r}"
                if difference := find_difference(value, actual[key], f"{path}.{key}"):
                    return difference
            return None
        case list() if "…" in expected:
            remaining_items = iter(actual)
            for value in (value for value in expected if value != "…"):
                if not any(find_difference(value, item) is None for item in remaining_items):
                    return f"{path} lacks {value!r}: {actual!r}"
            return None
        case list():
            if not isinstance(actual, list) or len(actual) != len(expected):
                return f"{path} is {actual!r}, not a list of {len(expected)} items"
            differences = (
                find_difference(expected_item, actual_item, f"{path}[{number}]")
                for number, (expected_item, actual_item) in enumerate(zip(expected, actual, strict=True))
            )
            return next((difference for difference in differences if difference), None)
        case _:
            is_equal = type(actual) is type(expected) and actual == expected
            return None if is_equal else f"{path} is {actual!r}, not {expected!r}"
