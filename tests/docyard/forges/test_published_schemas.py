"""Requests of the adapters and responses of the local forge match the published API schemas.

GitHub's description comes from npm's `@octokit/openapi`. Gitea's and Forgejo's come from npm's `gitea-js`
1.23.0 and PyPI's `pyforgejo` 2.0.7, which are generated from them. Both describe the state of a review only
as text, so its values come from Gitea's source, `modules/structs/pull_review.go`.

For GitLab, npm's `@gitbeaker/core` and `@gitbeaker/rest` 43.8.0 contain TypeScript types, but do not state
that these are generated from GitLab's API description. So GitLab's schemas follow its documentation, and are
not checked here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from tests.docyard.forges.conftest import Setting
from tests.docyard.forges.local_forge import gitea_api, github_api
from tests.docyard.forges.local_forge.published_api import load_published
from tests.docyard.forges.local_forge.server import ReceivedRequest
from tests.loops import loop_over

PUBLISHED = {
    "github": (github_api.PREFIX, ["github"]),
    "gitea": (gitea_api.PREFIX, ["gitea", "forgejo"]),
}


@pytest.mark.parametrize("shared_setting", PUBLISHED, indirect=True)
def test_requests_and_responses_match_published_schemas(setting: Setting) -> None:
    pull_request = setting.open_pull_request(setting.branch(file="published.md"))
    state = setting.local.state
    for verdict in ("approved", "changes_requested", "commented", "dismissed"):
        state.review(pull_request.number, "bea", verdict, "Said.")
    state.comment(pull_request.number, "cid", "Said too.")
    setting.forge.comment(pull_request.number, "And this.")
    setting.forge.find(pull_request.head_branch, "main")
    setting.forge.update(pull_request.number, title="Another", body="Text")
    setting.forge.close(pull_request.number)
    setting.forge.update(pull_request.number, state="open")
    setting.forge.list_reviews(pull_request.number)
    setting.forge.list_comments(pull_request.number)
    setting.forge.list_open("main")
    setting.forge.get(pull_request.number)
    state.merge(pull_request.number, None, "Merge it", "ana")
    setting.forge.find(pull_request.head_branch, "main")
    prefix, names = PUBLISHED[setting.local.kind]
    for name in names:
        operations = {check_request(name, request, prefix) for request in setting.local.received}
        assert operations == set(load_published(name)["operations"])


def check_request(publisher: str, request: ReceivedRequest, prefix: str) -> str:
    """Check a request, its query and its response against the published schemas; return its operation."""
    for name, operation in load_published(publisher)["operations"].items():
        if operation["method"] == request.method.lower() and _matches_path(
            prefix + operation["path"], request.path
        ):
            assert request.status == operation.get("status", request.status)
            assert 200 <= request.status < 300
            check_schema(publisher, operation["answer"], request.answer)
            if request.body is not None:
                check_schema(publisher, operation["request"], request.body)
                assert request.body.keys() <= operation["request"]["properties"].keys()
            check_query(publisher, operation["queries"], request.query)
            return str(name)
    raise AssertionError(f"{publisher} has no {request.method} {request.path}")


def _matches_path(template: str, path: str) -> bool:
    """Return True if a path matches an operation's template. A branch at the end may contain slashes."""
    pattern = re.escape(template)
    pattern = re.sub(r"\\\{(index|\w+_number)\\\}", r"\\d+", pattern)
    pattern = pattern.replace(r"\{head\}", ".+")
    return re.fullmatch(re.sub(r"\\\{\w+\\\}", "[^/]+", pattern), path) is not None


def check_query(publisher: str, known: Mapping[str, Any], query: Mapping[str, str]) -> None:
    assert query.keys() <= known.keys()
    for name, value in query.items():
        check_schema(publisher, known[name], int(value) if known[name]["type"] == "integer" else value)


def check_schema(publisher: str, schema: Mapping[str, Any], value: object) -> None:
    whole = {"schemas": load_published(publisher)["schemas"], **schema}
    errors = [error.message for error in Draft202012Validator(whole).iter_errors(value)]
    assert errors == []


def test_response_with_another_shape_fails_the_check() -> None:
    """Check that the schema check itself can fail."""
    example = load_published("github")["examples"]["pull-request"]
    operations = load_published("github")["operations"]
    with pytest.raises(AssertionError):
        check_schema("github", operations["get"]["answer"], {**example, "number": "1"})
    with pytest.raises(AssertionError):
        check_schema("github", operations["update"]["request"], {"state": "ajar"})


@loop_over("publisher", ["gitea", "forgejo"])
@loop_over(
    "answer",
    [{"number": "1"}, {"head": {"sha": 1}}, {"user": {"username": "ana"}}, {"merge_commit_id": "e" * 40}],
    ids=["a type", "a type below", "a name below", "a name"],
)
def test_response_unknown_to_gitea_fails_the_check(publisher: str, answer: dict[str, Any]) -> None:
    operations = load_published(publisher)["operations"]
    check_schema(publisher, operations["get"]["answer"], {"number": 1, "head": {"sha": "e" * 40}})
    with pytest.raises(AssertionError):
        check_schema(publisher, operations["get"]["answer"], answer)
    with pytest.raises(AssertionError):
        check_query(publisher, operations["comments"]["queries"], {"limit": "50"})
