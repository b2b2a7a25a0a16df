"""Access tokens of an identity provider: what is accepted, and each way in which a token is refused."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from docyard.identity.provider import MAX_STALE_S, REFETCH_INTERVAL_S, REFRESH_S, RETRY_S, Provider
from docyard.identity.resource_server import ResourceServer
from docyard.identity.signed_tokens import LEEWAY_S
from docyard.identity.users import ClaimNames, Users
from docyard.identity.verifier import Authenticated, TokenRefusal
from tests.docyard.identity.provider_site import (
    AUDIENCE,
    ISSUER,
    NOW,
    Clock,
    ProviderSite,
    build_public_key,
    create_key,
)
from tests.loops import loop_over
from workspace.policy.tokens import Tokens

ENDPOINT = f"{AUDIENCE}/mcp"


class Setup:
    """A provider, a resource server, and the clocks of both kinds: of the day, and monotonic."""

    def __init__(self, *key_names: str) -> None:
        self.site = ProviderSite(*key_names)
        self.day, self.clock = Clock(), Clock(1_000.0)
        self.provider = Provider(ISSUER, transport=self.site.transport, clock=self.clock)
        self.server = ResourceServer(self.provider, AUDIENCE, Users({}, None), clock=self.day)

    def verify(self, token: str, resource: str = ENDPOINT) -> Authenticated | TokenRefusal | None:
        return anyio.run(self.server.verify, token, resource)

    def accepts(self, token: str) -> bool:
        return isinstance(self.verify(token), Authenticated)


@pytest.fixture(scope="module")
def setup() -> Setup:
    return Setup("ec1", "rsa1", "ed1")


def test_valid_token_names_its_principal(setup: Setup) -> None:
    claims = {"groups": ["staff", 7], "organization": "acme", "preferred_username": "ana"}
    result = setup.verify(setup.site.sign(claims))
    assert isinstance(result, Authenticated)
    principal = result.principal
    assert (principal.key, principal.name) == (f"user:{ISSUER}#248289761001", "ana")
    assert (principal.organization, principal.groups) == ("acme", {"staff"})
    assert principal.scopes == {"docs:read", "docs:write"}
    assert result.person is None
    assert result.expires_at == NOW + 600


@loop_over("organization", ["", " ", ["acme"], ["acme", "globex"], {"id": "acme"}, 7, "x" * 201, "a\x00"])
def test_invalid_organization_is_refused_because_groups_would_count_in_all(
    setup: Setup, organization: Any
) -> None:
    result = setup.verify(setup.site.sign({"groups": ["staff"], "organization": organization}))
    assert isinstance(result, TokenRefusal)
    assert "organization" in result.message


def test_server_of_one_repository_does_not_read_the_organization(setup: Setup) -> None:
    names = ClaimNames(organization=None)
    server = ResourceServer(setup.provider, AUDIENCE, Users({}, None, []), names, clock=setup.day)
    result = anyio.run(server.verify, setup.site.sign({"organization": ["acme"]}), ENDPOINT)
    assert isinstance(result, Authenticated)
    assert result.principal.organization is None


@loop_over("key", ["ec1", "rsa1", "ed1"])
def test_key_of_each_type_is_accepted(setup: Setup, key: str) -> None:
    assert setup.accepts(setup.site.sign(key=key))


def test_client_without_user_is_accepted(setup: Setup) -> None:
    result = setup.verify(setup.site.sign({"sub": "ci", "client_id": "ci", "scope": "docs:read"}))
    assert isinstance(result, Authenticated)
    assert result.principal.key == f"user:{ISSUER}#ci"
    assert result.principal.scopes == {"docs:read"}


def test_client_with_the_subject_of_a_person_is_no_person(tmp_path: Path) -> None:
    setup = Setup()
    tokens = Tokens(tmp_path)
    tokens.add("ana", "Ana Li", "ana@example.org")
    users = Users({(ISSUER, "1"): "ana"}, tokens)
    setup.server = ResourceServer(setup.provider, AUDIENCE, users, clock=setup.day)
    for claims, is_person in (
        ({"sub": "1", "client_id": "agent"}, True),
        ({"sub": "1", "client_id": "1"}, False),
        ({"sub": "1", "client_id": None, "azp": "1"}, False),
        ({"sub": "2", "client_id": "agent"}, False),
    ):
        result = setup.verify(setup.site.sign(claims))
        assert isinstance(result, Authenticated)
        assert (result.person is not None) is is_person


ACCEPTED = {
    "audience is the endpoint": {"aud": ENDPOINT},
    "one of several audiences": {"aud": ["https://other.example", AUDIENCE]},
    "expired within the leeway": {"exp": NOW - LEEWAY_S + 1},
    "issued within the leeway": {"iat": NOW + LEEWAY_S - 1, "nbf": NOW + LEEWAY_S - 1},
    "no known scope": {"scope": "profile"},
    "scopes in a list": {"scope": None, "scp": ["docs:read"]},
}


@loop_over("claims", list(ACCEPTED.values()), ids=list(ACCEPTED))
def test_valid_claims_are_accepted(setup: Setup, claims: dict[str, Any]) -> None:
    assert setup.accepts(setup.site.sign(claims))


REFUSED = {
    "expired": ({"exp": NOW - LEEWAY_S}, "expired"),
    "no expiry": ({"exp": None}, "exp"),
    "endless": ({"exp": 1e300}, "exp"),
    "expiry is a bool": ({"exp": True}, "exp"),
    "no time of issue": ({"iat": None}, "iat"),
    "issued in the future": ({"iat": NOW + LEEWAY_S + 1}, "not valid yet"),
    "not before the future": ({"nbf": NOW + LEEWAY_S + 1}, "not valid yet"),
    "foreign issuer": ({"iss": "https://evil.example"}, "another issuer"),
    "issuer with a slash": ({"iss": ISSUER + "/"}, "another issuer"),
    "no issuer": ({"iss": None}, "another issuer"),
    "wrong audience": ({"aud": "https://other.example"}, "another audience"),
    "endpoint of another server": ({"aud": f"{AUDIENCE}/o/acme/docs/mcp"}, "another audience"),
    "audience is a prefix": ({"aud": AUDIENCE + "/"}, "another audience"),
    "no audience": ({"aud": None}, "another audience"),
    "audience is an object": ({"aud": [{"x": AUDIENCE}]}, "another audience"),
    "no subject": ({"sub": None}, "sub"),
    "subject is a number": ({"sub": 7}, "sub"),
    "long subject": ({"sub": "x" * 256}, "sub"),
    "invisible subject": ({"sub": "ana\u202e"}, "sub"),
}


@loop_over(("claims", "reason"), list(REFUSED.values()), ids=list(REFUSED))
def test_invalid_claims_are_refused(setup: Setup, claims: dict[str, Any], reason: str) -> None:
    result = setup.verify(setup.site.sign(claims))
    assert isinstance(result, TokenRefusal)
    assert (result.status, result.error) == (401, "invalid_token")
    assert reason in result.message


def encode(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def split(token: str) -> tuple[dict[str, Any], str, str]:
    header, claims, signature = token.split(".")
    return json.loads(base64.urlsafe_b64decode(header + "==")), claims, signature


def test_forged_tokens_are_refused(setup: Setup) -> None:
    token = setup.site.sign(key="rsa1")
    header, claims, signature = split(token)
    public_key = create_key("rsa1").public_key()
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    pem = public_key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    confused_head = f"{encode({**header, 'alg': 'HS256'})}.{claims}"
    mac = base64.urlsafe_b64encode(hmac.digest(pem, confused_head.encode(), hashlib.sha256)).rstrip(b"=")
    attacker_key = build_public_key("ec-attacker")
    forged_tokens = [
        f"{encode({**header, 'alg': 'none'})}.{claims}.",
        f"{encode({**header, 'alg': 'None'})}.{claims}.",
        f"{confused_head}.{mac.decode()}",
        f"{encode({**header, 'alg': 'ES256'})}.{claims}.{signature}",
        f"{encode({**header, 'alg': 7})}.{claims}.{signature}",
        f"{encode({**header, 'kid': {'$ne': ''}})}.{claims}.{signature}",
        f"{encode({**header, 'kid': '../../../dev/null'})}.{claims}.{signature}",
        f"{encode({**header, 'kid': 'x' * 10_000})}.{claims}.{signature}",
        f"{encode({**header, 'crit': ['x']})}.{claims}.{signature}",
        f"{encode(header)}.{encode({'iss': ISSUER, 'aud': AUDIENCE, 'sub': 'admin'})}.{signature}",
        f"{encode(header)}.{claims}.{signature[:-4]}AAAA",
        f"{encode(header)}.{claims}.",
        # Keys and addresses of keys in the header are ignored.
        setup.site.sign(key="ec-attacker", kid="ec1", jwk=attacker_key, jku="https://evil.example/jwks"),
        setup.site.sign(key="ec-attacker", kid=None),
        setup.site.sign(key="ec-attacker"),
        setup.site.sign({"x": "x" * 20_000}),
        f"{encode(header)}.{'[' * 9_000}.{signature}",
        f"{encode(header)}.{encode('[' * 5_000)}.{signature}",
        "eyJ..",
        "eyJhbGciOiJub25lIn0.e30.",
        f"{token}.{token}",
        f"{token}é",
    ]
    for number, forged_token in enumerate(forged_tokens):
        result = setup.verify(forged_token)
        assert isinstance(result, TokenRefusal), number
        assert result.status == 401
        assert forged_token not in repr(result)


def test_other_kinds_of_secrets_are_left_to_other_verifiers(setup: Setup) -> None:
    for secret in ("", "docyard_ana_" + "0" * 48, "x" * 100_000, "wrong"):
        assert setup.verify(secret) is None


@loop_over(
    ("claims", "header", "is_accepted"),
    [
        ({}, {"typ": "application/at+JWT"}, True),
        ({}, {"typ": "JWT"}, True),
        ({}, {"typ": None}, True),
        ({"scope": None}, {"typ": "JWT"}, False),
        ({"nonce": "n"}, {"typ": "JWT"}, False),
        ({}, {"typ": "logout+jwt"}, False),
        ({}, {"typ": 7}, False),
    ],
    ids=["full type", "generic", "none", "no scope", "ID token", "logout", "number"],
)
def test_only_access_tokens_are_accepted(
    setup: Setup, claims: dict[str, Any], header: dict[str, Any], is_accepted: bool
) -> None:
    assert setup.accepts(setup.site.sign(claims, **header)) is is_accepted


def test_clock_that_jumps_changes_only_what_is_expired() -> None:
    setup = Setup()
    token = setup.site.sign()
    assert setup.accepts(token)
    for jump in (-LEEWAY_S - 1, 700.0):
        setup.day.now = NOW + jump
        assert not setup.accepts(token)
    setup.day.now = NOW
    assert setup.accepts(token)
    assert len(setup.site.requests) == 2  # the jumps did not make the keys old


def test_rotated_key_is_read_at_its_first_token() -> None:
    setup = Setup("ec1")
    assert setup.accepts(setup.site.sign())
    setup.clock.now += REFETCH_INTERVAL_S
    setup.site.key_names = ["ec2", "ec1"]
    assert setup.accepts(setup.site.sign(key="ec2"))
    assert setup.accepts(setup.site.sign(key="ec1"))
    # A key that the provider has withdrawn is refused after the next read.
    setup.site.key_names = ["ec2"]
    setup.clock.now += REFRESH_S
    assert not setup.accepts(setup.site.sign(key="ec1"))
    assert setup.accepts(setup.site.sign(key="ec2"))


def test_unknown_keys_cause_few_requests() -> None:
    setup = Setup("ec1")
    assert setup.accepts(setup.site.sign())
    for number in range(50):
        assert not setup.accepts(setup.site.sign(key="ec-attacker", kid=f"k{number}"))
    assert len(setup.site.requests) == 4
    for number in range(50):
        assert not setup.accepts(setup.site.sign({"iss": "https://evil.example"}, kid=f"k{number}"))
    assert len(setup.site.requests) == 4


def test_cached_keys_are_used_for_an_hour_while_the_provider_is_down() -> None:
    setup = Setup("ec1")
    token = setup.site.sign()
    assert setup.accepts(token)
    setup.site.is_down = True
    for age in (REFRESH_S, MAX_STALE_S - 1):
        setup.clock.now = 1_000.0 + age
        assert setup.accepts(token)
    # An unknown key may be a new one: it is neither accepted nor called invalid.
    for _ in range(3):
        unknown_result = setup.verify(setup.site.sign(key="ec2"))
        assert isinstance(unknown_result, TokenRefusal)
        assert unknown_result.status == 503
    setup.clock.now = 1_000.0 + MAX_STALE_S
    result = setup.verify(token)
    assert isinstance(result, TokenRefusal)
    assert (result.status, result.retry_after) == (503, RETRY_S)
    setup.site.is_down = False
    setup.clock.now += RETRY_S
    assert setup.accepts(token)


def test_unreachable_provider_is_not_called_for_each_request() -> None:
    setup = Setup()
    setup.site.is_down = True
    for _ in range(20):
        result = setup.verify(setup.site.sign())
        assert isinstance(result, TokenRefusal)
        assert result.status == 503
    assert len(setup.site.requests) == 1


INVALID_ANSWERS: dict[str, dict[str, Any]] = {
    "another issuer": {"metadata": {"issuer": "https://evil.example", "jwks_uri": f"{ISSUER}/jwks"}},
    "no keys": {"metadata": {"issuer": ISSUER}},
    "keys over http": {"metadata": {"issuer": ISSUER, "jwks_uri": "http://login.example.org/jwks"}},
    "keys missing": {"metadata": {"issuer": ISSUER, "jwks_uri": f"{ISSUER}/none"}},
    "redirect": {"status": 302},
    "error": {"status": 500},
    "not JSON": {"body": b"<html>"},
    "a list": {"body": b"[]"},
    "deep": {"body": b"[" * 100_000},
    "huge": {"body": b" " * 600_000},
    "weak key": {"key_names": ["rsa-weak"]},
}


@loop_over("fields", list(INVALID_ANSWERS.values()), ids=list(INVALID_ANSWERS))
def test_invalid_answer_of_the_provider_never_opens(fields: dict[str, Any]) -> None:
    setup = Setup()
    token = setup.site.sign()
    for name, value in fields.items():
        setattr(setup.site, name, value)
    result = setup.verify(token)
    assert isinstance(result, TokenRefusal)
    assert result.status == 503


def test_unusable_keys_are_ignored() -> None:
    setup = Setup("ec1")
    setup.site.more_keys = [
        None,
        {},
        {"kty": "oct", "k": "AAAA", "kid": "ec1"},
        {"kty": "EC", "crv": "P-256", "kid": "ec1"},
        {"kty": "EC", "crv": ["P-256"], "kid": "ec1"},
        {**build_public_key("ec2"), "kid": "ec1", "use": "enc"},
        {**build_public_key("ec2"), "kid": "ec1", "alg": "RS256"},
        {**build_public_key("ec2"), "kid": 7},
    ]
    assert setup.accepts(setup.site.sign())
    assert not setup.accepts(setup.site.sign(key="ec2", kid="ec1"))


def test_metadata_of_an_oauth_server_are_found() -> None:
    setup = Setup()
    setup.site.metadata_path = "/.well-known/oauth-authorization-server/tenant"
    assert setup.accepts(setup.site.sign())
