"""Answers within a budget of tokens.

A tool fills its main text or list up to `Context.text_tokens`, and returns the call or the cursor that
continues it. If the complete answer is over the budget, its other fields are shortened to a part of the
budget. If it is still too long, the tool runs again with a lower limit. So nothing of the main text or list
is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from tools.budgets.shrink import CUT, shorten_text, shrink_fields
from tools.pages import exceeds, measure_text, measure_tokens
from tools.tool import Answer
from workspace.writing.read_before_write import SeenTexts

if TYPE_CHECKING:
    from tools.tool import Context, Data

MAIN_FIELDS = frozenset(
    (
        "batch_results",
        "changes",
        "chunks",
        "comments",
        "content",
        "description",
        "documents",
        "drift",
        "history",
        "hits",
        "lines",
        "matches",
        "outline",
        "paths",
        "proposals",
        "rendered",
        "reviews",
        "sections",
        "tables",
        "tasks",
        "traces",
    )
)
"""The texts and lists of answers that a call or a cursor continues."""

_POSITION_FIELDS = frozenset(
    (
        "code",
        "commit",
        "cursor",
        "error",
        "next_cursor",
        "next_offset",
        "next_operation",
        "offset",
        "truncated",
    )
)
"""The fields without which an answer cannot be continued, or its error not be corrected."""

_STEP_FIELD = "next_step"
_CONTINUATION_FIELDS = ("next_cursor", "cursor", "offset", "next_offset")
_MAX_STEP_SHARE = 0.2
_MAX_ATTEMPTS = 8
_FILL_SHARE = 0.95

# The fields that repeat others, or that matter least: they are left out first, in this order.
_DISPENSABLE_FIELDS = (
    "usage",
    "states",
    "titles",
    "confidence",
    "original",
    "coverage",
    "tokenizer",
    "blobs",
    "links",
    "hints",
)


class SeenTextsRecorder(SeenTexts):
    """The texts of an answer that may be discarded; `digests` count as read only if it is returned."""

    def __init__(self) -> None:
        super().__init__(1)
        self.digests: list[bytes] = []

    def add(self, digests: Iterable[bytes | None]) -> None:
        self.digests += [digest for digest in digests if digest is not None]


def measure_answer(answer: Answer) -> int:
    """Return an upper bound of the tokens of an answer: of its data as JSON, and of its text."""
    data_tokens = measure_tokens(answer.data)
    return data_tokens if answer.text is None else max(data_tokens, measure_text(answer.text))


def _exceeds(answer: Answer, budget: int) -> bool:
    """Return True if an answer may have more tokens than its budget."""
    return exceeds(answer.data, budget) or (
        answer.text is not None and len(answer.text) * 4 > budget and measure_text(answer.text) > budget
    )


def run_within_budget(run: Callable[[Context], Answer], context: Context, budget: int) -> Answer:
    """Return an answer with at most `budget` tokens. The tool runs again while its answer is too long.

    Raises the errors of the tool.
    """
    allowance, last_size = budget, 0
    for attempts_left in reversed(range(_MAX_ATTEMPTS)):
        recorder = None if context.seen_texts is None else SeenTextsRecorder()
        answer = run(replace(context, max_text_tokens=allowance, seen_texts=recorder))
        short_answer = _shorten_other_fields(answer, budget, is_last=allowance == 1)
        if not _exceeds(short_answer, budget):
            if recorder is not None and context.seen_texts is not None:
                context.seen_texts.add(recorder.digests)
            return short_answer
        if allowance == 1 or not attempts_left:
            break
        size = measure_answer(short_answer)
        if attempts_left <= 1:
            allowance = 1
        elif size == last_size:  # the tool counts fewer tokens, and has shortened nothing
            allowance = max(allowance // 2, 1)
        else:
            allowance = _compute_allowance(short_answer, size, allowance, budget)
        last_size = size
    return shorten_answer(short_answer, budget)


def _compute_allowance(answer: Answer, size: int, allowance: int, budget: int) -> int:
    """Return the next limit of the main texts and lists: lower in proportion to what is over the budget.

    `size` is the number of tokens of the answer.
    """
    main_size = measure_tokens({name: value for name, value in answer.data.items() if name in MAIN_FIELDS})
    main_budget = max(budget - max(size - main_size, 0), 1)
    # Other fields grow with the main ones, such as the call that continues them.
    share = min(main_budget / max(main_size, 1), budget / size)
    return max(min(int(min(allowance, main_size) * share * _FILL_SHARE), allowance - 1), 1)


def _shorten_other_fields(answer: Answer, budget: int, *, is_last: bool) -> Answer:
    """Return an answer whose fields other than the main ones have at most half of its budget.

    In the last attempt, they may have all that the main fields leave, if that is more.
    """
    if not _exceeds(answer, budget):
        return answer
    data = _shorten_step(answer.data, budget)
    main_size = measure_tokens({name: value for name, value in data.items() if name in MAIN_FIELDS})
    position_fields = {name: data[name] for name in data if name in _POSITION_FIELDS or name == _STEP_FIELD}
    other_budget = max(budget - main_size if is_last else 0, budget // 2) - measure_tokens(position_fields)
    dropped_fields: list[str] = []
    for name in _DISPENSABLE_FIELDS:
        if measure_tokens(_select_other_fields(data)) <= other_budget:
            break
        if name in data:
            dropped_fields.append(name)
            data = {other_name: value for other_name, value in data.items() if other_name != name}
    fixed_fields = MAIN_FIELDS | _POSITION_FIELDS | {_STEP_FIELD}
    if measure_tokens(_select_other_fields(data)) > other_budget:
        data = shrink_fields(data, other_budget, fixed_fields)
    if dropped_fields and measure_tokens(data) + measure_tokens([CUT, *dropped_fields]) <= budget:
        data = {**data, CUT: [*data.get(CUT, ()), *dropped_fields]}
    return replace(answer, data=data)


def _select_other_fields(data: Data) -> Data:
    return {
        name: value
        for name, value in data.items()
        if name not in MAIN_FIELDS and name not in _POSITION_FIELDS and name != _STEP_FIELD
    }


def _shorten_step(data: Data, budget: int) -> Data:
    """Return data with a short next step if the step itself would take too much of the budget."""
    step = data.get(_STEP_FIELD)
    if not isinstance(step, str) or measure_text(step) <= budget * _MAX_STEP_SHARE:
        return data
    position = next((name for name in _CONTINUATION_FIELDS if data.get(name) is not None), None)
    if position is None:
        return {**data, _STEP_FIELD: shorten_text(step, int(budget * _MAX_STEP_SHARE))}
    if "cursor" in position:
        return {**data, _STEP_FIELD: f"Repeat the call with this {position} as cursor"}
    # The next part must be of the same text, even if the document changes.
    ref = ", and this commit as ref" if '"ref"' in step else ""
    return {**data, _STEP_FIELD: f"Repeat the call with this {position} as offset{ref}"}


def shorten_answer(answer: Answer, budget: int) -> Answer:
    """Return an answer whose fields are all shortened to the budget, such as an error."""
    if not _exceeds(answer, budget):
        return answer
    data = _shorten_step(answer.data, budget)
    for name in _DISPENSABLE_FIELDS:
        if measure_tokens(data) <= budget:
            break
        data = {other_name: value for other_name, value in data.items() if other_name != name}
    for fixed_fields in (
        _POSITION_FIELDS | {_STEP_FIELD},
        frozenset(("commit", "next_cursor", "cursor", "offset")),
        (),
    ):
        if measure_tokens(data) <= budget:
            break
        fixed_data = {name: data[name] for name in data if name in fixed_fields}
        data = shrink_fields(data, budget - measure_tokens(fixed_data), fixed_fields)
    text = None if answer.text is None else _shorten_whole_text(answer.text, budget)
    return replace(answer, data=data, text=text)


def _shorten_whole_text(text: str, budget: int) -> str:
    return text if measure_text(text) <= budget else shorten_text(text, budget)
