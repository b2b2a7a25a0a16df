"""A server with an identity provider: challenges, scopes, metadata, and the sign-in on the pages."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from docyard.identity.identity import Identity, build_identity
from docyard.settings.settings import IdentitySection
from tests.docyard.http.conftest import BASE_URL, PORT, RunningApp
from tests.docyard.http.test_authentication import (
    COOKIE_NAME,
    HTML_HEADERS,
    JSON_HEADERS,
    PING,
    find_csrf_token,
)
from tests.docyard.identity.provider_site import (
    CLIENT_ID,
    CLIENT_SECRET,
    ISSUER,
    ProviderSite,
    sign_for_now,
)
from tests.loops import loop_over
from workspace.policy.tokens import READ_SCOPE, WRITE_SCOPE, Tokens
from workspace.proposals.approvals import evaluate_reviews
from workspace.workspace import Workspace

MCP_URL = f"{BASE_URL}/mcp"
METADATA_PATH = "/.well-known/oauth-protected-resource"
SIGN_IN_COOKIE = f"docyard_sign_in_{PORT}"
RULES = ({"group": "staff", "role": "reader"}, {"group": "editors", "role": "writer"})


@pytest.fixture(scope="module")
def site() -> ProviderSite:
    return ProviderSite()


@pytest.fixture(scope="module")
def app(start_app: Callable[..., RunningApp], site: ProviderSite) -> RunningApp:
    section = IdentitySection(
        issuer=ISSUER,
        audience=BASE_URL,
        client_id=CLIENT_ID,
        client_secret=CLIENT_SECRET,
        rules=RULES,
        people=({"issuer": ISSUER, "subject": "ana", "person": "ana"},),
    )

    def build(tokens: Tokens) -> Identity:
        tokens.add("ana", "Ana Li", "ana@example.org")
        return build_identity(section, BASE_URL, tokens, transport=site.transport)

    return start_app(build_identity=build)


def send(app: RunningApp, token: str, method: str = "ping", **params: Any) -> Any:
    message = {**PING, "method": method, **({"params": params} if params else {})}
    headers = {**JSON_HEADERS, "Authorization": f"Bearer {token}"}
    return app.new_client().post("/mcp", json=message, headers=headers)


def sign(site: ProviderSite, *groups: str, **claims: Any) -> str:
    return sign_for_now(site, {"aud": BASE_URL, "groups": list(groups), **claims})


@loop_over(("path", "metadata"), [("/mcp", "/mcp"), ("/", ""), ("/o/acme/docs/mcp", "/o/acme/docs/mcp")])
def test_request_without_token_is_challenged(app: RunningApp, path: str, metadata: str) -> None:
    response = app.new_client().post(path, json=PING)
    assert response.status_code == 401
    needed_scope = "docs:read" if metadata else "docs:write"
    assert response.headers["www-authenticate"] == (
        f'Bearer realm="docyard", resource_metadata="{BASE_URL}{METADATA_PATH}{metadata}", '
        f'scope="{needed_scope}"'
    )


@loop_over("path", ["", "/mcp", "/o/acme/docs/mcp", "/o/none/none/mcp"])
def test_metadata_name_the_resource(app: RunningApp, path: str) -> None:
    response = app.new_client().get(METADATA_PATH + path)
    assert response.status_code == 200
    assert response.json() == {
        "resource": BASE_URL + path,
        "authorization_servers": [ISSUER],
        "scopes_supported": ["docs:read", "docs:write", "docs:review", "docs:admin"],
        "bearer_methods_supported": ["header"],
        "resource_name": "Docyard",
    }
    for other_path in ("/doc/guide.md", "/", "/o/a/mcp", "/mcp/"):
        assert app.new_client().get(METADATA_PATH + other_path).status_code == 404


def test_server_without_provider_has_no_metadata(token_app: RunningApp) -> None:
    assert token_app.new_client().get(METADATA_PATH).status_code == 404


@loop_over(
    ("claims", "status", "error"),
    [
        ({"aud": MCP_URL}, 200, ""),
        ({"aud": BASE_URL}, 200, ""),
        ({"aud": f"{BASE_URL}/o/acme/docs/mcp"}, 401, "invalid_token"),
        ({"aud": "https://other.example"}, 401, "invalid_token"),
        ({"exp": 1}, 401, "invalid_token"),
        ({"iss": "https://evil.example"}, 401, "invalid_token"),
        ({"scope": "openid"}, 403, "insufficient_scope"),
        ({"scope": "docs:write"}, 403, "insufficient_scope"),
        ({"groups": []}, 403, "insufficient_scope"),
    ],
    ids=["endpoint", "server", "other server", "other", "expired", "foreign", "no scope", "write", "no role"],
)
def test_token_is_accepted_or_challenged_with_the_reason(
    app: RunningApp, site: ProviderSite, claims: dict[str, Any], status: int, error: str
) -> None:
    response = send(app, sign(site, "staff", **claims) if "groups" not in claims else sign(site))
    assert response.status_code == status, response.text
    challenge = response.headers.get("www-authenticate", "")
    assert f'error="{error}"' in challenge if error else not challenge
    assert ('scope="docs:read"' in challenge) is bool(error)


def test_token_is_refused_in_an_address(app: RunningApp, site: ProviderSite) -> None:
    token = sign(site, "staff")
    headers = {**JSON_HEADERS, "Authorization": f"Bearer {token}"}
    for path, name in (("/mcp", "token"), ("/mcp", "access_token"), ("/doc/guide.md", "access_token")):
        response = app.new_client().post(path, params={name: token}, json=PING, headers=headers)
        assert response.status_code == 401
        assert 'error="invalid_request"' in response.headers["www-authenticate"]
        assert token not in response.text


EDIT = {"operation": "add_task", "file": "guide.md", "slug": "tasks", "title": "From a user"}


def test_scopes_and_roles_decide_which_tools_are_offered(app: RunningApp, site: ProviderSite) -> None:
    head = app.repo.git("rev-parse", "HEAD")
    for token in (
        sign(site, "staff", scope="docs:read docs:write docs:admin"),
        sign(site, "editors", scope="docs:read"),
    ):
        tools = {tool["name"] for tool in send(app, token, "tools/list").json()["result"]["tools"]}
        assert "search_docs" in tools
        assert not tools & {"edit_document", "create_document", "update_proposal", "propose_changes"}
        body = send(app, token, "tools/call", name="edit_document", arguments=EDIT).json()
        assert "Unknown tool" in body["error"]["message"]
        form = {"message": "x", "content": "New.", "csrf": "x"}
        page_headers = {"Authorization": f"Bearer {token}"}
        response = app.new_client().post("/edit/guide.md", data=form, headers=page_headers)
        assert response.status_code == 403
        assert 'error="insufficient_scope"' in response.headers["www-authenticate"]
        assert 'scope="docs:write"' in response.headers["www-authenticate"]
    assert app.repo.git("rev-parse", "HEAD") == head
    token = sign(site, "editors")
    body = send(app, token, "tools/call", name="edit_document", arguments=EDIT).json()
    assert not body["result"].get("isError")
    assert app.repo.git("rev-parse", "HEAD") != head
    assert "Docyard-Person" not in app.repo.git("log", "-1", "--format=%(trailers:only)")


def test_mapped_subject_writes_as_their_person(app: RunningApp, site: ProviderSite) -> None:
    edit = {**EDIT, "title": "From Ana"}
    body = send(app, sign(site, sub="ana"), "tools/call", name="edit_document", arguments=edit).json()
    assert not body["result"].get("isError")
    assert "Docyard-Person: ana" in app.repo.git("log", "-1", "--format=%(trailers:only)")


@pytest.fixture
def provider_down(site: ProviderSite) -> Iterator[None]:
    site.is_down = True
    yield
    site.is_down = False


def test_token_that_cannot_be_checked_gets_503(
    app: RunningApp, site: ProviderSite, provider_down: None
) -> None:
    response = send(app, site.sign({"aud": BASE_URL}, kid="unknown"))
    assert response.status_code == 503
    assert response.headers["retry-after"] == "5"
    # Docyard's own tokens do not need the provider.
    assert send(app, app.token).status_code == 200


def test_scoped_token_of_a_repository_only_reads(app: RunningApp) -> None:
    secret = app.person_tokens.add("reader", "Rea", "rea@example.org", scopes=frozenset({READ_SCOPE}))
    tools = {tool["name"] for tool in send(app, secret, "tools/list").json()["result"]["tools"]}
    assert "search_docs" in tools
    assert "edit_document" not in tools
    browser = app.sign_in(secret)
    page = browser.get("/", headers=HTML_HEADERS)
    assert page.status_code == 200
    response = browser.post("/proposals/x/approve", data={"csrf": find_csrf_token(page.text)})
    assert response.status_code == 403
    app.person_tokens.revoke("reader")


AGENT_SCOPES = frozenset({READ_SCOPE, WRITE_SCOPE})


def test_token_without_the_scope_for_reviews_only_proposes(app: RunningApp, site: ProviderSite) -> None:
    secret = app.person_tokens.add("ann", "Ann", "ann@example.org", scopes=AGENT_SCOPES)
    edit = {"operation": "add_task", "file": "specs/api.md", "slug": "calls", "title": "By an agent"}
    body = send(app, secret, "tools/call", name="edit_document", arguments=edit).json()
    proposal = body["result"]["structuredContent"]["proposal"]
    # The access token of a client to which Ana granted these scopes only.
    granted_token = sign(site, sub="ana", scope="docs:read docs:write")

    def act(token: str, action: str, **fields: str) -> dict[str, Any]:
        arguments = {"proposal": proposal, "action": action, **fields}
        response = send(app, token, "tools/call", name="update_proposal", arguments=arguments)
        answer: dict[str, Any] = response.json()["result"]["structuredContent"]
        return answer

    for token in (secret, granted_token):
        assert "error" not in act(token, "comment", text="Ready.")
        for action in ("approve", "request_changes", "merge"):
            answer = act(token, action, **({"text": "No."} if action == "request_changes" else {}))
            assert answer["code"] in (("MERGE_BLOCKED",) if action == "merge" else ("NEEDS_PERSON",)), answer
            if action != "merge":
                assert f"docyard proposals {action.replace('_', '-')} {proposal}" in answer["fix"]
    # A reviewer's token approves; the tokens without the scope cannot merge even then.
    reviewer = app.person_tokens.add("rev", "Rev", "rev@example.org")
    assert "error" not in act(reviewer, "approve")
    for token in (secret, granted_token):
        assert act(token, "merge")["code"] == "NEEDS_PERSON"
    browser = app.sign_in(secret)
    page = browser.get(f"/proposals/{proposal}", headers=HTML_HEADERS)
    tip = Workspace.open(app.repo.path).proposal_actions().find(proposal).tip
    form = {"csrf": find_csrf_token(page.text), "commit": tip}
    assert browser.post(f"/proposals/{proposal}/merge", data=form).status_code == 403
    assert "error" not in act(reviewer, "merge")
    app.person_tokens.revoke("ann")
    app.person_tokens.revoke("rev")


def test_expired_token_of_a_repository_ends_its_sessions(
    app: RunningApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = int(time.time())
    secret = app.person_tokens.add("short", "Sho", "sho@example.org", expires_at=now + 1_000)
    browser = app.sign_in(secret)
    assert browser.get("/").status_code == 200
    monkeypatch.setattr(time, "time", lambda: now + 1_001.0)
    assert browser.get("/").status_code == 401
    assert send(app, secret).status_code == 401
    app.person_tokens.revoke("short")


def begin_sign_in(app: RunningApp, after: str = "/doc/guide.md") -> tuple[TestClient, str]:
    browser = app.new_client()
    response = browser.get("/login/provider", params={"after": after})
    assert response.status_code == 303
    cookie = response.headers["set-cookie"]
    for attribute in ("HttpOnly", "SameSite=lax", "Path=/login", "Max-Age=600"):
        assert attribute in cookie
    return browser, response.headers["location"]


@pytest.fixture
def _real_time(site: ProviderSite, monkeypatch: pytest.MonkeyPatch) -> None:
    now = int(time.time())
    sign = site.sign
    monkeypatch.setattr(
        site,
        "sign",
        lambda claims=None, key="", **header: sign(
            {"iat": now, "exp": now + 600, **(claims or {})}, key, **header
        ),
    )


@pytest.mark.usefixtures("_real_time")
def test_person_signs_in_and_out(app: RunningApp, site: ProviderSite) -> None:
    login_page = app.new_client().get("/doc/guide.md?ref=main", headers=HTML_HEADERS)
    assert login_page.status_code == 401
    assert "Sign in with login.example.org" in login_page.text
    assert "/login/provider?after=%2Fdoc%2Fguide.md%3Fref%3Dmain" in login_page.text
    browser, url = begin_sign_in(app, "/doc/guide.md?ref=main")
    response = browser.get("/login/callback", params=site.authorize(url, {"sub": "ana"}))
    assert (response.status_code, response.headers["location"]) == (303, "/doc/guide.md?ref=main")
    assert SIGN_IN_COOKIE not in browser.cookies
    page = browser.get("/", headers=HTML_HEADERS)
    assert page.status_code == 200
    assert "Ana Li" in page.text
    # A session is not accepted at the endpoint.
    assert browser.post("/mcp", json=PING, headers=JSON_HEADERS).status_code == 401
    csrf = find_csrf_token(page.text)
    assert browser.post("/logout", data={"csrf": csrf}).headers["location"] == "/login"
    assert browser.get("/").status_code == 401


@pytest.mark.usefixtures("_real_time")
def test_user_without_a_role_may_read_nothing(app: RunningApp, site: ProviderSite) -> None:
    browser, url = begin_sign_in(app)
    assert browser.get("/login/callback", params=site.authorize(url, {"sub": "x"})).status_code == 303
    assert browser.get("/", headers=HTML_HEADERS).status_code == 403
    assert browser.get("/login", headers=HTML_HEADERS).status_code == 200
    browser, url = begin_sign_in(app)
    answer = site.authorize(url, {"sub": "x", "groups": ["staff"]})
    assert browser.get("/login/callback", params=answer).status_code == 303
    page = browser.get("/", headers=HTML_HEADERS)
    assert page.status_code == 200
    assert browser.post("/edit/guide.md", data={"csrf": find_csrf_token(page.text)}).status_code == 403


@pytest.mark.usefixtures("_real_time")
def test_sign_in_of_another_browser_is_refused(app: RunningApp, site: ProviderSite) -> None:
    _, attacker_url = begin_sign_in(app)
    attacker_answer = site.authorize(attacker_url, {"sub": "ana"})
    victim, victim_url = begin_sign_in(app)
    for browser in (victim, app.new_client()):
        response = browser.get("/login/callback", params=attacker_answer)
        assert response.status_code == 401
        assert COOKIE_NAME not in browser.cookies
        assert "begun in another browser" in response.text
    cookie_value = app.new_client().get("/login/provider").cookies[SIGN_IN_COOKIE]
    for value in ("", "x", "é", cookie_value[:64], "0" * 64 + cookie_value[64:], cookie_value[:-4] + "AAAA"):
        headers = [(b"Cookie", f"{SIGN_IN_COOKIE}={value}".encode("latin-1"))]
        answer = site.authorize(victim_url)
        assert app.new_client().get("/login/callback", params=answer, headers=headers).status_code == 401
    for answer in ({}, {"state": "x"}, {"error": "access_denied"}, {"code": "x" * 9_000}):
        browser, _ = begin_sign_in(app)
        assert browser.get("/login/callback", params=answer).status_code == 401


@loop_over("after", ["//evil.example", "https://evil.example", "/\\evil.example", "/login", "", "x" * 20_000])
def test_sign_in_redirects_only_to_own_pages(app: RunningApp, after: str) -> None:
    browser, _ = begin_sign_in(app, after)
    assert browser.cookies[SIGN_IN_COOKIE]
    assert "evil" not in browser.get("/login/callback").text


def test_sign_in_begins_only_on_own_pages(app: RunningApp) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    response = app.new_client().get("/login/provider", headers=headers)
    assert response.status_code == 200
    assert "Sign in with" in response.text


@pytest.mark.usefixtures("_real_time")
def test_rotated_token_ends_the_sessions_of_its_person(app: RunningApp, site: ProviderSite) -> None:
    browser, url = begin_sign_in(app)
    assert browser.get("/login/callback", params=site.authorize(url, {"sub": "ana"})).status_code == 303
    assert browser.get("/").status_code == 200
    app.person_tokens.rotate("ana")
    assert browser.get("/").status_code == 401


@pytest.mark.usefixtures("_real_time")
def test_only_a_mapped_person_approves(app: RunningApp, site: ProviderSite) -> None:
    edit = {"operation": "add_task", "file": "specs/api.md", "slug": "calls", "title": "Reviewed"}
    body = send(app, sign(site, "editors"), "tools/call", name="edit_document", arguments=edit).json()
    proposal = body["result"]["structuredContent"]["proposal"]
    actions = Workspace.open(app.repo.path).proposal_actions()
    found_proposal = actions.find(proposal)
    statuses = {}
    # The first user has the address and the name of the person, which prove nothing.
    claims = {"email": "ana@example.org", "email_verified": True, "name": "Ana Li", "groups": ["editors"]}
    for subject in ("eve", "ana"):
        browser, url = begin_sign_in(app)
        answer = site.authorize(url, {**claims, "sub": subject})
        assert browser.get("/login/callback", params=answer).status_code == 303
        page = browser.get(f"/proposals/{proposal}", headers=HTML_HEADERS).text
        form = {"csrf": find_csrf_token(page), "commit": found_proposal.tip, "text": "Good."}
        statuses[subject] = browser.post(f"/proposals/{proposal}/approve", data=form).status_code
    assert statuses == {"eve": 403, "ana": 303}
    found_proposal = actions.find(proposal)
    events = actions.list_events(found_proposal)
    reviews = evaluate_reviews(found_proposal, events, app.person_tokens, frozenset())
    assert [person.token for person in reviews.approvers] == ["ana"]
