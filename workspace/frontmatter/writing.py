"""Front matter written: a key and its value as lines of YAML, quoted where YAML asks for it."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import yaml

_WIDTH = 10**6

# Line ends that only YAML knows as such, and what cannot be seen.
_UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
# A line that would end the front matter, indented though it is.
_MARK = re.compile(r"\n[ ]*---|^[ ]*---[^\n]*\n")


def write_list(key: str, values: tuple[str, ...]) -> str:
    """One line `key: [a, b]`, quoted where YAML asks for it."""
    import yaml

    return yaml.safe_dump(
        {key: list(values)}, default_flow_style=None, allow_unicode=True, width=_WIDTH, sort_keys=False
    )


def write_scalar(key: str, value: str) -> str:
    """One line `key: value`, quoted where YAML asks for it."""
    import yaml

    return yaml.safe_dump({key: value}, default_flow_style=False, allow_unicode=True, width=_WIDTH)


def write_value(key: str, value: object) -> str:
    """The lines of a key: a mapping and a list of structures go below it, a list of words onto its line."""
    import yaml

    return yaml.dump(
        {key: value},
        Dumper=_dumper(),
        default_flow_style=False,
        allow_unicode=True,
        width=_WIDTH,
        sort_keys=False,
    )


@cache
def _dumper() -> type[yaml.SafeDumper]:
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes each value out: one date that stands in two places is no anchor and alias."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

        def represent_words(self, data: list[object]) -> yaml.Node:
            is_flat = not any(isinstance(item, (dict, list)) for item in data)
            return self.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=is_flat)

        def represent_text(self, data: str) -> yaml.Node:
            style = None
            if _UNSEEN.search(data) or _MARK.search(data):
                style = '"'
            elif "\n" in data:
                style = "|" if data[:1].strip() else '"'
            return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)

    Dumper.add_representer(list, Dumper.represent_words)
    Dumper.add_representer(str, Dumper.represent_text)
    return Dumper
