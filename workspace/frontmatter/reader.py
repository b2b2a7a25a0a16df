"""Read front matter within limits, by PyYAML, whose parser is in C.

Values of front matter: what a caller's JSON means there, and whether two values are the same.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import yaml

# Longer front matter is not metadata but data; parsing it would let one document slow down every reader.
MAX_FRONT_MATTER = 64 * 1024

# libyaml composes nested values by recursion in C, so a text made of brackets would overflow the stack.
MAX_NESTING = 50

# Python refuses to write out a number of thousands of digits.
MAX_BITS = 256

# More than fit into 64 KiB without aliases.
MAX_VALUES = 100_000

# What PyYAML raises for values that are right as syntax alone: `2024-13-45`, `!!int ""`, `!!bool maybe`,
# `!!timestamp soon`, and numbers of thousands of digits.
_UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class InvalidFrontMatter(WorkspaceError):
    """Front matter that is not a YAML mapping, where an edit needs one; `line` is where, if YAML says."""

    code = "INVALID_FRONT_MATTER"
    line: int | None = None


def format_value(value: object) -> str | None:
    """Return a value as one line of text; None if it is empty, a structure, or not a finite number."""
    if value is None or isinstance(value, (dict, list, set, bool)):
        return None
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        return None
    return " ".join(str(value).split()) or None


def get_loader() -> type[yaml.SafeLoader]:
    """Return the parser in C where there is one."""
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read(source: str) -> Mapping[str, object]:
    """Return the mapping that front matter holds.

    Raises InvalidFrontMatter if it is not YAML, not a mapping, over 64 KiB, or a bomb of nesting or aliases.
    """
    if len(source) > MAX_FRONT_MATTER:
        raise InvalidFrontMatter(
            "the front matter is over 64 KiB", fix="Move the data out of the front matter."
        )
    import yaml

    try:
        _check_size(source)
        value = yaml.load(source, get_loader())
        if isinstance(value, dict):
            return {str(key): item for key, item in value.items()}
    except (yaml.YAMLError, *_UNREADABLE) as error:
        mark = getattr(error, "problem_mark", None)
        place = f" (line {mark.line + 2})" if mark else ""
        invalid = InvalidFrontMatter(
            f"the front matter is not valid YAML{place}", fix="Mend the block between the two `---` lines."
        )
        invalid.line = mark.line + 2 if mark else None
        raise invalid from error
    if value is None:
        return {}
    raise InvalidFrontMatter(
        "the front matter is not a mapping of keys to values", fix="Write `key: value` lines."
    )


def _check_size(source: str) -> None:
    """Count how deep values are nested, and how many there are once aliases are written out.

    An alias costs two bytes, and each may stand for a value full of others: without a count, comparing two
    readings of a few lines would never end. Raises InvalidFrontMatter.
    """
    import yaml

    if "*" not in source and sum(source.count(mark) for mark in "[{-:?") <= MAX_NESTING:
        return
    sizes: dict[str, int] = {}
    open_values: list[tuple[str | None, int]] = []
    size = 0
    for event in yaml.parse(source, get_loader()):
        if isinstance(event, yaml.CollectionStartEvent):
            open_values.append((event.anchor, size))
            size += 1
            if len(open_values) > MAX_NESTING:
                raise InvalidFrontMatter("the front matter is nested too deeply", fix="Keep its values flat.")
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_values.pop()
            if anchor:
                sizes[anchor] = size - before
        elif isinstance(event, yaml.ScalarEvent):
            size += 1
            if event.anchor:
                sizes[event.anchor] = 1
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in sizes:
                raise InvalidFrontMatter(
                    "an alias in the front matter stands for nothing, or for what it stands in",
                    fix="Write the value out.",
                )
            size += sizes[event.anchor]
        if size > MAX_VALUES:
            raise InvalidFrontMatter(
                f"the front matter has over {MAX_VALUES:,} values with its aliases written out",
                fix="Keep its values flat, and write them without aliases.",
            )


_LONGEST_DATE = 100


def coerce_value(known: object, given: object) -> object:
    """Return what a JSON value means in place of a known one.

    JSON has neither dates nor keys other than text: text that reads as a date is one where a date stood, and
    a key is the known one that is written so.
    """
    if isinstance(given, str):
        return _as_date(given) if isinstance(known, date) else given
    if isinstance(given, list):
        items = known if isinstance(known, list) else []
        kept = next((item for item in items if isinstance(item, date)), None)
        return [coerce_value(items[i] if i < len(items) else kept, item) for i, item in enumerate(given)]
    if isinstance(given, dict):
        before = known if isinstance(known, dict) else {}
        names = {str(key): key for key in before}
        return {
            names.get(key, key): coerce_value(before.get(names.get(key, key)), value)
            for key, value in given.items()
        }
    return given


def _as_date(text: str) -> object:
    """Return the date that a text is in YAML, else the text."""
    if not text[:1].isdecimal() or len(text) > _LONGEST_DATE:
        return text
    import yaml

    try:
        node = yaml.compose(text, get_loader())
        if node is not None and (node.tag, node.value) == ("tag:yaml.org,2002:timestamp", text):
            return yaml.load(text, get_loader())
    except (yaml.YAMLError, ValueError):
        pass
    return text


def are_same(one: object, other: object) -> bool:
    """Whether two values are equal and of one type, all the way down: `1`, `1.0` and `true` are not."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        keys = {(type(key), key) for key in other}
        return len(one) == len(other) and all(
            (type(key), key) in keys and are_same(value, other[key]) for key, value in one.items()
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(are_same, one, other))
    # A float that is no number is not equal to itself.
    return one == other or (one != one and other != other)
