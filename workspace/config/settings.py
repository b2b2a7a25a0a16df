"""What may change only by review: the `[[protect]]` tables of `docyard.toml`."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from workspace.globs import problem

Check = Literal["links", "anchors", "types", "tasks"]
"""What can be asked of the result of a merge: that it makes none of this worse than it is."""

ALL_CHECKS: tuple[Check, ...] = ("links", "anchors", "types", "tasks")
MAX_RULES = 500
MAX_NAMES = 100
"""How many globs, types or names one list of a rule holds at most."""

TOKEN_NAME = re.compile("[a-z0-9][a-z0-9.-]{0,38}")
"""What a token is called. Lower case alone, so that no two differ only in case."""

_SHOWN = 100


def _visible(text: str) -> str:
    shown = text[:_SHOWN]
    return shown if shown.isprintable() else ascii(shown)[1:-1]


def _glob(value: str) -> str:
    reason = problem(value) or _unreachable(value)
    if reason:
        raise ValueError(f"'{_visible(value)}' {reason}")
    return value


def _unreachable(value: str) -> str | None:
    # Such a rule would protect nothing, and say nothing of it.
    folders = value.rstrip("/").split("/")
    return "has a folder that is empty or `.`, as no path has" if {"", "."} & {*folders} else None


def _type(value: str) -> str:
    if not value.strip() or value != " ".join(value.split()):
        raise ValueError(f"'{_visible(value)}' is no name of a type")
    return value


def _token(value: str) -> str:
    if not TOKEN_NAME.fullmatch(value):
        raise ValueError(f"'{_visible(value)}' is no token's name: lower-case letters, digits, '.' and '-'")
    return value


def _once(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


Names = Annotated[tuple[Annotated[str, AfterValidator(_token)], ...], AfterValidator(_once)]
"""Names of tokens, each once. Whether there are such tokens is not known here."""


class Protection(BaseModel):
    """A rule: what it governs changes only by a proposal, and what that needs before it is merged.

    It governs the documents that `paths` (globs) match and that have one of `types`, before the change or
    after it; an empty list stands for all. `approvals` counts people, of `approvers` if any are named, and
    never the proposal's own authors; of `merge`, if any are named, one must merge it. `checks` must pass.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    paths: tuple[Annotated[str, AfterValidator(_glob)], ...] = Field(default=(), max_length=MAX_NAMES)
    types: tuple[Annotated[str, AfterValidator(_type)], ...] = Field(default=(), max_length=MAX_NAMES)
    # Before `approvals`, which is held against it.
    approvers: Names = Field(default=(), max_length=MAX_NAMES)
    approvals: int = Field(default=1, ge=0, le=20, strict=True)
    merge: Names = Field(default=(), max_length=MAX_NAMES)
    checks: tuple[Check, ...] = ALL_CHECKS

    @field_validator("approvals")
    @classmethod
    def _attainable(cls, value: int, info: ValidationInfo) -> int:
        approvers = info.data.get("approvers", ())
        if approvers and value > len(approvers):
            raise ValueError(f"must be at most {len(approvers)}, the number of approvers")
        return value


def listed(value: object) -> object:
    """The tables as they are read. Raises ValueError for what is no list of them, or is too long."""
    if not isinstance(value, (list, tuple)):
        raise ValueError("must be a list of tables: write each rule below [[protect]]")
    if len(value) > MAX_RULES:
        raise ValueError(f"must have at most {MAX_RULES} rules, and has {len(value)}")
    return value
