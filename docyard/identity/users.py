"""The users of an identity provider, and the people among them whose approvals are sealed.

A user is an issuer and a subject. They are a person only if the operator mapped both to the name of a token
of the repository: an e-mail address is never compared, because the provider's users may choose theirs.
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from docyard.caller import ADMIN_SCOPE, REVIEW_SCOPE, Principal
from docyard.database.errors import DatabaseUnavailable
from docyard.identity.rules import Rule, find_role, narrow_scopes
from docyard.identity.verifier import Authenticated, digest_token_key
from docyard.telemetry.logs import StateText
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from workspace.policy.tokens import KnownPerson, Tokens

log = logging.getLogger("docyard")

_MAX_SUBJECT_CHARACTERS = 255  # OpenID Connect Core 1.0 §2
_MAX_NAME_CHARACTERS = 200
_MAX_GROUPS = 500
_NAME_CLAIMS = ("name", "preferred_username", "client_id")


class InvalidUser(Exception):
    """The claims of a token name no user. The message is the reason."""


class ClaimNames(NamedTuple):
    """The names of the claims with the groups and with the organization of a user.

    `organization` is None for a server of one repository, where no organization counts.
    """

    groups: str = "groups"
    organization: str | None = "organization"


def read_principal(
    issuer: str, claims: Mapping[str, Any], names: ClaimNames, scopes: frozenset[str]
) -> Principal:
    """Return the principal that the claims of a verified token describe. Raises InvalidUser."""
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= _MAX_SUBJECT_CHARACTERS:
        raise InvalidUser("the claim sub of the token is missing or invalid")
    if not subject.isprintable():
        raise InvalidUser("the claim sub of the token contains invisible characters")
    organization = None if names.organization is None else claims.get(names.organization)
    # Without an organization, the groups would count in every one.
    if organization is not None and not _read_text(organization):
        raise InvalidUser(f"the claim {names.organization} of the token is not the name of an organization")
    name = next((text for claim in _NAME_CLAIMS if (text := _read_text(claims.get(claim)))), subject)
    return Principal(
        f"user:{issuer}#{subject}",
        name,
        _read_text(organization) or None,
        _read_groups(claims.get(names.groups)),
        scopes,
    )


def _read_text(value: object) -> str:
    """Return a short printable text; empty for any other value."""
    if not isinstance(value, str) or len(value) > _MAX_NAME_CHARACTERS or not value.isprintable():
        return ""
    return value.strip()


def _read_groups(value: object) -> frozenset[str]:
    """Return the groups of a claim: a list of names, or one name. Too many are treated as none."""
    items = value if isinstance(value, list) else [value]
    if len(items) > _MAX_GROUPS:
        log.warning("a token has more than %d groups; none of them is used", _MAX_GROUPS)
        return frozenset()
    return frozenset(text for item in items if (text := _read_text(item)))


class Users:
    """The users of a server.

    `people` maps an issuer and a subject to the name of a token in `tokens`. `rules` are those of a server of
    one repository: they narrow the scopes of a user, and a mapped person also has the scopes of their token.
    None leaves the scopes as they are, for a server whose organizations have rules. The members of
    `operator_groups` who belong to no organization operate the server, and in a server of one repository all
    who may administer it.
    """

    def __init__(
        self,
        people: Mapping[tuple[str, str], str],
        tokens: Tokens | None,
        rules: Sequence[Rule] | None = None,
        operator_groups: Collection[str] = (),
    ) -> None:
        self._token_names = {f"user:{issuer}#{subject}": name for (issuer, subject), name in people.items()}
        self._tokens = tokens
        self._rules = rules
        self._operator_groups = frozenset(operator_groups)

    def authenticate(
        self, principal: Principal, expires_at: float | None = None, *, is_client: bool = False
    ) -> Authenticated:
        """Return the identity of a user: their scopes here, and the person that they are, if any.

        `is_client` is true for a client that acts for itself. It is no person, even if it was registered with
        a person's subject as its name (RFC 9068 §5).
        """
        owner = None
        if not is_client:
            with suppress(DatabaseUnavailable):  # the user is no person meanwhile
                owner = self._find_person(principal.key)
        principal = self._restrict(principal, owner)
        if owner is None:
            return Authenticated(principal, expires_at=expires_at)
        return Authenticated(principal, owner.person, digest_token_key(owner.key), expires_at)

    def revalidate(self, authenticated: Authenticated) -> Authenticated | None:
        """Return the current identity of a session; None if the token of its person was revoked.

        A session outlives a restart if nodes share it: rules that are stricter since then count at once.
        Raises DatabaseUnavailable.
        """
        principal = authenticated.principal
        if authenticated.person is None:
            return authenticated._replace(principal=self._restrict(principal, None))
        owner = self._find_person(principal.key)
        if owner is None or not hmac.compare_digest(digest_token_key(owner.key), authenticated.token_digest):
            return None
        return authenticated._replace(principal=self._restrict(principal, owner), person=owner.person)

    def _restrict(self, principal: Principal, owner: KnownPerson | None) -> Principal:
        """Return a user with the scopes that the rules and the token of their person leave."""
        if self._rules is not None:
            allowed_scopes = narrow_scopes(principal.scopes, find_role(self._rules, principal.groups, ""))
            if owner is not None:
                allowed_scopes |= principal.scopes & owner.scopes
            principal = principal._replace(scopes=allowed_scopes)
        if owner is not None and not owner.may_review():  # the seal of such a token does not count
            principal = principal._replace(scopes=principal.scopes - {REVIEW_SCOPE})
        return self._decide_operator(principal)

    def _decide_operator(self, principal: Principal) -> Principal:
        """Return a user with the current decision whether they operate the server."""
        # The groups of an organization's token count in this organization only.
        is_in_group = principal.organization is None and bool(self._operator_groups & principal.groups)
        is_granted = self._rules is not None or is_in_group
        return principal._replace(is_operator=is_granted and ADMIN_SCOPE in principal.scopes)

    def _find_person(self, key: str) -> KnownPerson | None:
        """Return the person that a user is; None if they are none. Raises DatabaseUnavailable."""
        name = self._token_names.get(key)
        if name is None or self._tokens is None:
            return None
        from index.port import EngineUnavailable

        try:
            owner = self._tokens.find_owner(name)
        except WorkspaceError as error:
            log.warning("people's tokens cannot be read: %s", StateText(f"{error.message}. {error.fix}"))
            if isinstance(error, EngineUnavailable):
                raise DatabaseUnavailable.from_engine(error) from error
            return None
        if owner is None:
            log.warning("identity.people names the token '%s', which does not exist", name)
        return None if owner is None or owner.has_expired() else owner
