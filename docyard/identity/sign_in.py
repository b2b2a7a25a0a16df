"""The sign-in of people at an identity provider: OpenID Connect, authorization code with PKCE.

The browser is sent to the provider, and comes back with a code. The server exchanges the code for an ID token
and verifies it. `state` and the PKCE verifier bind the answer to the browser that began (RFC 6749 §10.12,
RFC 7636), `nonce` binds the ID token, and `iss` the provider (RFC 9207).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Mapping
from typing import ClassVar, NamedTuple
from urllib.parse import quote, urlencode

from anyio import to_thread

from docyard.caller import SCOPES
from docyard.identity.provider import Provider, ProviderUnavailable
from docyard.identity.signed_tokens import InvalidSignedToken, verify_signed_token
from docyard.identity.users import ClaimNames, InvalidUser, Users, read_principal
from docyard.identity.verifier import Authenticated
from workspace.errors import WorkspaceError

_RANDOM_BYTES = 32
_MAX_CODE_CHARACTERS = 4_000


class SignInFailed(WorkspaceError):
    """A person could not sign in at the identity provider."""

    code: ClassVar[str] = "SIGN_IN_FAILED"

    def __init__(self, reason: str) -> None:
        super().__init__(f"the sign-in failed: {reason}", fix="Sign in again.")


class PendingSignIn(NamedTuple):
    """A sign-in that has begun. Its values are known only to the browser and this server."""

    state: str
    nonce: str
    code_verifier: str
    redirect_path: str


class SignIn:
    """The sign-in at one provider. `clock` returns the time of day in seconds since 1970.

    Without a `client_secret` the server is a public client, which PKCE protects. `callback_url` is the
    address to which the provider sends the browser back. `scopes` are those of OpenID Connect.
    """

    def __init__(
        self,
        provider: Provider,
        client_id: str,
        client_secret: str | None,
        callback_url: str,
        users: Users,
        claim_names: ClaimNames = ClaimNames(),  # noqa: B008 - immutable
        scopes: tuple[str, ...] = ("openid", "profile"),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._provider = provider
        self._client_id = client_id
        self._client_secret = client_secret
        self._callback_url = callback_url
        self._users = users
        self._claim_names = claim_names
        self._scopes = scopes
        self._clock = clock

    @property
    def host(self) -> str:
        """Return the host of the provider, for people."""
        return self._provider.host

    async def begin(self, redirect_path: str) -> tuple[str, PendingSignIn]:
        """Return the URL at the provider, and the values that the browser must bring back.

        Raises ProviderUnavailable.
        """
        metadata = await self._provider.read_metadata()
        if metadata.authorization_url is None or metadata.token_url is None:
            raise ProviderUnavailable("it has no endpoints for the sign-in of people")
        state, nonce, code_verifier = (secrets.token_urlsafe(_RANDOM_BYTES) for _ in range(3))
        pending = PendingSignIn(state, nonce, code_verifier, redirect_path)
        challenge = hashlib.sha256(pending.code_verifier.encode()).digest()
        parameters = {
            "response_type": "code",
            "client_id": self._client_id,
            "redirect_uri": self._callback_url,
            "scope": " ".join(self._scopes),
            "state": pending.state,
            "nonce": pending.nonce,
            "code_challenge": base64.urlsafe_b64encode(challenge).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        separator = "&" if "?" in metadata.authorization_url else "?"
        return f"{metadata.authorization_url}{separator}{urlencode(parameters)}", pending

    async def finish(self, pending: PendingSignIn, parameters: Mapping[str, str]) -> Authenticated:
        """Return the identity of the person whom the provider sent back with these parameters.

        Raises SignInFailed, ProviderUnavailable.
        """
        metadata = await self._provider.read_metadata()
        state = parameters.get("state", "")
        if not hmac.compare_digest(state.encode("utf-8", "replace"), pending.state.encode()):
            raise SignInFailed("it was begun in another browser, or twice")
        issuer = parameters.get("iss")
        if issuer != self._provider.issuer and (issuer is not None or metadata.issuer_in_response):
            raise SignInFailed("the answer is from another identity provider")
        if "error" in parameters:
            raise SignInFailed("the identity provider refused it")
        code = parameters.get("code", "")
        if not 0 < len(code) <= _MAX_CODE_CHARACTERS or metadata.token_url is None:
            raise SignInFailed("the answer of the identity provider is invalid")
        fields, login = self._build_token_request(
            code, pending.code_verifier, sends_secret_in_body=metadata.sends_secret_in_body
        )
        status, data = await self._provider.post_form(metadata.token_url, fields, login)
        if status >= 500:
            raise ProviderUnavailable(f"its token endpoint has the status {status}")
        id_token = data.get("id_token")
        if status != 200 or not isinstance(id_token, str):
            raise SignInFailed("the identity provider did not accept its code")
        try:
            _, claims = await verify_signed_token(self._provider, id_token, {self._client_id}, self._clock())
            self._check_claims(claims, pending.nonce)
            # The roles of the person narrow these scopes: at the latest, the rules of an organization.
            principal = read_principal(self._provider.issuer, claims, self._claim_names, frozenset(SCOPES))
        except (InvalidSignedToken, InvalidUser) as error:
            raise SignInFailed(str(error)) from None
        # The session has its own duration: an ID token proves the sign-in, and is valid for minutes.
        return await to_thread.run_sync(self._users.authenticate, principal)

    def _check_claims(self, claims: Mapping[str, object], nonce: str) -> None:
        """Check what only an ID token has (OpenID Connect Core 1.0 §3.1.3.7)."""
        token_nonce = claims.get("nonce")
        if not isinstance(token_nonce, str) or not hmac.compare_digest(token_nonce.encode(), nonce.encode()):
            raise InvalidSignedToken("the ID token is for another sign-in")
        audience, authorized_party = claims.get("aud"), claims.get("azp")
        has_several = isinstance(audience, list) and len(audience) > 1
        if authorized_party != self._client_id and (authorized_party is not None or has_several):
            raise InvalidSignedToken("the ID token is for another client")

    def _build_token_request(
        self, code: str, code_verifier: str, *, sends_secret_in_body: bool
    ) -> tuple[dict[str, str], tuple[str, str] | None]:
        """Return the form for the token endpoint, and the login of the client (RFC 6749 §2.3.1)."""
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._callback_url,
            "code_verifier": code_verifier,
        }
        if self._client_secret is None:
            return {**fields, "client_id": self._client_id}, None
        if sends_secret_in_body:
            return {**fields, "client_id": self._client_id, "client_secret": self._client_secret}, None
        # Both parts are encoded before they are joined.
        return fields, (quote(self._client_id, safe=""), quote(self._client_secret, safe=""))
