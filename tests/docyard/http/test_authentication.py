"""Authentication by token or session, and the start and end of sessions."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from docyard.caller import READ_SCOPE, SCOPES, WRITE_SCOPE, Principal
from docyard.database.errors import DatabaseUnavailable
from docyard.http.authentication import AuthenticationMiddleware, FailedLoginThrottle, TokenVerifier
from docyard.http.login_page import MAX_FORM_BYTES
from docyard.identity.rules import Role, Rule
from docyard.identity.users import Users
from docyard.identity.verifier import Authenticated, TokenRefusal, digest_token_key
from docyard.sessions.engine import open_engine_sessions
from docyard.sessions.memory import MemorySessions
from index.postgres.options import create_engine_options
from index.postgres.shared_tokens import PostgresTokenStorage
from tests.docyard.http.conftest import PORT, RunningApp
from tests.loops import loop_over
from tests.postgres_server import run_postgres
from workspace.policy.shared_tokens import SharedTokens
from workspace.policy.tokens import Person, Tokens

HTML_HEADERS = {"Accept": "text/html"}
COOKIE_NAME = f"docyard_session_{PORT}"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
JSON_HEADERS = {"Accept": "application/json"}


@pytest.fixture(scope="module")
def ana_token(repository: object, token_app: RunningApp) -> str:
    return token_app.person_tokens.add("ana", "Ana Li", "ana@example.org")


@pytest.fixture
def ben_token(token_app: RunningApp) -> Iterator[str]:
    yield token_app.person_tokens.add("ben", "Ben Ode", "ben@example.org")
    if token_app.person_tokens.find_owner("ben"):
        token_app.person_tokens.revoke("ben")


def find_csrf_token(page: str) -> str:
    return page.partition('name="csrf" value="')[2].partition('"')[0]


PROTECTED_PATHS = (
    *("/", "/folder/specs", "/doc/guide.md", "/raw/guide.md", "/history/guide.md", "/blame/guide.md"),
    *("/commit/HEAD", "/edit/guide.md", "/search", "/proposals", "/events", "/none", "/mcp"),
)


@loop_over("path", PROTECTED_PATHS)
def test_request_without_token_returns_401(token_app: RunningApp, path: str) -> None:
    response = token_app.new_client().get(path)
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == 'Bearer realm="docyard"'
    assert "Guide" not in response.text
    assert COOKIE_NAME not in response.cookies


@loop_over(
    "authorization",
    [
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        "Bearer " + "x" * 5000,
        "Basic QTpC",
        "wrong",
        "Bearer é",
        "Bearer {t} x",
    ],
    ids=["no token", "empty", "wrong", "huge", "basic", "no scheme", "not ASCII", "two tokens"],
)
@loop_over("path", ["/", "/mcp"])
def test_wrong_token_returns_401(token_app: RunningApp, authorization: str, path: str) -> None:
    value = authorization.replace("{t}", token_app.token).encode("latin-1")
    response = token_app.new_client().get(path, headers=[(b"Authorization", value)])
    assert response.status_code == 401
    assert "WWW-Authenticate" in response.headers


def test_all_invalid_tokens_have_the_same_answer(token_app: RunningApp) -> None:
    tokens = token_app.person_tokens
    expired = tokens.add("cem", "Cem Oz", "cem@example.org", expires_at=1)
    revoked = tokens.add("dan", "Dan Roe", "dan@example.org")
    tokens.revoke("dan")
    answers = {
        token_app.new_client()
        .post("/mcp", json=PING, headers={**JSON_HEADERS, "Authorization": f"Bearer {token}"})
        .text
        for token in (expired, revoked, "wrong")
    }
    (answer,) = answers
    assert all(text in answer for text in ("have expired", "been revoked", "server's operator"))


def test_login_page_names_the_reasons_for_an_invalid_token(token_app: RunningApp) -> None:
    page = token_app.new_client().post("/login", data={"token": "wrong", "after": "/"}).text
    assert "It may have expired, have been revoked" in page


def test_bearer_token_starts_no_session(token_app: RunningApp, ana_token: str) -> None:
    program = token_app.new_client()
    csrf_tokens = set()
    for token in (token_app.token, ana_token):
        headers = {"Authorization": f"bearer {token}"}
        response = program.get("/", headers=headers)
        assert response.status_code == 200
        assert not response.cookies
        csrf_tokens.add(find_csrf_token(program.get("/edit/guide.md", headers=headers).text))
    assert sorted(map(len, csrf_tokens)) == [64, 64]  # each token has its own CSRF token
    repeated_header = [("Authorization", f"Bearer {token_app.token}")] * 2
    assert program.get("/", headers=repeated_header).status_code == 401


def test_printed_url_starts_a_session(token_app: RunningApp) -> None:
    browser = token_app.new_client()
    response = browser.get("/", params={"token": token_app.token, "ref": "main"})
    assert response.status_code == 303
    assert response.headers["location"] == "/?ref=main"
    assert response.headers["referrer-policy"] == "no-referrer"
    cookie = response.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE_NAME}=")
    for attribute in ("HttpOnly", "SameSite=lax", "Path=/"):
        assert attribute in cookie
    assert "Secure" not in cookie
    assert "Domain" not in cookie
    assert token_app.token not in cookie
    assert "Guide" in browser.get("/library", headers=HTML_HEADERS).text


def test_wrong_url_token_starts_no_session(token_app: RunningApp) -> None:
    browser = token_app.new_client()
    for token in ("", "wrong", token_app.token[:-1]):
        response = browser.get("/", params={"token": token}, headers=HTML_HEADERS)
        assert response.status_code == 401
        assert "Sign in" in response.text
        assert not browser.cookies
    # Only GET / accepts a token in the URL, so a prefetch of a page starts no session.
    assert browser.get("/doc/guide.md", params={"token": token_app.token}).status_code == 401
    assert browser.head("/", params={"token": token_app.token}).status_code == 401
    assert browser.post("/mcp", params={"token": token_app.token}, json=PING).status_code == 401


@pytest.mark.parametrize(("site", "name"), [("cross-site", "Ana Li"), ("none", "Ben Ode")])
def test_link_replaces_a_session_unless_it_is_cross_site(
    token_app: RunningApp, ana_token: str, ben_token: str, site: str, name: str
) -> None:
    link_headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
    browser = token_app.sign_in(ana_token)
    assert browser.get("/", params={"token": ben_token}, headers=link_headers).status_code == 303
    assert name in browser.get("/", headers=HTML_HEADERS).text
    # In a browser without a session, the same link starts a session.
    other_browser = token_app.new_client()
    other_browser.get("/", params={"token": ben_token}, headers=link_headers)
    assert "Ben Ode" in other_browser.get("/", headers=HTML_HEADERS).text


def test_person_signs_in_and_out(token_app: RunningApp, ana_token: str) -> None:
    browser = token_app.new_client()
    login_page = browser.get("/doc/guide.md?ref=main", headers=HTML_HEADERS)
    assert login_page.status_code == 401
    assert 'name="after" value="/doc/guide.md?ref=main"' in login_page.text
    failed_login = browser.post("/login", data={"token": "wrong", "after": "/search"})
    assert failed_login.status_code == 401
    assert 'name="after" value="/search"' in failed_login.text
    response = browser.post("/login", data={"token": f" {ana_token}\n", "after": "/doc/guide.md?ref=main"})
    assert (response.status_code, response.headers["location"]) == (303, "/doc/guide.md?ref=main")
    page = browser.get("/", headers=HTML_HEADERS).text
    assert "Ana Li" in page
    old_cookie_value = browser.cookies[COOKIE_NAME]
    assert browser.post("/logout", data={"csrf": "wrong"}).headers["location"] == "/"
    assert browser.get("/").status_code == 200
    # A sender without a token cannot fill the memory with large forms.
    large_form = {"csrf": find_csrf_token(page), "text": "x" * MAX_FORM_BYTES}
    assert browser.post("/logout", data=large_form).headers["location"] == "/"
    assert browser.post("/logout", data={"csrf": find_csrf_token(page)}).headers["location"] == "/login"
    assert not browser.cookies
    assert browser.get("/", headers=HTML_HEADERS).status_code == 401
    old_cookie = {"Cookie": f"{COOKIE_NAME}={old_cookie_value}"}
    assert token_app.new_client().get("/", headers=old_cookie).status_code == 401


@loop_over("has_token", [True, False], ids=["with-a-token", "without"])
def test_anonymous_session_can_sign_in_as_person(
    token_app: RunningApp, app_without_tokens: RunningApp, ana_token: str, has_token: bool
) -> None:
    browser = token_app.sign_in() if has_token else app_without_tokens.new_client()
    return_path = "/proposals/k7m2q9xa#[approve]"
    form = browser.get("/login", params={"after": return_path}, headers=HTML_HEADERS)
    assert form.status_code == 200
    assert f'name="after" value="{return_path}"' in form.text
    assert f'href="{return_path}">Back' in form.text
    response = browser.post("/login", data={"token": ana_token, "after": return_path})
    assert (response.status_code, response.headers["location"]) == (303, return_path)
    login_page = browser.get("/login", params={"after": "/search"}, headers=HTML_HEADERS)
    assert (login_page.status_code, login_page.headers["location"]) == (303, "/search")


INVALID_RETURN_PATHS = (
    *("//evil.example", "/\\evil.example", "https://evil.example", "/\t/evil.example"),
    *("evil", "", "/login", "/é", "/" + "x" * 20_000),
)


@loop_over("after", INVALID_RETURN_PATHS, ids=range(len(INVALID_RETURN_PATHS)))
def test_login_does_not_redirect_to_another_site(token_app: RunningApp, after: str) -> None:
    response = token_app.new_client().post("/login", data={"token": token_app.token, "after": after})
    assert (response.status_code, response.headers.get("location")) in ((303, "/"), (400, None))


@loop_over("content", [b"token=\xff", b"a=1&" * 20, b"", b"x" * 20_000, b"token=%ff%fe&after=/"])
def test_invalid_login_form_is_refused(token_app: RunningApp, content: bytes) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    assert token_app.new_client().post("/login", content=content, headers=headers).status_code in (400, 401)
    assert token_app.new_client().post("/login", json={"token": token_app.token}).status_code == 400


def test_cookie_without_session_of_this_server_is_refused(token_app: RunningApp) -> None:
    for value in ("", "x", token_app.token, "x" * 9000):
        assert (
            token_app.new_client().get("/", headers={"Cookie": f"{COOKIE_NAME}={value}"}).status_code == 401
        )
    browser = token_app.sign_in()
    value = browser.cookies[COOKIE_NAME]
    assert (
        token_app.new_client().get("/", headers={"Cookie": f"docyard_session_1={value}"}).status_code == 401
    )
    assert (
        token_app.new_client().get("/", headers={"Cookie": f"a=b; {COOKIE_NAME}={value}"}).status_code == 200
    )


def test_second_sign_in_ends_the_first_session(token_app: RunningApp, ana_token: str) -> None:
    browser = token_app.sign_in()
    first_cookie_value = browser.cookies[COOKIE_NAME]
    assert browser.post("/login", data={"token": ana_token, "after": "/"}).status_code == 303
    assert (
        token_app.new_client().get("/", headers={"Cookie": f"{COOKIE_NAME}={first_cookie_value}"}).status_code
        == 401
    )
    assert "Ana Li" in browser.get("/", headers=HTML_HEADERS).text


def test_session_is_refused_at_the_mcp_endpoint(token_app: RunningApp) -> None:
    assert token_app.sign_in().post("/mcp", json=PING, headers=JSON_HEADERS).status_code == 401


def test_wrong_token_is_refused_despite_a_session(token_app: RunningApp) -> None:
    assert token_app.sign_in().get("/", headers={"Authorization": "Bearer wrong"}).status_code == 401


def test_revoked_token_ends_its_sessions(token_app: RunningApp, ben_token: str, ana_token: str) -> None:
    ben_browser, ana_browser = token_app.sign_in(ben_token), token_app.sign_in(ana_token)
    assert ben_browser.get("/").status_code == 200
    Tokens(token_app.repo.path / ".git").revoke("ben")
    assert ben_browser.get("/").status_code == 401
    assert ben_browser.get("/", headers={"Authorization": f"Bearer {ben_token}"}).status_code == 401
    assert ana_browser.get("/").status_code == 200
    # A new token of the same name does not renew the session.
    token_app.person_tokens.add("ben", "Ben Ode", "ben@example.org")
    assert ben_browser.get("/").status_code == 401


def test_new_token_does_not_continue_old_sessions(token_app: RunningApp, ben_token: str) -> None:
    browser = token_app.sign_in(ben_token)
    token_app.person_tokens.revoke("ben")
    token_app.person_tokens.add("ben", "Ben Ode", "ben@example.org")
    assert browser.get("/").status_code == 401


def test_people_are_refused_if_tokens_file_is_readable_by_others(
    token_app: RunningApp, ana_token: str
) -> None:
    ana_browser, server_browser = token_app.sign_in(ana_token), token_app.sign_in()
    tokens_file = token_app.repo.path / ".git/docyard/tokens.json"
    tokens_file.chmod(0o644)
    try:
        assert ana_browser.get("/").status_code == 401
        headers = {"Authorization": f"Bearer {ana_token}"}
        assert token_app.new_client().get("/", headers=headers).status_code == 401
        assert server_browser.get("/").status_code == 200
    finally:
        tokens_file.chmod(0o600)
    assert token_app.sign_in(ana_token).get("/").status_code == 200


def test_cookie_is_secure_behind_an_https_proxy(proxied_app: RunningApp, token_app: RunningApp) -> None:
    headers = {"Host": "docs.example.org", "X-Forwarded-Proto": "https"}
    cookie = (
        proxied_app.new_client()
        .get("/", params={"token": proxied_app.token}, headers=headers)
        .headers["set-cookie"]
    )
    assert "Secure" in cookie
    for browser, token, headers in (
        (
            proxied_app.new_client(),
            proxied_app.token,
            {"Host": "docs.example.org", "X-Forwarded-Proto": "http"},
        ),
        (proxied_app.new_client(), proxied_app.token, {"X-Forwarded-Proto": "https"}),
        (token_app.new_client(), token_app.token, {"X-Forwarded-Proto": "https"}),
    ):
        cookie = browser.get("/", params={"token": token}, headers=headers).headers["set-cookie"]
        assert "Secure" not in cookie


def test_server_without_token_accepts_requests_without_token(
    app_without_tokens: RunningApp, ana_token: str
) -> None:
    browser = app_without_tokens.new_client()
    page = browser.get("/", headers=HTML_HEADERS)
    assert page.status_code == 200
    assert browser.get("/", params={"token": "old"}).headers["location"] == "/"
    assert not browser.cookies
    assert browser.post("/mcp", json=PING, headers=JSON_HEADERS).status_code == 200
    # Forms still require their CSRF token, and a user can still sign in.
    assert browser.post("/logout", data={"csrf": "wrong"}).headers["location"] == "/"
    assert browser.post("/login", data={"token": ana_token, "after": "/"}).status_code == 303
    assert "Ana Li" in browser.get("/", headers=HTML_HEADERS).text
    assert browser.get("/", headers={"Authorization": "Bearer wrong"}).status_code == 401


def test_csrf_token_of_another_session_is_refused(token_app: RunningApp, ana_token: str) -> None:
    browser, other_browser = token_app.sign_in(), token_app.sign_in(ana_token)
    other_csrf_token = find_csrf_token(other_browser.get("/", headers=HTML_HEADERS).text)
    assert len(other_csrf_token) == 64
    form = {"message": "x", "content": "New.", "csrf": other_csrf_token}
    head = token_app.repo.git("rev-parse", "--all")
    assert browser.post("/edit/guide.md", data=form).status_code == 403
    assert browser.post("/edit/guide.md", data={**form, "csrf": ""}).status_code == 403
    assert token_app.repo.git("rev-parse", "--all") == head


def test_read_only_server_refuses_all_writes(read_only_app: RunningApp) -> None:
    browser = read_only_app.sign_in()
    page = browser.get("/", headers=HTML_HEADERS).text
    head = read_only_app.repo.git("rev-parse", "--all")
    for path in ("/edit/guide.md", "/proposals/x/merge", "/proposals/x/comment"):
        response = browser.post(path, data={"csrf": find_csrf_token(page), "content": "x", "text": "x"})
        assert response.status_code == 403
    headers = {"Authorization": f"Bearer {read_only_app.token}", **JSON_HEADERS}
    call = {"name": "create_document", "arguments": {"doc_type": "runbook", "title": "X"}}
    tool_list = browser.post("/mcp", json={**PING, "method": "tools/list"}, headers=headers).json()
    assert not {"create_document", "edit_document", "update_proposal"} & {
        tool["name"] for tool in tool_list["result"]["tools"]
    }
    body = browser.post("/mcp", json={**PING, "method": "tools/call", "params": call}, headers=headers).json()
    assert "Unknown tool" in body["error"]["message"]
    assert read_only_app.repo.git("rev-parse", "--all") == head


@loop_over(
    ("agent", "client"),
    [("some-agent/2.0 (cli)", "some-agent"), ("x\tDocyard-Person: ana", "x"), ("(none)", "unknown")],
    ids=["a product", "a product and a trailer", "none"],
)
def test_commit_author_is_the_owner_of_the_token(
    app_without_tokens: RunningApp, ana_token: str, agent: str, client: str
) -> None:
    edit = {"operation": "add_task", "file": "guide.md", "slug": "tasks", "title": agent.split("\t")[0]}
    message = {**PING, "method": "tools/call", "params": {"name": "edit_document", "arguments": edit}}
    headers = {**JSON_HEADERS, "Authorization": f"Bearer {ana_token}", "User-Agent": agent}
    body = app_without_tokens.new_client().post("/mcp", json=message, headers=headers).json()
    assert not body["result"].get("isError")
    log = app_without_tokens.repo.git("log", "-1", "--format=%an %cn%n%(trailers:only)")
    assert log.splitlines()[0] == "Ana Li Ana Li"
    assert f"Docyard-Client: {client}\n" in log
    assert log.count("Docyard-Person: ana\n") == 1


def test_no_response_contains_a_token(token_app: RunningApp, ana_token: str) -> None:
    browser = token_app.sign_in(ana_token)
    for path in ("/", "/none", "/login"):
        response = browser.get(path, headers=HTML_HEADERS)
        for secret in (token_app.token, ana_token):
            assert secret not in response.text
            assert secret not in str(response.headers)
    assert "wrong-token" not in token_app.new_client().get("/", params={"token": "wrong-token"}).text


def test_form_of_a_session_that_has_ended_is_answered_with_what_to_do(token_app: RunningApp) -> None:
    client = token_app.new_client()
    response = client.post("/logout", data={"csrf": "x"}, headers=HTML_HEADERS)
    assert response.status_code == 401
    assert "you are signed out" in response.text
    assert "sign in at /login" in response.text
    assert "Bearer TOKEN" in client.post("/logout", data={"csrf": "x"}).text


def test_anonymous_request_that_needs_more_scopes_returns_401() -> None:
    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        await PlainTextResponse(scope["state"]["caller"].principal.key)(scope, receive, send)

    app = AuthenticationMiddleware(
        respond,
        (),
        MemorySessions(),
        FailedLoginThrottle(delay_s=0),
        cookie_name="session",
        may_write=True,
        is_proxied=False,
        anonymous_scopes=frozenset({READ_SCOPE}),
    )
    client = TestClient(app, client=("192.0.2.7", 50_000))
    assert client.get("/doc/guide.md").text == "address:192.0.2.7"
    response = client.post("/edit/guide.md")
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == 'Bearer realm="docyard"'
    assert client.post("/mcp").status_code == 200


@loop_over(
    ("addresses", "count"),
    [
        (["2001:db8::1", "2001:db8::2:ffff", "2001:db8:0:1::1"], 2),
        (["192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2"], 2),
    ],
)
def test_anonymous_callers_of_one_network_are_one_principal(addresses: list[str], count: int) -> None:
    keys = set()

    async def read_caller(scope: Scope, receive: Receive, send: Send) -> None:
        keys.add(scope["state"]["caller"].principal.key)

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        raise AssertionError(message)

    authentication = AuthenticationMiddleware(
        read_caller,
        (),
        MemorySessions(),
        FailedLoginThrottle(),
        cookie_name=COOKIE_NAME,
        may_write=False,
        is_proxied=False,
        anonymous_scopes=frozenset({READ_SCOPE}),
    )
    for address in addresses:
        scope = {"type": "http", "method": "POST", "path": "/mcp", "query_string": b"", "headers": []}
        anyio.run(authentication, {**scope, "client": (address, 1)}, receive, send)
    assert len(keys) == count


FEED = "/feeds/proposals.atom"


def encode_basic(user: str, password: str) -> str:
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


def test_feed_accepts_a_token_as_password(token_app: RunningApp, ana_token: str) -> None:
    client = token_app.new_client()
    for secret in (token_app.token, ana_token):
        response = client.get(FEED, headers={"Authorization": encode_basic("any", secret)})
        assert response.status_code == 200
        assert response.headers["content-type"] == "application/atom+xml"
    assert client.get(FEED, headers={"Authorization": f"Bearer {ana_token}"}).status_code == 200
    assert token_app.sign_in().get(FEED).status_code == 200


def test_feed_without_a_token_returns_a_basic_challenge(token_app: RunningApp) -> None:
    response = token_app.new_client().get(FEED)
    assert response.status_code == 401
    assert "Guide" not in response.text
    assert response.headers.get_list("www-authenticate") == [
        'Bearer realm="docyard"',
        'Basic realm="docyard", charset="UTF-8"',
    ]


def test_browser_without_a_session_gets_the_login_page_of_a_feed(token_app: RunningApp) -> None:
    response = token_app.new_client().get(FEED, headers=HTML_HEADERS)
    assert response.status_code == 401
    assert "Basic" not in response.headers["www-authenticate"]


@loop_over(
    "authorization",
    [
        encode_basic("any", "wrong"),
        "Basic",
        "Basic !",
        "Basic " + b64encode(b"no colon").decode(),
        "Basic /w==",
    ],
)
def test_feed_refuses_an_invalid_password(token_app: RunningApp, authorization: str) -> None:
    response = token_app.new_client().get(FEED, headers={"Authorization": authorization})
    assert response.status_code == 401


@loop_over("path", ["/", "/doc/guide.md", "/mcp", "/proposals", "/feeds"])
def test_other_paths_refuse_a_password(token_app: RunningApp, path: str) -> None:
    headers = {"Authorization": encode_basic("any", token_app.token)}
    assert token_app.new_client().get(path, headers=headers).status_code == 401


def test_form_at_a_feed_refuses_a_password(token_app: RunningApp) -> None:
    headers = {"Authorization": encode_basic("any", token_app.token)}
    assert token_app.new_client().post(FEED, headers=headers).status_code == 401


def test_token_without_the_scope_for_reading_has_no_feed(token_app: RunningApp) -> None:
    secret = token_app.person_tokens.add("cat", "Cat", "cat@example.org", scopes=frozenset({WRITE_SCOPE}))
    headers = {"Authorization": encode_basic("cat", secret)}
    assert token_app.new_client().get(FEED, headers=headers).status_code == 403


def test_tokens_of_people_are_refused_while_nodes_cannot_read_them(tmp_path: Path) -> None:
    engine = create_engine_options("postgresql://docyard@127.0.0.1:1/docyard")
    assert engine.database is not None
    source = SharedTokens(tmp_path, PostgresTokenStorage(engine.database, "docs"))
    verifier = TokenVerifier("the server's token", Tokens(tmp_path, source))
    refusal = anyio.run(verifier.verify, "docyard_ana_" + "0" * 48)
    assert isinstance(refusal, TokenRefusal)
    assert (refusal.status, refusal.retry_after) == (503, 2)
    assert isinstance(anyio.run(verifier.verify, "the server's token"), Authenticated)


def test_session_does_not_end_while_nodes_cannot_read_the_tokens_of_people(tmp_path: Path) -> None:
    engine = create_engine_options("postgresql://docyard@127.0.0.1:1/docyard")
    assert engine.database is not None
    source = SharedTokens(tmp_path, PostgresTokenStorage(engine.database, "docs"))
    verifier = TokenVerifier(None, Tokens(tmp_path, source))
    principal = Principal("token:ana", "Ana")
    owner = Authenticated(principal, Person("ana", "Ana", "ana@example.org"), digest_token_key(b"key"))
    users = Users({("https://id.example", "7"): "ana"}, Tokens(tmp_path, source))
    with pytest.raises(DatabaseUnavailable):
        anyio.run(verifier.revalidate, owner)
    with pytest.raises(DatabaseUnavailable):
        users.revalidate(owner._replace(principal=principal._replace(key="user:https://id.example#7")))


def test_session_ends_if_its_server_token_or_its_issuer_is_no_longer_configured() -> None:
    first_server = TokenVerifier("the server's token", None, ("https://id.example",))
    owner = anyio.run(first_server.verify, "the server's token")
    user = Authenticated(Principal("user:https://id.example#7", "Ana"))
    assert isinstance(owner, Authenticated)
    for later_server, owner_after, user_after in (
        (TokenVerifier("the server's token", None, ("https://id.example",)), owner, user),
        (TokenVerifier("another token", None, ("https://id.example2",)), None, None),
        (TokenVerifier(None, None), None, None),
    ):
        assert anyio.run(later_server.revalidate, owner) == owner_after
        assert anyio.run(later_server.revalidate, user) == user_after


@pytest.mark.process
def test_form_of_another_node_is_accepted_if_the_database_was_down_at_the_start() -> None:
    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        await PlainTextResponse(scope["state"]["caller"].csrf)(scope, receive, send)

    with run_postgres() as server:
        url = server.create_database()
        first = open_engine_sessions(create_engine_options(url)._replace(repository="docs"))
        server.stop()
        second = open_engine_sessions(create_engine_options(url)._replace(repository="docs"))
        app = AuthenticationMiddleware(
            respond,
            (),
            second,
            FailedLoginThrottle(delay_s=0),
            cookie_name="session",
            may_write=True,
            is_proxied=False,
            anonymous_scopes=frozenset(SCOPES),
        )
        client = TestClient(app)
        csrf = first.compute_csrf_token(b"anonymous")
        assert client.post("/edit/guide.md").text != csrf
        server.start()
        deadline = time.monotonic() + 30
        while client.post("/edit/guide.md").text != csrf:
            assert time.monotonic() < deadline


def test_session_of_an_identity_that_no_sign_in_yields_has_ended(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    ana, _ = (tokens.add(name, name.title(), f"{name}@example.org") for name in ("ana", "ben"))
    verifier = TokenVerifier(None, tokens, ("https://id.example",))
    owner = anyio.run(verifier.verify, ana)
    assert isinstance(owner, Authenticated)
    assert anyio.run(verifier.revalidate, owner) == owner
    ben = Person("ben", "Ben", "ben@example.org")
    for damaged in (
        owner._replace(person=None),
        owner._replace(person=ben),
        owner._replace(principal=owner.principal._replace(key="token:ben")),
        owner._replace(principal=owner.principal._replace(key="other"), person=None),
    ):
        assert anyio.run(verifier.revalidate, damaged) is None


def test_stricter_rules_and_tokens_count_for_sessions_that_began_before(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    tokens.add("ana", "Ana", "ana@example.org", scopes=frozenset({READ_SCOPE}))
    people = {("https://id.example", "7"): "ana"}
    scopes = frozenset({READ_SCOPE, WRITE_SCOPE})
    ana, bea = (Principal(f"user:https://id.example#{subject}", "A", scopes=scopes) for subject in "78")
    before, after = (Users(people, tokens, [Rule("*", "", role)]) for role in (Role.WRITER, Role.READER))
    for principal in (ana, bea):
        session = before.authenticate(principal)
        assert session.principal.scopes == scopes
        assert before.revalidate(session) == session
        stricter = after.revalidate(session)
        assert stricter is not None
        assert stricter.principal.scopes == {READ_SCOPE}


def test_identity_of_a_session_has_no_key_that_makes_seals(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    secret = tokens.add("ana", "Ana", "ana@example.org")
    users = Users({("https://id.example", "7"): "ana"}, tokens)
    for owner in (
        anyio.run(TokenVerifier(None, tokens).verify, secret),
        users.authenticate(Principal("user:https://id.example#7", "Ana")),
    ):
        assert isinstance(owner, Authenticated)
        assert owner.person is not None
        assert tokens.key("ana") not in owner
