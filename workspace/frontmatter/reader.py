"""Parse front matter with PyYAML, within limits.

The module also converts JSON values of a call to front matter values, and compares values and their types.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import yaml

# Longer front matter could slow down every reader.
MAX_FRONT_MATTER_LENGTH = 64 * 1024  # characters

# PyYAML composes nested values by recursion, its C loader without a limit. A text of brackets could
# overflow the stack.
MAX_NESTING_DEPTH = 50

# Python refuses to convert numbers of thousands of digits to text.
MAX_INTEGER_BITS = 256

# Front matter of MAX_FRONT_MATTER_LENGTH cannot contain so many values without aliases.
MAX_EXPANDED_VALUES = 100_000

# PyYAML raises these errors for values that are valid only as syntax: `2024-13-45`, `!!int ""`,
# `!!bool maybe`, `!!timestamp soon`, and numbers of thousands of digits.
_VALUE_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class InvalidFrontMatter(WorkspaceError):
    """An error: front matter is not a YAML mapping, or exceeds a limit. `line` is set if YAML reports it."""

    code = "INVALID_FRONT_MATTER"
    line: int | None = None


def format_value(value: object) -> str | None:
    """Return a value as one line of text; None for an empty value, boolean, structure or huge integer."""
    if value is None or isinstance(value, (dict, list, set, bool)):
        return None
    if isinstance(value, int) and value.bit_length() > MAX_INTEGER_BITS:
        return None
    return " ".join(str(value).split()) or None


def get_loader() -> type[yaml.SafeLoader]:
    """Return PyYAML's loader in C if it is installed, else the loader in Python."""
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parse_front_matter(source: str) -> Mapping[str, object]:
    """Return the mapping in front matter.

    Raises InvalidFrontMatter if it is not YAML, not a mapping, or too long. It is also raised for too much
    nesting, an alias of no earlier value, and too many values after aliases are expanded.
    """
    if len(source) > MAX_FRONT_MATTER_LENGTH:
        raise InvalidFrontMatter(
            f"the front matter has {len(source):,} characters (limit {MAX_FRONT_MATTER_LENGTH:,})",
            fix="Move the data out of the front matter.",
        )
    import yaml

    try:
        _check_nesting_and_count(source)
        value = yaml.load(source, get_loader())
        if isinstance(value, dict):
            return {str(key): item for key, item in value.items()}
    except (yaml.YAMLError, *_VALUE_ERRORS) as error:
        mark = getattr(error, "problem_mark", None)
        location = f" (line {mark.line + 2})" if mark else ""
        invalid_error = InvalidFrontMatter(
            f"the front matter is not valid YAML{location}", fix="Fix the block between the two `---` lines."
        )
        invalid_error.line = mark.line + 2 if mark else None
        raise invalid_error from error
    if value is None:
        return {}
    raise InvalidFrontMatter(
        "the front matter is not a mapping of keys to values", fix="Write `key: value` lines."
    )


def _check_nesting_and_count(source: str) -> None:
    """Raise InvalidFrontMatter if values are nested too deeply, or are too many after aliases are expanded.

    An alias needs two bytes, and can refer to a value with many other aliases. Without this limit, comparing
    two values of a few lines could take unlimited time.
    """
    import yaml

    if "*" not in source and sum(source.count(mark) for mark in "[{-:?") <= MAX_NESTING_DEPTH:
        return
    counts_by_anchor: dict[str, int] = {}
    open_values: list[tuple[str | None, int]] = []
    value_count = 0
    for event in yaml.parse(source, get_loader()):
        if isinstance(event, yaml.CollectionStartEvent):
            open_values.append((event.anchor, value_count))
            value_count += 1
            if len(open_values) > MAX_NESTING_DEPTH:
                raise InvalidFrontMatter(
                    f"the front matter is nested too deeply (limit {MAX_NESTING_DEPTH} levels)",
                    fix="Make the values of the front matter flat.",
                )
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, start_count = open_values.pop()
            if anchor:
                counts_by_anchor[anchor] = value_count - start_count
        elif isinstance(event, yaml.ScalarEvent):
            value_count += 1
            if event.anchor:
                counts_by_anchor[event.anchor] = 1
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in counts_by_anchor:
                raise InvalidFrontMatter(
                    f"the alias '*{event.anchor}' in the front matter refers to no earlier value",
                    fix=f"Replace '*{event.anchor}' by its value.",
                )
            value_count += counts_by_anchor[event.anchor]
        if value_count > MAX_EXPANDED_VALUES:
            raise InvalidFrontMatter(
                "the front matter has too many values after its aliases are expanded "
                f"(limit {MAX_EXPANDED_VALUES:,})",
                fix="Make the values of the front matter flat, and write them without aliases.",
            )


_MAX_DATE_LENGTH = 100


def coerce_value(old: object, new: object) -> object:
    """Return a JSON value with the types of the value that it replaces.

    JSON has neither dates nor keys other than text. A text becomes a date if it is a date in YAML and the old
    value is a date. A key becomes the old key with the same text.
    """
    if isinstance(new, str):
        return _parse_date(new) if isinstance(old, date) else new
    if isinstance(new, list):
        items = old if isinstance(old, list) else []
        first_date = next((item for item in items if isinstance(item, date)), None)
        return [coerce_value(items[i] if i < len(items) else first_date, item) for i, item in enumerate(new)]
    if isinstance(new, dict):
        old_mapping = old if isinstance(old, dict) else {}
        old_keys_by_text = {str(key): key for key in old_mapping}
        return {
            old_keys_by_text.get(key, key): coerce_value(
                old_mapping.get(old_keys_by_text.get(key, key)), value
            )
            for key, value in new.items()
        }
    return new


def _parse_date(text: str) -> object:
    """Return the date that YAML reads in a text, else the text."""
    if not text[:1].isdecimal() or len(text) > _MAX_DATE_LENGTH:
        return text
    import yaml

    try:
        node = yaml.compose(text, get_loader())
        if node is not None and (node.tag, node.value) == ("tag:yaml.org,2002:timestamp", text):
            return yaml.load(text, get_loader())
    except (yaml.YAMLError, ValueError):
        pass
    return text


def have_equal_values_and_types(left: object, right: object) -> bool:
    """Return True if two values and all values in them are equal and have equal types.

    `1`, `1.0` and `true` differ.
    """
    if type(left) is not type(right):
        return False
    if isinstance(left, dict) and isinstance(right, dict):
        keys = {(type(key), key) for key in right}
        return len(left) == len(right) and all(
            (type(key), key) in keys and have_equal_values_and_types(value, right[key])
            for key, value in left.items()
        )
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(have_equal_values_and_types, left, right))
    # NaN is not equal to itself.
    return left == right or (left != left and right != right)
