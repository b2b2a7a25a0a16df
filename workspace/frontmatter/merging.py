"""A list or mapping changed inside: what does not differ keeps its lines, quotes and comments."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

from workspace.frontmatter.reading import word
from workspace.frontmatter.values import are_same
from workspace.plain_yaml import NotPlain

if TYPE_CHECKING:
    from ruamel.yaml import YAML

_ITEM = re.compile(r"^(?P<before> *)-(?P<gap> +)(?=\S)", re.MULTILINE)
_NESTED = re.compile(r"^(?P<before> +)[^\s#-]", re.MULTILINE)


def merged(text: str, known: object, value: object) -> str | None:
    """The lines of a key, LF between them, whose list or mapping `known` is to be `value`.

    None where they cannot be read by themselves: they refer to an anchor elsewhere, say.
    """
    from ruamel.yaml.error import YAMLError

    yaml = _round_trip(text)
    try:
        tree = yaml.load(text)
        [key] = tree
        _merge(tree[key], known, value)
        out = io.StringIO()
        yaml.dump(tree, out)
    except (YAMLError, ValueError, TypeError, AttributeError, RecursionError):
        # Its own error, or that of a value (a date that is none) which it reads otherwise than the parser.
        return None
    return out.getvalue()


def _round_trip(text: str) -> YAML:
    """A reader and writer that indents as the text does."""
    from ruamel.yaml import YAML

    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = 10**6
    item, nested = _ITEM.search(text), _NESTED.search(text)
    offset = len(item["before"]) if item else 0
    yaml.indent(
        mapping=len(nested["before"]) if nested else 2,
        sequence=offset + 1 + len(item["gap"]) if item else 2,
        offset=offset,
    )
    return yaml


def _merge(node: Any, known: Any, value: Any) -> None:
    """Changes a list or mapping in place."""
    if isinstance(known, dict):
        _merge_mapping(node, known, value)
    else:
        _merge_list(node, known, value)


def _merge_mapping(node: Any, known: dict[Any, Any], value: dict[Any, Any]) -> None:
    # YAML 1.2 reads some keys otherwise than 1.1 (`on`), so they are told by their order.
    names = dict(zip(known, list(node), strict=True))
    for key in known:
        if key not in value:
            del node[names[key]]
    for key, item in value.items():
        if key in known:
            _set(node, names[key], known[key], item)
        else:
            node[_scalar(key, None)] = _made(item)


def _merge_list(node: Any, known: list[Any], value: list[Any]) -> None:
    shortest = min(len(known), len(value))
    same = [are_same(one, other) for one, other in zip(known, value, strict=False)]
    first = same.index(False) if False in same else shortest
    last = 0
    while last < shortest - first and are_same(known[-1 - last], value[-1 - last]):
        last += 1
    end, stop = len(known) - last, len(value) - last
    for place in range(first, min(end, stop)):
        _set(node, place, known[place], value[place])
    for place in range(end - 1, stop - 1, -1):
        del node[place]
    for place in range(end, stop):
        node.insert(place, _made(value[place]))


def _set(node: Any, place: Any, known: object, value: object) -> None:
    if are_same(known, value):
        return
    if isinstance(known, (dict, list)) and type(known) is type(value):
        _merge(node[place], known, value)
    elif isinstance(value, (dict, list)):
        node[place] = _made(value)
    else:
        node[place] = _scalar(value, node[place])


def _made(value: object) -> object:
    """A value that was not there, as the writer takes it."""
    if isinstance(value, dict):
        return {_scalar(key, None): _made(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_made(item) for item in value]
    return _scalar(value, None)


def _scalar(value: object, before: object) -> object:
    """A value in the quotes of the one before it, and in quotes if YAML 1.1 would take its words for more."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString, SingleQuotedScalarString

    if not isinstance(value, str):
        return value
    if isinstance(before, (DoubleQuotedScalarString, SingleQuotedScalarString)):
        return type(before)(value)
    try:
        is_text = isinstance(word(value), str) if value else False
    except NotPlain:
        is_text = False
    return value if is_text else DoubleQuotedScalarString(value)
