"""Write values as YAML, with quotes where YAML requires them."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import yaml

_MAX_LINE_LENGTH = 10**6

# Invisible characters and line ends that only YAML recognizes; not the joiners of emoji and of Persian.
_INVISIBLE_CHARACTER = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
)

# A line that would end the front matter although it is indented.
_FRONT_MATTER_END = re.compile(r"\n[ ]*---|^[ ]*---[^\n]*\n")


def write_pair(key: object, value: object) -> str:
    """Return the lines of a key: a mapping or nested list starts a new line, a flat list does not."""
    return _dump({key: value})


def write_item(value: object) -> str:
    """Return the lines of a list item."""
    if not isinstance(value, (dict, list)) or not value or _is_flat_list(value):
        return f"- {write_inline(value)}\n"
    return f"- {indent_later_lines(_dump(value), 2)}"


def write_inline(value: object, quotes: str | None = None) -> str:
    """Return a value on one line that is valid in every context; `quotes` is the old text's quote mark."""
    # PyYAML writes every value on one line only in a list in brackets.
    return _dump([value], is_flow=True, quotes=quotes if isinstance(value, str) else None)[1:-2]


def add_comment(text: str, comment: str) -> str:
    """Return the lines of a key or item, with a comment after the first line."""
    return text.replace("\n", f" {comment}\n", 1) if comment else text


def indent_later_lines(text: str, columns: int) -> str:
    """Return lines with all but the first indented."""
    return re.sub(r"\n(?=[^\n])", "\n" + " " * columns, text)


def _is_flat_list(value: object) -> bool:
    return isinstance(value, list) and not any(isinstance(item, (dict, list)) for item in value)


def _dump(value: object, *, is_flow: bool = False, quotes: str | None = None) -> str:
    import yaml

    return yaml.dump(
        value,
        Dumper=_make_dumper(),
        default_flow_style=is_flow,
        default_style=quotes,
        allow_unicode=True,
        width=_MAX_LINE_LENGTH,
        sort_keys=False,
    )


@cache
def _make_dumper() -> type[yaml.SafeDumper]:
    import yaml

    class Dumper(yaml.SafeDumper):
        """A dumper without anchors and aliases, which PyYAML would write for a date used twice."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

        def represent_flat_list(self, data: list[object]) -> yaml.Node:
            return self.represent_sequence(
                "tag:yaml.org,2002:seq", data, flow_style=_is_flat_list(data) or None
            )

        def represent_text(self, data: str) -> yaml.Node:
            style = None
            if _INVISIBLE_CHARACTER.search(data) or _FRONT_MATTER_END.search(data):
                style = '"'
            elif "\n" in data:
                style = "|" if data[:1].strip() and not self.default_flow_style else '"'
            return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)

    Dumper.add_representer(list, Dumper.represent_flat_list)
    Dumper.add_representer(str, Dumper.represent_text)
    return Dumper
