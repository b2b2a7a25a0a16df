"""The access tokens of a server in its database: created, listed, revoked and verified.

A token is a secret, `docyard_at_<48 hex digits>`, shown once. Its SHA-256 is stored: 192 random bits need no
slow hash. A revoked or expired token is refused within five seconds, the time for which a token that was
found is cached.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import anyio.to_thread
from sqlalchemy import Connection, insert, select, update
from sqlalchemy.exc import IntegrityError

from docyard.caller import ADMIN_SCOPE, SCOPES, Principal
from docyard.database.errors import DatabaseUnavailable
from docyard.database.ids import read_clock_ms
from docyard.database.tables import ACCESS_TOKENS, ORGANIZATIONS
from docyard.identity.verifier import Authenticated, TokenRefusal
from workspace.errors import WorkspaceError
from workspace.lru_cache import LRUCache

if TYPE_CHECKING:
    from docyard.database.database import Database

SECRET_PREFIX = "docyard_at_"
CACHE_S = 5.0
"""The time for which a token that was found is valid without another look into the database."""

_SECRET_BYTES = 24
_SECRET = re.compile(r"docyard_at_[0-9a-f]{48}")
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,38}")
_MAX_CACHED = 10_000
_RETRY_S = 2


class InvalidAccessToken(WorkspaceError):
    """An access token cannot be created: its name or a scope is invalid, or its name is used."""

    code: ClassVar[str] = "INVALID_ACCESS_TOKEN"


class UnknownAccessToken(WorkspaceError):
    """No access token has this name."""

    code: ClassVar[str] = "UNKNOWN_ACCESS_TOKEN"


class UnknownOrganization(WorkspaceError):
    """No organization has this slug."""

    code: ClassVar[str] = "UNKNOWN_ORGANIZATION"


class AccessToken(NamedTuple):
    """An access token without its secret. Times are in milliseconds since 1970.

    `organization` is a slug; None for a token of the operator, which is valid for all organizations.
    """

    id: str
    organization: str | None
    name: str
    scopes: frozenset[str]
    groups: frozenset[str]
    created_at: int
    expires_at: int | None
    revoked_at: int | None


class AccessTokens:
    """The access tokens in a database. `clock_ms` returns the time of day in milliseconds since 1970.

    Methods raise DatabaseUnavailable. All but `verify` and `revalidate` wait for the database.
    """

    def __init__(self, database: Database, clock_ms: Callable[[], int] = read_clock_ms) -> None:
        self._database = database
        self._clock_ms = clock_ms
        self._found: LRUCache[bytes, tuple[float, AccessToken]] = LRUCache(_MAX_CACHED)

    def add(
        self,
        organization: str | None,
        name: str,
        scopes: Iterable[str],
        groups: Iterable[str] = (),
        expires_at: int | None = None,
        *,
        record: Callable[[Connection], object] = lambda connection: None,
    ) -> str:
        """Create a token, and return its secret, which is not stored.

        `record` is called first in the transaction, for the audit log. Raises InvalidAccessToken,
        UnknownOrganization.
        """
        scope_names = frozenset(scopes)
        if not _NAME.fullmatch(name):
            raise InvalidAccessToken(
                "the name of the token is invalid",
                fix="Use at most 39 lower-case letters, digits, '.' and '-'.",
            )
        if not scope_names or not scope_names <= set(SCOPES):
            raise InvalidAccessToken(
                "the token has no scope, or an unknown one", fix=f"Use {', '.join(SCOPES)}."
            )
        secret = SECRET_PREFIX + secrets.token_hex(_SECRET_BYTES)
        organization_id = None if organization is None else self._find_organization(organization)
        existing_tokens = [token for token in self.list(organization) if token.name == name]
        try:
            # SQL's unique constraint treats two tokens of the operator as different.
            if any(token.organization == organization for token in existing_tokens):
                raise _build_name_error(name)
            with self._database.begin() as connection:
                record(connection)
                connection.execute(
                    insert(ACCESS_TOKENS).values(
                        organization_id=organization_id,
                        name=name,
                        digest=_hash_secret(secret).hex(),
                        scopes=sorted(scope_names),
                        group_names=sorted(set(groups)),
                        created_at=self._clock_ms(),
                        expires_at=expires_at,
                    )
                )
        except IntegrityError:
            raise _build_name_error(name) from None
        return secret

    def list(self, organization: str | None = None) -> list[AccessToken]:
        """Return the tokens of an organization, or all if it is None, in order of creation."""
        query = _select_tokens().order_by(ACCESS_TOKENS.c.created_at, ACCESS_TOKENS.c.name)
        if organization is not None:
            query = query.where(ORGANIZATIONS.c.slug == organization)
        with self._database.connect() as connection:
            return [_build_token(row) for row in connection.execute(query)]

    def revoke(
        self,
        organization: str | None,
        name: str,
        *,
        record: Callable[[Connection], object] = lambda connection: None,
    ) -> None:
        """Revoke a token: it stays in the list, and no longer authenticates. Raises UnknownAccessToken.

        `record` is called first in the transaction, for the audit log.
        """
        # Two tokens of the operator that were created at the same time can have one name.
        ids = [
            token.id
            for token in self.list(organization)
            if token.name == name and token.organization == organization and token.revoked_at is None
        ]
        if not ids:
            raise UnknownAccessToken(
                f"there is no active access token '{name[:60]}'",
                fix="Run `docyard admin tokens list` to see all tokens.",
            )
        with self._database.begin() as connection:
            record(connection)
            statement = update(ACCESS_TOKENS).where(ACCESS_TOKENS.c.id.in_(ids))
            connection.execute(statement.values(revoked_at=self._clock_ms()))
        self._found = LRUCache(_MAX_CACHED)

    async def verify(self, secret: str, resource: str) -> Authenticated | TokenRefusal | None:
        """Return the identity of a token; None if the text is not one, or is unknown."""
        if _SECRET.fullmatch(secret) is None:
            return None
        try:
            token = await self._find_token(_hash_secret(secret))
        except DatabaseUnavailable as error:
            return TokenRefusal(error.message, error.fix, 503, "", _RETRY_S)
        if token is None:
            return None
        if not self._is_active(token):
            return TokenRefusal(
                "the token was revoked, or has expired", "Ask an administrator for a new token."
            )
        return _build_authenticated(token, _hash_secret(secret))

    async def revalidate(self, authenticated: Authenticated) -> Authenticated | None:
        """Return the current identity of a session that a token started; None if the token is not valid.

        Raises DatabaseUnavailable.
        """
        if not authenticated.principal.key.startswith("token:tok_"):
            return authenticated
        token = await self._find_token(authenticated.token_digest)
        if token is None or not self._is_active(token):
            return None
        # The organization may have another slug now, and its old slug may be that of another organization.
        return _build_authenticated(token, authenticated.token_digest)

    def _is_active(self, token: AccessToken) -> bool:
        has_expired = token.expires_at is not None and self._clock_ms() >= token.expires_at
        return token.revoked_at is None and not has_expired

    async def _find_token(self, digest: bytes) -> AccessToken | None:
        found = self._found.find(digest)
        if found is not None and time.monotonic() - found[0] < CACHE_S:
            return found[1]
        token = await anyio.to_thread.run_sync(partial(self._read_token, digest))
        if token is not None:
            self._found.put(digest, (time.monotonic(), token))
        return token

    def _read_token(self, digest: bytes) -> AccessToken | None:
        query = _select_tokens().where(ACCESS_TOKENS.c.digest == digest.hex())
        with self._database.connect() as connection:
            row = connection.execute(query).first()
        # The database compares with an index; the digest of a guess reveals nothing by its duration, and the
        # comparison here does not depend on the collation of the database.
        if row is None or not hmac.compare_digest(bytes.fromhex(row.digest), digest):
            return None
        return _build_token(row)

    def _find_organization(self, slug: str) -> str:
        with self._database.connect() as connection:
            id = connection.scalar(select(ORGANIZATIONS.c.id).where(ORGANIZATIONS.c.slug == slug))
        if id is None:
            raise UnknownOrganization(
                f"there is no organization '{slug[:60]}'", fix="Name the slug of an organization."
            )
        return str(id)


def _select_tokens() -> Any:
    return select(ACCESS_TOKENS, ORGANIZATIONS.c.slug).outerjoin(
        ORGANIZATIONS, ORGANIZATIONS.c.id == ACCESS_TOKENS.c.organization_id
    )


def _build_token(row: Any) -> AccessToken:
    return AccessToken(
        row.id,
        row.slug,
        row.name,
        frozenset(row.scopes),
        frozenset(row.group_names),
        row.created_at,
        row.expires_at,
        row.revoked_at,
    )


def _build_authenticated(token: AccessToken, digest: bytes) -> Authenticated:
    expires_at = None if token.expires_at is None else token.expires_at / 1_000
    is_operator = token.organization is None and ADMIN_SCOPE in token.scopes
    principal = Principal(
        f"token:{token.id}", token.name, token.organization, token.groups, token.scopes, is_operator
    )
    return Authenticated(principal, None, digest, expires_at)


def _build_name_error(name: str) -> InvalidAccessToken:
    return InvalidAccessToken(
        f"the access token '{name}' exists already",
        fix="Choose another name; the names of revoked tokens stay in use.",
    )


def _hash_secret(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
