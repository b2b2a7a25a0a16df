"""What a webhook asks for: a fetch, or a look at a pull request too. Nothing else of it is believed.

event                          GitHub, Gitea                    GitLab
the branch moved               push, create, delete             Push Hook
a pull request                 pull_request, …                  Merge Request Hook
a review, or a comment on one  pull_request_review, …, issue_comment   Note Hook
it is only tried out           ping
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

_EVENTS = {
    "github": ("x-github-event",),
    "gitea": ("x-gitea-event", "x-forgejo-event", "x-github-event"),
    "gitlab": ("x-gitlab-event",),
}
_PUSHES = ("push", "create", "delete", "Push Hook")
_REQUESTS = ("Merge Request Hook", "Note Hook")
_MOST = 1_000


class Asked(NamedTuple):
    """What is to be looked at: the branches, or the numbers, of pull requests; neither for a push alone."""

    branches: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()


PING = Asked()
"""Nothing at all: a forge tries whether the address answers."""


def event_of(forge: str, headers: Mapping[str, str]) -> str:
    """The name of a webhook's event; empty where it has none."""
    return next((headers[name] for name in _EVENTS[forge] if headers.get(name)), "")[:_MOST]


def repository_of(forge: str, data: Mapping[str, Any]) -> str | None:
    """The path of the repository that a webhook is about, such as `owner/name`."""
    if forge == "gitlab":
        found = _object(data, "project").get("path_with_namespace")
    else:
        found = _object(data, "repository").get("full_name")
    return found if isinstance(found, str) and 0 < len(found) <= _MOST else None


def asked_of(forge: str, event: str, data: Mapping[str, Any]) -> Asked | None:
    """What an event asks for; None for one that is of no interest here."""
    if event == "ping":
        return PING
    if event in _PUSHES:
        return Asked()
    if forge == "gitlab":
        if event not in _REQUESTS:
            return None
        own = _object(data, "object_attributes" if event == "Merge Request Hook" else "merge_request")
        return _named(own.get("source_branch"), own.get("iid"))
    if event.startswith("pull_request"):
        own = _object(data, "pull_request")
        return _named(_object(own, "head").get("ref"), own.get("number") or data.get("number"))
    if event == "issue_comment":
        issue = _object(data, "issue")
        is_request = isinstance(issue.get("pull_request"), dict) or data.get("is_pull") is True
        return _named(None, issue.get("number")) if is_request else None
    return None


def _named(branch: object, number: object) -> Asked | None:
    if isinstance(branch, str) and 0 < len(branch) <= _MOST:
        return Asked(branches=(branch,))
    if isinstance(number, int) and not isinstance(number, bool) and 0 < number < 10**12:
        return Asked(numbers=(number,))
    return None


def _object(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = data.get(name)
    return found if isinstance(found, dict) else {}
