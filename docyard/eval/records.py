"""Records of YAML and JSONL files, each with the line on which it begins. The door to YAML for case files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from docyard.eval.cases import Problem


@dataclass(frozen=True, slots=True)
class Record:
    """A mapping as it stands in a file, and its first line, counted from 1."""

    line: int
    fields: Mapping[str, object]


def read_text(file: str, data: bytes) -> str | Problem:
    """Decode a file; the Problem is the first line that is not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Problem(file, data.count(b"\n", 0, error.start) + 1, "this is not UTF-8")


def lines(text: str) -> Iterator[tuple[int, str]]:
    """Give the lines that are not blank, with their numbers from 1."""
    # Unlike here, `splitlines` ends a line at U+2028, which may stand in a JSON string.
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line.rstrip("\r")


def read_jsonl(file: str, text: str) -> Iterator[Record | Problem]:
    """Read one object from each line; blank lines are skipped."""
    for number, line in lines(text):
        try:
            value = json.loads(line, object_pairs_hook=_once)
        except json.JSONDecodeError as error:
            yield Problem(file, number, f"this is not JSON: {_lower(error.msg)} at column {error.colno}")
        except (ValueError, RecursionError) as error:
            yield Problem(file, number, f"this cannot be read: {_lower(str(error))}")
        else:
            if isinstance(value, dict):
                yield Record(number, value)
            else:
                yield Problem(file, number, "this is not an object: write {…}")


def read_yaml(file: str, text: str) -> Iterator[Record | Problem]:
    """Read a list of mappings, or a mapping whose `cases` is one. A syntax error ends the file."""
    import yaml

    # The loader in C would overflow the stack on a text made of brackets; this one raises RecursionError.
    loader = yaml.SafeLoader("")
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        yield Problem(file, _line_of(error), f"this is not YAML: {_reason(error)}")
        return
    if isinstance(root, yaml.MappingNode):
        root = next((value for key, value in root.value if key.value == "cases"), root)
    if not isinstance(root, yaml.SequenceNode):
        line = root.start_mark.line + 1 if root else 1
        yield Problem(file, line, "this is not a list of cases: begin each with `- query: …`")
        return
    for node in root.value:
        line = node.start_mark.line + 1
        if not isinstance(node, yaml.MappingNode):
            yield Problem(file, line, "this is not a case: write `query: …` and `expected: …`")
            continue
        try:
            _once([(key.value, None) for key, _ in node.value])
            fields: dict[Any, object] = loader.construct_object(node, deep=True)
        except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
            yield Problem(file, _line_of(error, line), f"this cannot be read: {_reason(error)}")
        else:
            yield Record(line, {str(key): value for key, value in fields.items()})


def _once(pairs: Iterable[tuple[Any, object]]) -> dict[str, object]:
    """Make a mapping of pairs, as JSON and YAML would, but raise ValueError for a key that is repeated."""
    found: dict[str, object] = {}
    for key, value in pairs:
        if str(key) in found:
            raise ValueError(f"'{key}' stands there twice")
        found[str(key)] = value
    return found


def _line_of(error: Exception, default: int = 1) -> int:
    mark = getattr(error, "problem_mark", None)
    return mark.line + 1 if mark else default


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return _lower(str(getattr(error, "problem", None) or error).split("\n")[0])


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:]
