"""Read front matter within limits, by PyYAML, whose parser is in C."""

from __future__ import annotations

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


def as_text(value: object) -> str | None:
    """A value as one line of text; None if it is empty, a structure, or a number that is none to read."""
    if value is None or isinstance(value, (dict, list, set, bool)):
        return None
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        return None
    return " ".join(str(value).split()) or None


def loader() -> type[yaml.SafeLoader]:
    """The parser in C where there is one."""
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read(source: str) -> Mapping[str, object]:
    """The mapping that front matter holds.

    Raises InvalidFrontMatter if it is not YAML, not a mapping, over 64 KiB, or a bomb of nesting or aliases.
    """
    if len(source) > MAX_FRONT_MATTER:
        raise InvalidFrontMatter(
            "the front matter is over 64 KiB", fix="Move the data out of the front matter."
        )
    import yaml

    try:
        _check_size(source)
        value = yaml.load(source, loader())
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
    """Counts how deep values are nested, and how many there are once aliases are written out.

    An alias costs two bytes, and each may stand for a value full of others: without a count, comparing two
    readings of a few lines would never end. Raises InvalidFrontMatter.
    """
    import yaml

    if "*" not in source and sum(source.count(mark) for mark in "[{-:?") <= MAX_NESTING:
        return
    sizes: dict[str, int] = {}
    open_values: list[tuple[str | None, int]] = []
    size = 0
    for event in yaml.parse(source, loader()):
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
