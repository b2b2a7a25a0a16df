"""Shorter data of an answer: long texts end with an ellipsis, and long lists lose their last entries."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tools.pages import count_surely_fitting_characters, measure_tokens

if TYPE_CHECKING:
    from tools.tool import Data

CUT = "cut"
"""The field of an answer that names the fields that were shortened or left out."""

EXACT_FIELDS = frozenset(
    (
        "address",
        "chunk_id",
        "comment",
        "commit",
        "file",
        "filepath",
        "id",
        "next_cursor",
        "path",
        "proposal",
        "rest",
        "review",
        "score",
        "slug",
        "success",
    )
)
"""The fields that are shown in full or left out."""

# The fields of an entry that repeat others or matter least, in the order in which they are left out.
_DISPENSABLE_NAMES = (
    "metadata",
    "author",
    "filepath",
    "breadcrumb",
    "branch",
    "lines",
    "tasks",
    "heading",
    "client",
    "tool",
    "target",
    "rest",
)
_MIN_VALUE_TOKENS = 6
_MIN_FIELD_TOKENS = 12
_MAX_ATTEMPTS = 12


def shrink_fields(data: Data, tokens: int, fixed_fields: Collection[str]) -> Data:
    """Return data whose fields, except the fixed ones, have at most `tokens` tokens together.

    `cut` names the fields that were shortened or left out. Numbers are not shortened.
    """
    earlier_cuts = data.get(CUT, [])
    variable_fields = {
        name: value for name, value in data.items() if name not in fixed_fields and name != CUT
    }
    goal = max(tokens, 0)
    for _ in range(_MAX_ATTEMPTS):
        short_fields = _shrink_mapping(variable_fields, goal)
        cut_names = [name for name in variable_fields if short_fields.get(name) != variable_fields[name]]
        cut_field = {CUT: [*dict.fromkeys((*earlier_cuts, *cut_names))]}
        if not goal or measure_tokens({**short_fields, **cut_field}) <= tokens:
            break
        goal = goal * 4 // 5
    shown_fields = {
        name: short_fields.get(name, data[name])
        for name in data
        if name in short_fields or (name in fixed_fields and name != CUT)
    }
    is_cut_shown = measure_tokens(cut_field) <= max(tokens, 0)
    return {**shown_fields, **cut_field} if is_cut_shown else shown_fields


def shrink_value(value: Any, tokens: int) -> Any:
    """Return a value with about `tokens` tokens at most: a short text, or the first entries of a list."""
    if measure_tokens(value) <= tokens:
        return value
    match value:
        case str():
            return shorten_text(value, tokens)
        case Mapping():
            return _shrink_mapping(value, tokens)
        case list() | tuple():
            return _shrink_list(value, tokens)
        case _:
            return value


def shorten_text(text: str, tokens: int) -> str:
    """Return the beginning of a text with an ellipsis, in about `tokens` tokens at most."""
    # JSON escapes a line end or a quotation mark with one more character.
    size = count_surely_fitting_characters(text, max(tokens - 4, 0))
    while size and measure_tokens(text[:size]) + 2 > max(tokens, 2):
        size = size * 4 // 5
    return text if size >= len(text) else text[:size] + "…"


def _shrink_list(values: Sequence[Any], tokens: int) -> list[Any]:
    """Return the first values that fit; else the first one, shortened, or none for very few tokens."""
    shown_values: list[Any] = []
    remaining_tokens = tokens - 2
    for value in values:
        remaining_tokens -= measure_tokens(value) + 1
        if remaining_tokens < 0:
            break
        shown_values.append(value)
    if not shown_values and values:
        return [shrink_value(values[0], tokens - 2)] if tokens > _MIN_VALUE_TOKENS else []
    return shown_values


def _shrink_mapping(values: Mapping[str, Any], tokens: int) -> dict[str, Any]:
    """Return a mapping in which the largest values are shortened to the same size, and others left out.

    Names of documents, sections and commits are not shortened, because a shortened name names nothing.
    """
    names = list(values)
    sizes = {name: measure_tokens({name: values[name]}) for name in names}
    dispensable_names = [name for name in _DISPENSABLE_NAMES if name in sizes]
    while names:
        exact_names = [name for name in names if name in EXACT_FIELDS]
        short_names = [name for name in names if name not in EXACT_FIELDS]
        budget = tokens - 2 - sum(sizes[name] for name in exact_names)
        level = _find_level([sizes[name] for name in short_names], budget)
        if budget >= 0 and (not short_names or level >= _MIN_FIELD_TOKENS):
            return {
                name: values[name]
                if name in exact_names or sizes[name] <= level
                else shrink_value(values[name], level - measure_tokens(name) - 2)
                for name in names
            }
        names.remove(dispensable_names.pop(0) if dispensable_names else (short_names or names)[-1])
    return {}


def _find_level(sizes: Iterable[int], budget: int) -> int:
    """Return the largest size to which all larger ones are reduced so that the sum fits."""
    ascending_sizes = sorted(sizes)
    remaining_budget, level = budget, budget
    for index, size in enumerate(ascending_sizes):
        level = remaining_budget // (len(ascending_sizes) - index)
        if size > level:
            return level
        remaining_budget -= size
    return max(level, ascending_sizes[-1]) if ascending_sizes else level
