"""A decorator that runs all cases of a test as one pytest item; an item takes longer than most cases."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

Test = Callable[..., None]


def loop_over(
    names: str | Sequence[str],
    cases: Iterable[Any],
    *,
    ids: Iterable[str] | Callable[[Any], object] | None = None,
) -> Callable[[Test], Test]:
    """Call a test for each case, in one item. The parameters are those of `pytest.mark.parametrize`.

    All cases are run. The error of the first failed case is raised, with notes that name each failed case.
    The cases share the fixtures, except `tmp_path`: each case receives its own subfolder.
    """
    argument_names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    is_single = len(argument_names) == 1 and isinstance(names, str)
    cases = list(cases)
    values = [_read_values(case, is_single=is_single) for case in cases]
    assert values, f"there are no cases for {', '.join(argument_names)}"
    assert all(len(case) == len(argument_names) for case in values), (
        f"each case must have {len(argument_names)} values"
    )
    case_ids = ids if ids is None or callable(ids) else list(ids)

    def format_case_title(number: int) -> str:
        if isinstance(case_id := getattr(cases[number], "id", None), str):
            return case_id
        if case_ids is None or callable(case_ids):
            parts = (value if case_ids is None else case_ids(value) for value in values[number])
            return ", ".join(part if isinstance(part, str) else repr(part) for part in parts)[:400]
        return case_ids[number]

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            folder: Path | None = fixtures.get("tmp_path")
            failures: list[tuple[int, BaseException]] = []
            for number, case in enumerate(values):
                if folder is not None:
                    fixtures["tmp_path"] = folder / str(number)
                    fixtures["tmp_path"].mkdir()
                try:
                    test(**fixtures, **dict(zip(argument_names, case, strict=True)))
                except (Exception, pytest.fail.Exception) as error:
                    failures.append((number, error))
            if failures:
                first_error = failures[0][1]
                for number, error in failures:
                    reason = "" if error is first_error else f": {type(error).__name__}: {error}"[:400]
                    first_error.add_note(f"case {number} ({format_case_title(number)}){reason}")
                raise first_error

        signature = inspect.signature(test)
        missing = [name for name in argument_names if name not in signature.parameters]
        assert not missing, f"{test.__name__} has no parameter {', '.join(missing)}"
        other_parameters = [
            parameter for name, parameter in signature.parameters.items() if name not in argument_names
        ]
        run.__signature__ = signature.replace(parameters=other_parameters)  # type: ignore[attr-defined]
        return run

    return decorate


def _read_values(case: Any, *, is_single: bool) -> tuple[Any, ...]:
    if isinstance(case, type(pytest.param())):
        assert not case.marks, "a case of a loop cannot have marks"
        return tuple(case.values)
    return (case,) if is_single else tuple(case)
