"""The sign-in of people at a provider: what binds the answer to the browser and to the provider."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import pytest

from docyard.caller import READ_SCOPE, SCOPES, WRITE_SCOPE
from docyard.identity.provider import Provider, ProviderUnavailable
from docyard.identity.rules import Role, Rule
from docyard.identity.sign_in import PendingSignIn, SignIn, SignInFailed
from docyard.identity.users import Users
from docyard.identity.verifier import Authenticated
from tests.docyard.identity.provider_site import (
    AUDIENCE,
    CLIENT_ID,
    CLIENT_SECRET,
    ISSUER,
    NOW,
    Clock,
    ProviderSite,
)
from tests.loops import loop_over
from workspace.policy.tokens import Tokens

CALLBACK_URL = f"{AUDIENCE}/login/callback"
NO_USERS = Users({}, None)


def build_sign_in(site: ProviderSite, users: Users = NO_USERS, secret: str | None = CLIENT_SECRET) -> SignIn:
    provider = Provider(ISSUER, transport=site.transport)
    return SignIn(provider, CLIENT_ID, secret, CALLBACK_URL, users, clock=Clock())


def begin(sign_in: SignIn, redirect_path: str = "/doc/guide.md") -> tuple[str, PendingSignIn]:
    return anyio.run(sign_in.begin, redirect_path)


def finish(sign_in: SignIn, pending: PendingSignIn, parameters: dict[str, str]) -> Authenticated:
    return anyio.run(sign_in.finish, pending, parameters)


def test_person_signs_in() -> None:
    site = ProviderSite()
    sign_in = build_sign_in(site)
    url, pending = begin(sign_in)
    query = parse_qs(urlsplit(url).query)
    assert url.startswith(f"{ISSUER}/auth?")
    assert query["redirect_uri"] == [CALLBACK_URL]
    assert query["scope"] == ["openid profile"]
    assert pending.code_verifier not in url
    owner = finish(sign_in, pending, site.authorize(url, {"groups": ["staff"]}))
    assert owner.principal.key == f"user:{ISSUER}#248289761001"
    assert (owner.principal.name, owner.principal.groups) == ("Ana Li", {"staff"})
    assert owner.principal.scopes == set(SCOPES)
    assert (owner.person, owner.expires_at) == (None, None)
    assert begin(sign_in)[1] != pending


def change(**changes: str | None) -> Callable[[dict[str, str]], dict[str, str]]:
    def apply(parameters: dict[str, str]) -> dict[str, str]:
        return {name: value for name, value in {**parameters, **changes}.items() if value is not None}

    return apply


WRONG_ANSWERS = {
    "another state": change(state="x"),
    "no state": change(state=None),
    "state is not ASCII": change(state="é\udcff"),
    "another issuer": change(iss="https://evil.example"),
    "no issuer": change(iss=None),
    "no code": change(code=None),
    "unknown code": change(code="guess"),
    "long code": change(code="x" * 5_000),
    "refused": change(error="access_denied"),
}


@loop_over("change_answer", list(WRONG_ANSWERS.values()), ids=list(WRONG_ANSWERS))
def test_wrong_answer_is_refused(change_answer: Callable[[dict[str, str]], dict[str, str]]) -> None:
    site = ProviderSite()
    sign_in = build_sign_in(site)
    url, pending = begin(sign_in)
    with pytest.raises(SignInFailed):
        finish(sign_in, pending, change_answer(site.authorize(url)))


def test_answer_of_another_browser_is_refused() -> None:
    site = ProviderSite()
    sign_in = build_sign_in(site)
    (url, pending), (_, other_pending) = begin(sign_in), begin(sign_in)
    answer = site.authorize(url)
    with pytest.raises(SignInFailed):
        finish(sign_in, other_pending, answer)
    # Even with the state of the victim, the code belongs to another PKCE verifier.
    with pytest.raises(SignInFailed):
        finish(sign_in, other_pending, {**answer, "state": other_pending.state})
    with pytest.raises(SignInFailed):  # a code is valid once
        finish(sign_in, pending, answer)


INVALID_ID_TOKENS: dict[str, dict[str, Any]] = {
    "another nonce": {"nonce": "x"},
    "no nonce": {"nonce": None},
    "nonce is a number": {"nonce": 7},
    "for another client": {"aud": "other"},
    "for an API": {"aud": AUDIENCE},
    "several audiences": {"aud": [CLIENT_ID, "other"]},
    "authorized for another client": {"azp": "other"},
    "another issuer": {"iss": "https://evil.example"},
    "expired": {"exp": NOW - 100},
    "no subject": {"sub": None},
}


@loop_over("claims", list(INVALID_ID_TOKENS.values()), ids=list(INVALID_ID_TOKENS))
def test_invalid_id_token_is_refused(claims: dict[str, Any]) -> None:
    site = ProviderSite()
    sign_in = build_sign_in(site)
    url, pending = begin(sign_in)
    with pytest.raises(SignInFailed):
        finish(sign_in, pending, site.authorize(url, claims))


def test_wrong_client_secret_is_refused() -> None:
    site = ProviderSite()
    for secret in ("wrong", None):
        sign_in = build_sign_in(site, secret=secret)
        url, pending = begin(sign_in)
        with pytest.raises(SignInFailed):
            finish(sign_in, pending, site.authorize(url))


def test_provider_that_is_down_is_reported() -> None:
    site = ProviderSite()
    sign_in = build_sign_in(site)
    url, pending = begin(sign_in)
    answer = site.authorize(url)
    site.is_down = True
    with pytest.raises(ProviderUnavailable):
        finish(sign_in, pending, answer)
    with pytest.raises(ProviderUnavailable):
        begin(build_sign_in(site))


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    return Tokens(tmp_path)


def sign_in_as(users: Users, claims: dict[str, Any]) -> Authenticated:
    site = ProviderSite()
    sign_in = build_sign_in(site, users)
    url, pending = begin(sign_in)
    return finish(sign_in, pending, site.authorize(url, claims))


def test_only_a_mapped_subject_is_a_person(tokens: Tokens) -> None:
    tokens.add("ana", "Ana Li", "ana@example.org")
    users = Users({(ISSUER, "1"): "ana", ("https://other.example", "2"): "ana"}, tokens, [])
    owner = sign_in_as(users, {"sub": "1"})
    assert owner.person == tokens.list()[0]
    assert owner.principal.scopes == set(SCOPES)
    assert "***" in repr(owner)
    # An e-mail address proves nothing, and neither does a subject of another issuer.
    for claims in (
        {"sub": "2"},
        {"sub": "ana"},
        {"sub": "3", "email": "ana@example.org", "email_verified": True, "preferred_username": "ana"},
    ):
        other_owner = sign_in_as(users, claims)
        assert other_owner.person is None
        assert other_owner.principal.scopes == frozenset()


def test_revoked_or_rotated_token_ends_the_sessions_of_its_person(tokens: Tokens) -> None:
    tokens.add("ana", "Ana Li", "ana@example.org")
    users = Users({(ISSUER, "1"): "ana"}, tokens)
    owner = sign_in_as(users, {"sub": "1"})
    assert users.revalidate(owner) == owner
    tokens.rotate("ana")
    assert users.revalidate(owner) is None
    owner = sign_in_as(users, {"sub": "1"})
    tokens.revoke("ana")
    assert users.revalidate(owner) is None
    assert sign_in_as(users, {"sub": "1"}).person is None


def test_rules_of_groups_narrow_the_scopes(tokens: Tokens) -> None:
    tokens.add("ana", "Ana Li", "ana@example.org", scopes=frozenset({WRITE_SCOPE}))
    rules = [Rule("staff", "", Role.READER), Rule("guests", "", Role.NONE)]
    users = Users({(ISSUER, "1"): "ana"}, tokens, rules)
    expected_scopes = {
        ("2", ("staff",)): {READ_SCOPE},
        ("2", ("staff", "guests")): set(),
        ("2", ()): set(),
        ("1", ("staff",)): {READ_SCOPE, WRITE_SCOPE},
        ("1", ()): {WRITE_SCOPE},
    }
    for (subject, groups), scopes in expected_scopes.items():
        owner = sign_in_as(users, {"sub": subject, "groups": list(groups)})
        assert owner.principal.scopes == scopes


def test_only_members_of_the_operators_groups_are_operators() -> None:
    users = Users({}, None, operator_groups=["operators"])
    assert sign_in_as(users, {"sub": "1", "groups": ["operators"]}).principal.is_operator
    # A user without an organization is no operator.
    assert not sign_in_as(users, {"sub": "1", "groups": ["staff"]}).principal.is_operator
    assert not sign_in_as(users, {"sub": "1", "organization": "acme"}).principal.is_operator
    # The groups of a member of an organization count in this organization only.
    claims = {"sub": "1", "organization": "acme", "groups": ["operators"]}
    assert not sign_in_as(users, claims).principal.is_operator
    assert not sign_in_as(NO_USERS, {"sub": "1", "groups": ["operators"]}).principal.is_operator


def test_session_of_an_operator_depends_on_the_settings() -> None:
    users = Users({}, None, operator_groups=["operators"])
    owner = sign_in_as(users, {"sub": "1", "groups": ["operators"]})
    stored_owner = owner._replace(principal=owner.principal._replace(is_operator=False))
    assert users.revalidate(stored_owner) == owner
    assert NO_USERS.revalidate(owner) == stored_owner


def test_administrators_of_the_only_repository_are_operators() -> None:
    users = Users({}, None, [Rule("lead", "", Role.ADMIN), Rule("staff", "", Role.WRITER)])
    assert sign_in_as(users, {"sub": "1", "groups": ["lead"]}).principal.is_operator
    assert not sign_in_as(users, {"sub": "1", "groups": ["staff"]}).principal.is_operator
