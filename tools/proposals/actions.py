"""What can be done with a proposal: each action's fields, and what it does, as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tools.arguments import InvalidArguments
from workspace.document.addresses import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping


class Action(NamedTuple):
    """An action: its fields beside `proposal`, `action` and `idempotency_key`, and what it does.

    `decisive` are fields that no other action has, so that a call that gives one need not name the action.
    """

    name: str
    needs: tuple[str, ...]
    may_have: tuple[str, ...]
    about: str
    decisive: tuple[str, ...] = ()

    @property
    def fields(self) -> str:
        """Its fields in brief: `text, file?, slug?`."""
        return ", ".join((*self.needs, *(f"{name}?" for name in self.may_have)))


_ALL = (
    Action("submit", (), (), "asks for a review of what the proposal is now"),
    Action(
        "comment",
        ("text",),
        ("file", "slug", "quote", "reply_to"),
        "says something of the proposal, of a document or section, of words quoted from it, or in answer to "
        "another comment",
        ("file", "slug", "quote", "reply_to"),
    ),
    Action(
        "refresh",
        (),
        ("resolutions", "commit", "target_commit"),
        "merges the target's tip into the proposal; conflicts are decided by resolutions: each a conflict as "
        "it is shown, with choice: ours (the proposal's), theirs (the target's) or content, and content "
        "then; with them the commit and the target_commit that they were shown with",
        ("resolutions", "target_commit"),
    ),
    Action("approve", (), ("text", "commit"), "a person's consent to the proposal as it is at a commit"),
    Action("request_changes", ("text",), ("commit",), "says what has to change before it can be merged"),
    Action("merge", (), ("commit",), "merges it into its target, if its policy allows and nothing conflicts"),
    Action("close", (), ("text",), "gives it up; its words and its branch stay"),
    Action("reopen", (), ("text",), "takes it up again"),
    Action("edit", (), ("title", "description"), "changes what it is called", ("title", "description")),
)

ACTIONS: Mapping[str, Action] = {action.name: action for action in _ALL}


def meant(given: Mapping[str, object]) -> Action | None:
    """The action that a call names, or that its fields decide; None if they leave it open.

    Raises InvalidArguments for one that is not known, for a field of another one, and for a missing one.
    """
    name = given.get("action")
    action = _named(name) if isinstance(name, str) and name else _decided(given)
    if action is None:
        return None
    known = {"proposal", "action", "idempotency_key", *action.needs, *action.may_have}
    for field in given:
        if field not in known:
            raise InvalidArguments(
                f"'{field}' is no field of {action.name}",
                fix=f"It takes {action.fields or 'no other field'}.",
                field=field,
            )
    for field in action.needs:
        if not given.get(field):
            raise InvalidArguments(f"'{field}' is missing", fix=f"Give '{field}'.", field=field)
    if action.name == "edit" and not {"title", "description"} & given.keys():
        raise InvalidArguments(
            "neither 'title' nor 'description' is given", fix="Give the one that changes.", field="title"
        )
    return action


def likely(given: Mapping[str, object]) -> Action | None:
    """The action that a wrong call most likely means."""
    name = given.get("action")
    if isinstance(name, str) and name:
        near = nearest(name, ACTIONS)
        return ACTIONS.get(name) or (ACTIONS[near[0]] if near else None)
    return next((action for action in _ALL if set(action.decisive) & given.keys()), None)


def _named(name: str) -> Action:
    found = ACTIONS.get(name)
    if found is None:
        near = nearest(name, ACTIONS)
        fix = f"Did you mean '{near[0]}'?" if near else f"There are {', '.join(ACTIONS)}."
        raise InvalidArguments(f"no action '{name[:100]}'", fix=fix, field="action", nearest=near)
    return found


def _decided(given: Mapping[str, object]) -> Action | None:
    found = [action for action in _ALL if set(action.decisive) & given.keys()]
    if len(found) > 1:
        names = " or ".join(action.name for action in found)
        raise InvalidArguments(f"the fields fit {names}", fix="Give 'action'.", field="action")
    return found[0] if found else None
