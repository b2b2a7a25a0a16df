"""The access tokens of a server in its database."""

from __future__ import annotations

import anyio
import pytest
from sqlalchemy import insert, select, update

from docyard.caller import ADMIN_SCOPE, READ_SCOPE, WRITE_SCOPE
from docyard.database.database import Database
from docyard.database.tables import ACCESS_TOKENS, ORGANIZATIONS
from docyard.identity import access_tokens
from docyard.identity.access_tokens import (
    AccessTokens,
    InvalidAccessToken,
    UnknownAccessToken,
    UnknownOrganization,
)
from docyard.identity.verifier import Authenticated, TokenRefusal
from tests.databases import *  # noqa: F403

NOW_MS = 1_800_000_000_000


class Clock:
    """A clock that a test sets, in milliseconds."""

    now = NOW_MS

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tokens(database: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> AccessTokens:
    monkeypatch.setattr(access_tokens, "CACHE_S", 0.0)
    with database.begin() as connection:
        for slug in ("acme", "globex"):
            connection.execute(insert(ORGANIZATIONS).values(id=f"org_{slug}", slug=slug))
    return AccessTokens(database, clock)


def verify(tokens: AccessTokens, secret: str) -> Authenticated | TokenRefusal | None:
    return anyio.run(tokens.verify, secret, "")


def test_token_proves_its_organization_groups_and_scopes(tokens: AccessTokens, database: Database) -> None:
    secret = tokens.add("acme", "ci", [READ_SCOPE], ["staff"], NOW_MS + 5_000)
    result = verify(tokens, secret)
    assert isinstance(result, Authenticated)
    principal = result.principal
    assert (principal.name, principal.organization) == ("ci", "acme")
    assert (principal.groups, principal.scopes) == ({"staff"}, {READ_SCOPE})
    assert principal.key == f"token:{tokens.list('acme')[0].id}"
    assert (result.person, result.expires_at) == (None, NOW_MS / 1_000 + 5)
    with database.connect() as connection:
        stored_row = str(connection.execute(select(ACCESS_TOKENS)).one())
    assert secret not in stored_row
    assert secret.removeprefix("docyard_at_") not in stored_row
    assert secret not in repr(result)


def test_unknown_secret_is_left_to_other_verifiers(tokens: AccessTokens) -> None:
    secret = tokens.add("acme", "ci", [READ_SCOPE])
    last = "0" if secret[-1] != "0" else "1"
    for other in ("", "x", secret[:-1], secret[:-1] + last, secret.upper(), secret + "\n", f" {secret}"):
        assert verify(tokens, other) is None


def test_revoked_and_expired_tokens_are_refused(tokens: AccessTokens, clock: Clock) -> None:
    revoked_secret = tokens.add("acme", "old", [READ_SCOPE])
    expiring_secret = tokens.add("acme", "short", [READ_SCOPE], expires_at=NOW_MS + 1_000)
    owner = verify(tokens, revoked_secret)
    assert isinstance(owner, Authenticated)
    assert anyio.run(tokens.revalidate, owner) == owner
    tokens.revoke("acme", "old")
    assert anyio.run(tokens.revalidate, owner) is None
    assert isinstance(verify(tokens, revoked_secret), TokenRefusal)
    assert isinstance(verify(tokens, expiring_secret), Authenticated)
    clock.now += 1_000
    assert isinstance(verify(tokens, expiring_secret), TokenRefusal)
    clock.now -= 5_000  # the clock was corrected
    assert isinstance(verify(tokens, revoked_secret), TokenRefusal)


def test_names_are_unique_in_an_organization(tokens: AccessTokens) -> None:
    for organization in ("acme", "globex", None):
        tokens.add(organization, "ci", [READ_SCOPE])
        with pytest.raises(InvalidAccessToken, match="exists already"):
            tokens.add(organization, "ci", [READ_SCOPE])
    assert [token.organization for token in tokens.list("globex")] == ["globex"]
    assert len(tokens.list()) == 3
    tokens.revoke(None, "ci")
    active_organizations = [token.organization for token in tokens.list() if token.revoked_at is None]
    assert active_organizations == ["acme", "globex"]


def test_tokens_of_one_name_are_revoked_together(tokens: AccessTokens, database: Database) -> None:
    secrets = [tokens.add(None, name, [READ_SCOPE]) for name in ("ops", "other")]
    with database.begin() as connection:  # as two processes would, at the same time
        connection.execute(update(ACCESS_TOKENS).values(name="ops"))
    tokens.revoke(None, "ops")
    assert all(isinstance(verify(tokens, secret), TokenRefusal) for secret in secrets)


def test_session_follows_the_organization_of_its_token(tokens: AccessTokens, database: Database) -> None:
    owner = verify(tokens, tokens.add("acme", "ci", [READ_SCOPE], ["staff"]))
    assert isinstance(owner, Authenticated)
    with database.begin() as connection:
        connection.execute(update(ORGANIZATIONS).where(ORGANIZATIONS.c.slug == "acme").values(slug="acme-2"))
        connection.execute(insert(ORGANIZATIONS).values(id="org_other", slug="acme"))
    current_owner = anyio.run(tokens.revalidate, owner)
    assert current_owner is not None
    assert current_owner.principal.organization == "acme-2"


def test_session_of_an_operator_stays_one_of_an_operator(tokens: AccessTokens) -> None:
    owner = verify(tokens, tokens.add(None, "ops", [ADMIN_SCOPE]))
    assert isinstance(owner, Authenticated)
    stored_owner = owner._replace(principal=owner.principal._replace(is_operator=False))
    assert anyio.run(tokens.revalidate, stored_owner) == owner


def test_invalid_token_is_not_created(tokens: AccessTokens) -> None:
    for scopes in ([], ["docs:all"], [READ_SCOPE, "x"]):
        with pytest.raises(InvalidAccessToken):
            tokens.add("acme", "ci", scopes)
    for name in ("", "A", "a b", "x" * 40, "-a"):
        with pytest.raises(InvalidAccessToken):
            tokens.add("acme", name, [WRITE_SCOPE])
    with pytest.raises(UnknownOrganization):
        tokens.add("none", "ci", [READ_SCOPE])
    for organization, name in (("acme", "none"), ("globex", "ci")):
        with pytest.raises(UnknownAccessToken):
            tokens.revoke(organization, name)
    assert tokens.list() == []


def test_operators_have_a_token_of_no_organization_with_the_scope_for_administration(
    tokens: AccessTokens,
) -> None:
    expected = {
        (None, ADMIN_SCOPE): True,
        (None, READ_SCOPE): False,
        ("acme", ADMIN_SCOPE): False,
    }
    for number, ((organization, scope), is_operator) in enumerate(expected.items()):
        result = verify(tokens, tokens.add(organization, f"t{number}", [scope]))
        assert isinstance(result, Authenticated)
        assert result.principal.is_operator == is_operator
