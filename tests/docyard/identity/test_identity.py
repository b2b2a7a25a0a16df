"""The settings of an identity provider: each incomplete combination is refused at the start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from docyard.identity.identity import NO_IDENTITY, IncompleteIdentity, build_identity
from docyard.settings.settings import IdentitySection
from tests.loops import loop_over
from workspace.policy.tokens import Tokens

ISSUER, AUDIENCE, PAGE_URL = (
    "https://login.example.org",
    "https://docs.example.org",
    "https://docs.example.org",
)
PERSON = {"issuer": ISSUER, "subject": "1", "person": "ana"}


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Tokens:
    tokens = Tokens(tmp_path_factory.mktemp("tokens"))
    tokens.add("ana", "Ana Li", "ana@example.org")
    return tokens


COMPLETE: dict[str, tuple[dict[str, Any], str | None]] = {
    "access tokens": ({"issuer": ISSUER, "audience": AUDIENCE}, None),
    "audience is a name": ({"issuer": ISSUER, "audience": "api://docyard"}, PAGE_URL),
    "sign-in": ({"issuer": ISSUER, "audience": AUDIENCE, "client_id": "docyard"}, None),
    "secret": ({"issuer": ISSUER, "audience": AUDIENCE, "client_id": "d", "client_secret": "s"}, None),
    "people": ({"issuer": ISSUER, "audience": AUDIENCE, "people": [PERSON]}, None),
    "issuer of this machine": ({"issuer": "http://127.0.0.1:3000", "audience": AUDIENCE}, None),
    "issuer named localhost": ({"issuer": "http://localhost:3000/x", "audience": AUDIENCE}, None),
}


@loop_over(("section", "page_url"), list(COMPLETE.values()), ids=list(COMPLETE))
def test_complete_settings_are_accepted(
    tokens: Tokens, section: dict[str, Any], page_url: str | None
) -> None:
    identity = build_identity(IdentitySection(**section), page_url, tokens)
    assert len(identity.verifiers) == 1
    assert identity.issuers == (section["issuer"],)
    assert identity.base_url == PAGE_URL
    assert (identity.sign_in is None) is ("client_id" not in section)


def test_no_settings_are_no_identity() -> None:
    assert build_identity(IdentitySection(), None, None) == NO_IDENTITY


INCOMPLETE: dict[str, tuple[dict[str, Any], str]] = {
    "audience without issuer": ({"audience": AUDIENCE}, "needs identity.issuer"),
    "client without issuer": ({"client_id": "docyard"}, "needs identity.issuer"),
    "secret without issuer": ({"client_secret": "s"}, "needs identity.issuer"),
    "people without issuer": ({"people": [PERSON]}, "needs identity.issuer"),
    "rules without issuer": ({"rules": [{"group": "x", "role": "reader"}]}, "needs identity.issuer"),
    "issuer without audience": ({"issuer": ISSUER}, "needs identity.audience"),
    "client without audience": ({"issuer": ISSUER, "client_id": "docyard"}, "needs identity.audience"),
    "secret without client": ({"issuer": ISSUER, "audience": AUDIENCE, "client_secret": "s"}, "client_id"),
    "audience is the client": ({"issuer": ISSUER, "audience": "d", "client_id": "d"}, "the same"),
    "no URL": ({"issuer": ISSUER, "audience": "api://docyard"}, "URL of this server"),
    "http audience": ({"issuer": ISSUER, "audience": "http://docs.example.org"}, "URL of this server"),
    "http issuer": ({"issuer": "http://login.example.org", "audience": AUDIENCE}, "https://"),
    "http issuer like this machine": (
        {"issuer": "http://127.0.0.1.example.org", "audience": AUDIENCE},
        "https://",
    ),
    "issuer without scheme": ({"issuer": "login.example.org", "audience": AUDIENCE}, "must be a URL"),
    "issuer with a query": ({"issuer": f"{ISSUER}?x", "audience": AUDIENCE}, "must be a URL"),
    "issuer with a fragment": ({"issuer": f"{ISSUER}#x", "audience": AUDIENCE}, "must be a URL"),
    "issuer with a password": ({"issuer": "https://a:b@x.example", "audience": AUDIENCE}, "must be a URL"),
    "issuer with spaces": ({"issuer": "https://x.example/a b", "audience": AUDIENCE}, "must be a URL"),
    "no openid": ({"issuer": ISSUER, "audience": AUDIENCE, "sign_in_scopes": ["profile"]}, "openid"),
    "person of another issuer": (
        {"issuer": ISSUER, "audience": AUDIENCE, "people": [{**PERSON, "issuer": f"{ISSUER}/"}]},
        "another issuer",
    ),
    "person without token": (
        {"issuer": ISSUER, "audience": AUDIENCE, "people": [{**PERSON, "person": "ben"}]},
        "does not exist",
    ),
    "subject twice": (
        {"issuer": ISSUER, "audience": AUDIENCE, "people": [PERSON, {**PERSON, "person": "ben"}]},
        "twice",
    ),
}


@loop_over(("section", "reason"), list(INCOMPLETE.values()), ids=list(INCOMPLETE))
def test_incomplete_settings_are_refused(tokens: Tokens, section: dict[str, Any], reason: str) -> None:
    with pytest.raises(IncompleteIdentity, match=reason) as failure:
        build_identity(IdentitySection(**section), None, tokens)
    assert failure.value.fix


def test_people_without_repository_are_refused(tmp_path: Path) -> None:
    section = IdentitySection(issuer=ISSUER, audience=AUDIENCE, people=(PERSON,))
    with pytest.raises(IncompleteIdentity, match="does not exist"):
        build_identity(section, None, None)
