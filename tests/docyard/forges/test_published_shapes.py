"""What forges publish of their API holds what we ask and what the local forge answers.

GitHub's own description is taken from npm's `@octokit/openapi`. Gitea's and Forgejo's are taken from npm's
`gitea-js` 1.23.0 and PyPI's `pyforgejo` 2.0.7, which are generated from them. Both say of a review's state
only that it is text, so its words are those of Gitea's source, `modules/structs/pull_review.go`.

Of GitLab, npm's `@gitbeaker/core` and `@gitbeaker/rest` 43.8.0 were looked at: they have types for
TypeScript, and nothing in them says that these are made from what GitLab publishes. So GitLab's shapes are
those of its documentation, and no test holds them to more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from tests.docyard.forges.conftest import Setting
from tests.docyard.forges.local_forge import gitea_api, github_api
from tests.docyard.forges.local_forge.published import published
from tests.docyard.forges.local_forge.server import Asked
from tests.loops import loop_over

PUBLISHED = {
    "github": (github_api.PREFIX, ["github"]),
    "gitea": (gitea_api.PREFIX, ["gitea", "forgejo"]),
}


@pytest.mark.parametrize("started", PUBLISHED, indirect=True)
def test_every_request_and_answer_is_as_it_is_published(setting: Setting) -> None:
    one = setting.opened(setting.branch(file="published.md"))
    state = setting.local.state
    for verdict in ("approved", "changes_requested", "commented", "dismissed"):
        state.review(one.number, "bea", verdict, "Said.")
    state.comment(one.number, "cid", "Said too.")
    setting.forge.comment(one.number, "And this.")
    setting.forge.find(one.head_branch, "main")
    setting.forge.update(one.number, title="Another", body="Text")
    setting.forge.close(one.number)
    setting.forge.update(one.number, state="open")
    setting.forge.reviews(one.number)
    setting.forge.comments(one.number)
    setting.forge.list_open("main")
    setting.forge.get(one.number)
    state.merge(one.number, None, "Merge it", "ana")
    setting.forge.find(one.head_branch, "main")
    prefix, names = PUBLISHED[setting.local.kind]
    for name in names:
        seen = {check(name, asked, prefix) for asked in setting.local.asked}
        assert seen == set(published(name)["operations"])


def check(publisher: str, asked: Asked, prefix: str) -> str:
    """The operation of a request; it, its answer and its query are held to what is published."""
    for name, operation in published(publisher)["operations"].items():
        if operation["method"] == asked.method.lower() and _pattern(prefix + operation["path"], asked.path):
            assert asked.status == operation.get("status", asked.status)
            assert 200 <= asked.status < 300
            held(publisher, operation["answer"], asked.answer)
            if asked.body is not None:
                held(publisher, operation["request"], asked.body)
                assert asked.body.keys() <= operation["request"]["properties"].keys()
            check_query(publisher, operation["queries"], asked.query)
            return str(name)
    raise AssertionError(f"{publisher} has no {asked.method} {asked.path}")


def _pattern(template: str, path: str) -> bool:
    """Whether a path is of this operation. A number has digits; a branch at the end may have slashes."""
    pattern = re.escape(template)
    pattern = re.sub(r"\\\{(index|\w+_number)\\\}", r"\\d+", pattern)
    pattern = pattern.replace(r"\{head\}", ".+")
    return re.fullmatch(re.sub(r"\\\{\w+\\\}", "[^/]+", pattern), path) is not None


def check_query(publisher: str, known: Mapping[str, Any], query: Mapping[str, str]) -> None:
    assert query.keys() <= known.keys()
    for name, value in query.items():
        held(publisher, known[name], int(value) if known[name]["type"] == "integer" else value)


def held(publisher: str, schema: Mapping[str, Any], value: object) -> None:
    whole = {"schemas": published(publisher)["schemas"], **schema}
    errors = [error.message for error in Draft202012Validator(whole).iter_errors(value)]
    assert errors == []


def test_an_answer_of_another_shape_is_seen() -> None:
    """The check itself can fail."""
    example = published("github")["examples"]["pull-request"]
    operations = published("github")["operations"]
    with pytest.raises(AssertionError):
        held("github", operations["get"]["answer"], {**example, "number": "1"})
    with pytest.raises(AssertionError):
        held("github", operations["update"]["request"], {"state": "ajar"})


@loop_over("publisher", ["gitea", "forgejo"])
@loop_over(
    "answer",
    [{"number": "1"}, {"head": {"sha": 1}}, {"user": {"username": "ana"}}, {"merge_commit_id": "e" * 40}],
    ids=["a type", "a type below", "a name below", "a name"],
)
def test_what_gitea_does_not_publish_is_seen(publisher: str, answer: dict[str, Any]) -> None:
    operations = published(publisher)["operations"]
    held(publisher, operations["get"]["answer"], {"number": 1, "head": {"sha": "e" * 40}})
    with pytest.raises(AssertionError):
        held(publisher, operations["get"]["answer"], answer)
    with pytest.raises(AssertionError):
        check_query(publisher, operations["comments"]["queries"], {"limit": "50"})
