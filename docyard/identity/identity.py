"""The identity provider of a server, from its settings. Incomplete settings are refused at the start."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple
from urllib.parse import urlsplit

from docyard.identity.rules import Role, Rule
from docyard.identity.verifier import Verifier
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    import httpx2

    from docyard.identity.sign_in import SignIn
    from docyard.settings.settings import IdentitySection
    from workspace.policy.tokens import Tokens

CALLBACK_PATH = "/login/callback"


class IncompleteIdentity(WorkspaceError):
    """The settings of [identity] are incomplete, or contradict each other."""

    code: ClassVar[str] = "INCOMPLETE_IDENTITY"


class Identity(NamedTuple):
    """The identity provider of a server. All fields are empty if it has none.

    `verifiers` accept its access tokens. `sign_in` is None if people do not sign in on the pages. `base_url`
    is the URL of the server, without a slash at the end.
    """

    verifiers: Sequence[Verifier] = ()
    sign_in: SignIn | None = None
    issuers: Sequence[str] = ()
    base_url: str = ""


NO_IDENTITY = Identity()


def check_identity(section: IdentitySection, page_url: str | None) -> None:
    """Raise IncompleteIdentity if a setting is missing that another needs. `page_url` is the server's URL."""
    if section.issuer is None:
        for name in ("audience", "client_id", "client_secret", "people", "rules"):
            if getattr(section, name):
                raise IncompleteIdentity(
                    f"the setting identity.{name} needs identity.issuer",
                    fix='Set issuer = "https://…" in [identity], or remove the setting.',
                )
        return
    _check_issuer(section.issuer)
    if section.audience is None:
        raise IncompleteIdentity(
            "the setting identity.issuer needs identity.audience",
            fix="Set audience to the name by which the provider knows this server, such as its URL. Without "
            "it, a token for any other service would be valid here.",
        )
    if section.audience == section.client_id:
        raise IncompleteIdentity(
            "identity.audience and identity.client_id are the same",
            fix="Register this server as an API with an audience of its own. Otherwise a token that only "
            "proves a sign-in would be valid as an access token.",
        )
    if section.client_secret is not None and section.client_id is None:
        raise IncompleteIdentity(
            "the setting identity.client_secret needs identity.client_id",
            fix="Set client_id in [identity], or remove the secret.",
        )
    if "openid" not in section.sign_in_scopes:
        raise IncompleteIdentity(
            "identity.sign_in_scopes does not contain openid",
            fix='Write sign_in_scopes = ["openid", "profile"].',
        )
    if _find_base_url(section.audience, page_url) is None:
        raise IncompleteIdentity(
            "the URL of this server is unknown, which clients and the provider need",
            fix="Set it with --page-url https://…, or page_url in [http].",
        )
    for person in section.people:
        if person.issuer != section.issuer:
            raise IncompleteIdentity(
                f"identity.people has a person of another issuer ({person.issuer[:200]})",
                fix="Write the same issuer as in [identity]: no other is accepted.",
            )
    identities = [(person.issuer, person.subject) for person in section.people]
    if len(set(identities)) < len(identities):
        raise IncompleteIdentity(
            "identity.people names the same subject twice", fix="Map each subject to one person."
        )


def _check_issuer(issuer: str) -> None:
    parts = urlsplit(issuer)
    is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and issuer.isprintable()
    if not is_url or parts.query or parts.fragment or parts.username is not None or " " in issuer:
        raise IncompleteIdentity(
            "identity.issuer must be a URL without a user name, a query or a fragment",
            fix='Write issuer = "https://…", as the provider names itself.',
        )
    if parts.scheme == "http" and not _is_loopback(parts.hostname or ""):
        raise IncompleteIdentity(
            "identity.issuer must begin with https://, because its keys decide who is accepted",
            fix="Use the https:// address of the provider; http:// is accepted only for this machine.",
        )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _find_base_url(audience: str, page_url: str | None) -> str | None:
    """Return the URL of the server: that of its pages, or else the origin of the audience."""
    if page_url is not None:
        return page_url.rstrip("/")
    parts = urlsplit(audience)
    if parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(parts.hostname or "")):
        return f"{parts.scheme}://{parts.netloc}"
    return None


def build_identity(
    section: IdentitySection,
    page_url: str | None,
    tokens: Tokens | None,
    *,
    has_rules: bool = True,
    operator_groups: Sequence[str] = (),
    transport: httpx2.AsyncBaseTransport | None = None,
) -> Identity:
    """Return the identity provider of a server. Raises IncompleteIdentity.

    `tokens` are those of the repository to which people are mapped. With `has_rules` the rules of the file
    narrow what users may do; without, the caller does, such as a server of organizations by its group rules.
    The members of `operator_groups` operate the server.
    """
    check_identity(section, page_url)
    if section.issuer is None or section.audience is None:
        return NO_IDENTITY
    # PyJWT is installed by the extra `server` only, and most servers have no provider.
    from docyard.identity.provider import Provider
    from docyard.identity.resource_server import ResourceServer
    from docyard.identity.sign_in import SignIn
    from docyard.identity.users import ClaimNames, Users

    for person in section.people:
        if tokens is None or not _may_exist(tokens, person.person):
            raise IncompleteIdentity(
                f"identity.people names the token '{person.person[:60]}', which does not exist",
                fix=f"Create it with `docyard tokens add {person.person[:60]}`, or remove the person.",
            )
    rules = [Rule(rule.group, "", Role.parse(rule.role)) for rule in section.rules] if has_rules else None
    people = {(person.issuer, person.subject): person.person for person in section.people}
    users = Users(people, tokens, rules, operator_groups)
    claim_names = ClaimNames(section.groups_claim, None if has_rules else section.organization_claim)
    provider = Provider(section.issuer, transport=transport)
    base_url = _find_base_url(section.audience, page_url) or ""
    sign_in = None
    if section.client_id is not None:
        secret = None if section.client_secret is None else section.client_secret.get_secret_value()
        sign_in = SignIn(
            provider,
            section.client_id,
            secret,
            base_url + CALLBACK_PATH,
            users,
            claim_names,
            section.sign_in_scopes,
        )
    verifiers = (ResourceServer(provider, section.audience, users, claim_names),)
    return Identity(verifiers, sign_in, (section.issuer,), base_url)


def _may_exist(tokens: Tokens, name: str) -> bool:
    """Return False if there is no token of a name; True while the tokens that nodes share cannot be read."""
    from index.port import EngineUnavailable

    try:
        return tokens.find_owner(name) is not None
    except EngineUnavailable:
        return True
