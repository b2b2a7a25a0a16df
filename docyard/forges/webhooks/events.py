"""Events of webhooks. Their content is not trusted: only the repository and a branch or number are read.

event                   GitHub, Gitea                           GitLab
a branch moved          push, create, delete                    Push Hook
a pull request changed  pull_request, …                         Merge Request Hook
a review, or a comment  pull_request_review, …, issue_comment   Note Hook
a test of the webhook   ping
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

_EVENT_HEADERS = {
    "github": ("x-github-event",),
    "gitea": ("x-gitea-event", "x-forgejo-event", "x-github-event"),
    "gitlab": ("x-gitlab-event",),
}

_PUSH_EVENTS = ("push", "create", "delete", "Push Hook")
_MERGE_REQUEST_EVENTS = ("Merge Request Hook", "Note Hook")
_MAX_NAME_CHARS = 1_000


class EventScope(NamedTuple):
    """The pull requests to check, named by branch or by number; both fields are empty for a push."""

    branches: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()

    @property
    def is_push(self) -> bool:
        """Return True if a branch or tag changed."""
        return not self.branches and not self.numbers


PING = EventScope()
"""The scope of a test event, which a forge sends to check the URL."""


def read_event_name(forge: str, headers: Mapping[str, str]) -> str:
    """Return the name of a webhook's event; empty if the headers have none."""
    return next((headers[name] for name in _EVENT_HEADERS[forge] if headers.get(name)), "")[:_MAX_NAME_CHARS]


def read_repository(forge: str, data: Mapping[str, Any]) -> str | None:
    """Return the path of a webhook's repository, such as `owner/name`; None if it is missing."""
    if forge == "gitlab":
        path = _get_object(data, "project").get("path_with_namespace")
    else:
        path = _get_object(data, "repository").get("full_name")
    return path if isinstance(path, str) and 0 < len(path) <= _MAX_NAME_CHARS else None


def parse_event(forge: str, event: str, data: Mapping[str, Any]) -> EventScope | None:
    """Return the scope of an event; None for an event that needs no exchange."""
    if event == "ping":
        return PING
    if event in _PUSH_EVENTS:
        return EventScope()
    if forge == "gitlab":
        if event not in _MERGE_REQUEST_EVENTS:
            return None
        pull_request = _get_object(
            data, "object_attributes" if event == "Merge Request Hook" else "merge_request"
        )
        return _build_scope(pull_request.get("source_branch"), pull_request.get("iid"))
    if event.startswith("pull_request"):
        pull_request = _get_object(data, "pull_request")
        return _build_scope(
            _get_object(pull_request, "head").get("ref"), pull_request.get("number") or data.get("number")
        )
    if event == "issue_comment":
        issue = _get_object(data, "issue")
        is_pull_request = isinstance(issue.get("pull_request"), dict) or data.get("is_pull") is True
        return _build_scope(None, issue.get("number")) if is_pull_request else None
    return None


def _build_scope(branch: object, number: object) -> EventScope | None:
    if isinstance(branch, str) and 0 < len(branch) <= _MAX_NAME_CHARS:
        return EventScope(branches=(branch,))
    if isinstance(number, int) and not isinstance(number, bool) and 0 < number < 10**12:
        return EventScope(numbers=(number,))
    return None


def _get_object(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = data.get(name)
    return value if isinstance(value, dict) else {}
