"""Values of front matter that the schema of searches does not list, or by which no search is filtered.

They are too long, too many, not text, or have invisible characters (`docs/taxonomy.md`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.config.taxonomy import MAX_VALUES, read_values
from workspace.validation.characters import find_invisible_characters, is_character_needed
from workspace.validation.rule import ByteFinding, Rule, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.validation.rule import RuleContext

_MAX_VALUE_CHARACTERS = 128
_MAX_SHOWN_CHARACTERS = 40


def _find_problems(context: RuleContext) -> Iterator[ByteFinding]:
    metadata = context.document.front_matter
    for key in context.config.taxonomy_keys:
        if key not in metadata:
            continue
        start, end = context.front_matter_keys.get(key, (0, 0))
        for message, fix in _describe_problems(key, metadata[key]):
            yield ByteFinding(start, end, message, fix)


def _describe_problems(key: str, value: object) -> Iterator[tuple[str, str]]:
    items = value.split(",") if key == "tags" and isinstance(value, str) else value
    values = items if isinstance(items, list) else [items]
    if len(values) > MAX_VALUES:
        yield (
            f"'{key}' has {len(values):,} values, and only the first {MAX_VALUES} can be searched for",
            "Use only those that people search for.",
        )
    if any(isinstance(item, (dict, list, set, bytes)) for item in values):
        yield f"a value of '{key}' is not text, so no search can be filtered by it", "Write words or numbers."
    for text in read_values(key, value):
        if len(text) > _MAX_VALUE_CHARACTERS:
            shown_text = text[:_MAX_SHOWN_CHARACTERS]
            yield (
                f"a value of '{key}' has {len(text)} characters ('{shown_text}…'); "
                f"up to {_MAX_VALUE_CHARACTERS} are listed",
                "Shorten the value.",
            )
        data = text.encode()
        if any(not is_character_needed(data, *occurrence) for occurrence in find_invisible_characters(data)):
            yield f"a value of '{key}' contains invisible characters", "Remove these characters."


RULE = Rule(
    "taxonomy-limit",
    Severity.WARNING,
    "A taxonomy key has too many values, or a value that is too long, hidden or not text.",
    _find_problems,
)
