"""Fields: list items such as `- Criteria: …` that begin with a name and a colon, in a task or a section."""

from __future__ import annotations

import re
from collections.abc import Iterable


def build_name_pattern(names: Iterable[str]) -> str:
    """Return the pattern of a field's name with its colon; group 1 is the name.

    Compile it with re.IGNORECASE.
    """
    choices = "|".join(names).replace(" ", r"[ \t]+")
    return rf"[*_]{{0,2}}({choices})[*_]{{0,2}}[ \t]*:"


def compile_field(names: Iterable[str]) -> re.Pattern[str]:
    """Return the compiled pattern of a field with one of some names: group 1 is the name, 2 the value."""
    return re.compile(build_name_pattern(names) + r"[*_]{0,2}[ \t]*(.*)", re.IGNORECASE | re.DOTALL)


def split_entries(value: str) -> tuple[str, ...]:
    """Return the parts of a value that are separated by commas, without code marks around them."""
    entries = (entry.strip(" \t\n`") for entry in value.split(","))
    return tuple(dict.fromkeys(filter(None, entries)))
