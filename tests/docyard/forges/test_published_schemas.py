"""Requests of the clients and responses of the local forge match the published API schemas.

GitHub's description comes from npm's `@octokit/openapi`. Gitea's and Forgejo's come from npm's `gitea-js`
1.23.0 and PyPI's `pyforgejo` 2.0.7, which are generated from the descriptions. Both describe the state of a
review only as text, so its values come from Gitea's source, `modules/structs/pull_review.go`.

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

from tests.docyard.forges.conftest import ForgeClientSetup
from tests.docyard.forges.local_forge import gitea_api, github_api
from tests.docyard.forges.local_forge.published_api import load_published
from tests.docyard.forges.local_forge.server import ReceivedRequest
from tests.loops import loop_over

PUBLISHERS_BY_KIND = {
    "github": (github_api.PREFIX, ["github"]),
    "gitea": (gitea_api.PREFIX, ["gitea", "forgejo"]),
}


@pytest.mark.parametrize("shared_forge_setup", PUBLISHERS_BY_KIND, indirect=True)
def test_requests_and_responses_match_published_schemas(forge_setup: ForgeClientSetup) -> None:
    pull_request = forge_setup.open_pull_request(forge_setup.create_branch(file="published.md"))
    state = forge_setup.local_forge.state
    for verdict in ("approved", "changes_requested", "commented", "dismissed"):
        state.review(pull_request.number, "bea", verdict, "A review.")
    state.comment(pull_request.number, "cid", "A comment.")
    forge_setup.forge.comment(pull_request.number, "Another comment.")
    forge_setup.forge.find(pull_request.head_branch, "main")
    forge_setup.forge.update(pull_request.number, title="Another", body="Text")
    forge_setup.forge.close(pull_request.number)
    forge_setup.forge.update(pull_request.number, state="open")
    forge_setup.forge.list_reviews(pull_request.number)
    forge_setup.forge.list_comments(pull_request.number)
    forge_setup.forge.list_open("main")
    forge_setup.forge.get(pull_request.number)
    state.merge(pull_request.number, None, "Merge it", "ana")
    forge_setup.forge.find(pull_request.head_branch, "main")
    prefix, publishers = PUBLISHERS_BY_KIND[forge_setup.local_forge.kind]
    for publisher in publishers:
        operations = {
            check_request(publisher, request, prefix) for request in forge_setup.local_forge.requests
        }
        assert operations == set(load_published(publisher)["operations"])


def check_request(publisher: str, request: ReceivedRequest, prefix: str) -> str:
    """Check a request, its query and its response against the published schemas; return its operation."""
    for name, operation in load_published(publisher)["operations"].items():
        if operation["method"] == request.method.lower() and _matches_path(
            prefix + operation["path"], request.path
        ):
            assert request.status == operation.get("status", request.status)
            assert 200 <= request.status < 300
            check_schema(publisher, operation["answer"], request.response)
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


def check_query(publisher: str, parameters: Mapping[str, Any], query: Mapping[str, str]) -> None:
    assert query.keys() <= parameters.keys()
    for name, value in query.items():
        check_schema(
            publisher, parameters[name], int(value) if parameters[name]["type"] == "integer" else value
        )


def check_schema(publisher: str, schema: Mapping[str, Any], value: object) -> None:
    full_schema = {"schemas": load_published(publisher)["schemas"], **schema}
    errors = [error.message for error in Draft202012Validator(full_schema).iter_errors(value)]
    assert errors == []


def test_schema_check_rejects_invalid_request_and_response() -> None:
    """Check that the schema check itself can fail."""
    example = load_published("github")["examples"]["pull-request"]
    operations = load_published("github")["operations"]
    with pytest.raises(AssertionError):
        check_schema("github", operations["get"]["answer"], {**example, "number": "1"})
    with pytest.raises(AssertionError):
        check_schema("github", operations["update"]["request"], {"state": "unknown"})


@loop_over("publisher", ["gitea", "forgejo"])
@loop_over(
    "response",
    [{"number": "1"}, {"head": {"sha": 1}}, {"user": {"username": "ana"}}, {"merge_commit_id": "e" * 40}],
    ids=["type", "nested-type", "nested-name", "name"],
)
def test_schema_check_rejects_response_with_invalid_or_unknown_fields(
    publisher: str, response: dict[str, Any]
) -> None:
    operations = load_published(publisher)["operations"]
    check_schema(publisher, operations["get"]["answer"], {"number": 1, "head": {"sha": "e" * 40}})
    with pytest.raises(AssertionError):
        check_schema(publisher, operations["get"]["answer"], response)
    with pytest.raises(AssertionError):
        check_query(publisher, operations["comments"]["queries"], {"limit": "50"})
