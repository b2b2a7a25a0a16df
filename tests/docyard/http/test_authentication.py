"""Who may come in, by what they show; and how a session begins and ends."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.docyard.http.conftest import PORT, Running
from tests.loops import loop_over
from workspace.policy.tokens import Tokens

HTML = {"Accept": "text/html"}
COOKIE = f"docyard_session_{PORT}"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
JSON = {"Accept": "application/json"}


@pytest.fixture(scope="module")
def ana(repository: object, running: Running) -> str:
    return running.people.add("ana", "Ana Li", "ana@example.org")


@pytest.fixture
def ben(running: Running) -> Iterator[str]:
    yield running.people.add("ben", "Ben Ode", "ben@example.org")
    if running.people.find_known("ben"):
        running.people.revoke("ben")


def csrf(page: str) -> str:
    return page.partition('name="csrf" value="')[2].partition('"')[0]


INSIDE = (
    *("/", "/folder/specs", "/doc/guide.md", "/raw/guide.md", "/history/guide.md", "/blame/guide.md"),
    *("/commit/HEAD", "/edit/guide.md", "/search", "/proposals", "/events", "/none", "/mcp"),
)


@loop_over("path", INSIDE)
def test_without_a_token_nobody_comes_in(running: Running, path: str) -> None:
    found = running.meet().get(path)
    assert found.status_code == 401
    assert found.headers["www-authenticate"] == 'Bearer realm="docyard"'
    assert "Guide" not in found.text
    assert COOKIE not in found.cookies


@loop_over(
    "shown",
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
    ids=["no token", "empty", "wrong", "huge", "basic", "bare", "no ASCII", "with more"],
)
@loop_over("path", ["/", "/mcp"])
def test_wrong_tokens(running: Running, shown: str, path: str) -> None:
    value = shown.replace("{t}", running.token).encode("latin-1")
    found = running.meet().get(path, headers=[(b"Authorization", value)])
    assert found.status_code == 401
    assert "WWW-Authenticate" in found.headers


def test_a_program_shows_its_token_each_time(running: Running, ana: str) -> None:
    program = running.meet()
    forms = set()
    for token in (running.token, ana):
        shown = {"Authorization": f"bearer {token}"}
        found = program.get("/", headers=shown)
        assert found.status_code == 200
        assert not found.cookies
        forms.add(csrf(program.get("/edit/guide.md", headers=shown).text))
    assert sorted(map(len, forms)) == [64, 64]  # each has forms of its own
    twice = [("Authorization", f"Bearer {running.token}")] * 2
    assert program.get("/", headers=twice).status_code == 401


def test_the_printed_address_begins_a_session(running: Running) -> None:
    browser = running.meet()
    found = browser.get("/", params={"token": running.token, "ref": "main"})
    assert found.status_code == 303
    assert found.headers["location"] == "/?ref=main"
    assert found.headers["referrer-policy"] == "no-referrer"
    sent = found.headers["set-cookie"]
    assert sent.startswith(f"{COOKIE}=")
    for part in ("HttpOnly", "SameSite=lax", "Path=/"):
        assert part in sent
    assert "Secure" not in sent
    assert "Domain" not in sent
    assert running.token not in sent
    assert "Guide" in browser.get("/", headers=HTML).text


def test_a_wrong_address_begins_none(running: Running) -> None:
    browser = running.meet()
    for token in ("", "wrong", running.token[:-1]):
        found = browser.get("/", params={"token": token}, headers=HTML)
        assert found.status_code == 401
        assert "Sign in" in found.text
        assert not browser.cookies
    # Only there, and only where a browser goes: what looks ahead makes no session.
    assert browser.get("/doc/guide.md", params={"token": running.token}).status_code == 401
    assert browser.head("/", params={"token": running.token}).status_code == 401
    assert browser.post("/mcp", params={"token": running.token}, json=PING).status_code == 401


@pytest.mark.parametrize(("site", "name"), [("cross-site", "Ana Li"), ("none", "Ben Ode")])
def test_a_link_of_another_page_changes_nobodys_name(
    running: Running, ana: str, ben: str, site: str, name: str
) -> None:
    led = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
    browser = running.signed_in(ana)
    assert browser.get("/", params={"token": ben}, headers=led).status_code == 303
    assert name in browser.get("/", headers=HTML).text
    # Whoever had no session gets one, as from any link.
    other = running.meet()
    other.get("/", params={"token": ben}, headers=led)
    assert "Ben Ode" in other.get("/", headers=HTML).text


def test_a_person_signs_in_and_out(running: Running, ana: str) -> None:
    browser = running.meet()
    asked = browser.get("/doc/guide.md?ref=main", headers=HTML)
    assert asked.status_code == 401
    assert 'name="after" value="/doc/guide.md?ref=main"' in asked.text
    wrong = browser.post("/login", data={"token": "wrong", "after": "/search"})
    assert wrong.status_code == 401
    assert 'name="after" value="/search"' in wrong.text
    found = browser.post("/login", data={"token": f" {ana}\n", "after": "/doc/guide.md?ref=main"})
    assert (found.status_code, found.headers["location"]) == (303, "/doc/guide.md?ref=main")
    page = browser.get("/", headers=HTML).text
    assert "Ana Li" in page
    before = browser.cookies[COOKIE]
    assert browser.post("/logout", data={"csrf": "wrong"}).headers["location"] == "/"
    assert browser.get("/").status_code == 200
    assert browser.post("/logout", data={"csrf": csrf(page)}).headers["location"] == "/login"
    assert not browser.cookies
    assert browser.get("/", headers=HTML).status_code == 401
    kept = {"Cookie": f"{COOKIE}={before}"}
    assert running.meet().get("/", headers=kept).status_code == 401


@loop_over("is_asked", [True, False], ids=["with-a-token", "without"])
def test_who_came_in_without_a_name_gives_one(
    running: Running, open_one: Running, ana: str, is_asked: bool
) -> None:
    browser = running.signed_in() if is_asked else open_one.meet()
    place = "/proposals/k7m2q9xa#[approve]"
    form = browser.get("/login", params={"after": place}, headers=HTML)
    assert form.status_code == 200
    assert f'name="after" value="{place}"' in form.text
    assert f'href="{place}">Back' in form.text
    found = browser.post("/login", data={"token": ana, "after": place})
    assert (found.status_code, found.headers["location"]) == (303, place)
    again = browser.get("/login", params={"after": "/search"}, headers=HTML)
    assert (again.status_code, again.headers["location"]) == (303, "/search")


ELSEWHERE = (
    *("//evil.example", "/\\evil.example", "https://evil.example", "/\t/evil.example"),
    *("evil", "", "/login", "/é", "/" + "x" * 20_000),
)


@loop_over("after", ELSEWHERE, ids=range(len(ELSEWHERE)))
def test_nobody_is_sent_elsewhere(running: Running, after: str) -> None:
    found = running.meet().post("/login", data={"token": running.token, "after": after})
    assert (found.status_code, found.headers.get("location")) in ((303, "/"), (400, None))


@loop_over("content", [b"token=\xff", b"a=1&" * 20, b"", b"x" * 20_000, b"token=%ff%fe&after=/"])
def test_forms_that_are_none(running: Running, content: bytes) -> None:
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    assert running.meet().post("/login", content=content, headers=kind).status_code in (400, 401)
    assert running.meet().post("/login", json={"token": running.token}).status_code == 400


def test_cookies_of_others_are_nothing(running: Running) -> None:
    for value in ("", "x", running.token, "x" * 9000):
        assert running.meet().get("/", headers={"Cookie": f"{COOKIE}={value}"}).status_code == 401
    mine = running.signed_in()
    value = mine.cookies[COOKIE]
    assert running.meet().get("/", headers={"Cookie": f"docyard_session_1={value}"}).status_code == 401
    assert running.meet().get("/", headers={"Cookie": f"a=b; {COOKIE}={value}"}).status_code == 200


def test_who_signs_in_again_leaves_no_session_behind(running: Running, ana: str) -> None:
    browser = running.signed_in()
    before = browser.cookies[COOKIE]
    assert browser.post("/login", data={"token": ana, "after": "/"}).status_code == 303
    assert running.meet().get("/", headers={"Cookie": f"{COOKIE}={before}"}).status_code == 401
    assert "Ana Li" in browser.get("/", headers=HTML).text


def test_a_session_does_not_speak_at_the_address_of_the_protocol(running: Running) -> None:
    assert running.signed_in().post("/mcp", json=PING, headers=JSON).status_code == 401


def test_a_wrong_token_is_wrong_whatever_the_session(running: Running) -> None:
    assert running.signed_in().get("/", headers={"Authorization": "Bearer wrong"}).status_code == 401


def test_a_revoked_token_ends_its_sessions(running: Running, ben: str, ana: str) -> None:
    bens, anas = running.signed_in(ben), running.signed_in(ana)
    assert bens.get("/").status_code == 200
    Tokens(running.repo.path / ".git").revoke("ben")
    assert bens.get("/").status_code == 401
    assert bens.get("/", headers={"Authorization": f"Bearer {ben}"}).status_code == 401
    assert anas.get("/").status_code == 200
    # A new token of the same name is another one.
    running.people.add("ben", "Ben Ode", "ben@example.org")
    assert bens.get("/").status_code == 401


def test_a_new_token_of_the_same_name_goes_on_with_no_session(running: Running, ben: str) -> None:
    browser = running.signed_in(ben)
    running.people.revoke("ben")
    running.people.add("ben", "Ben Ode", "ben@example.org")
    assert browser.get("/").status_code == 401


def test_tokens_that_cannot_be_read_are_nobodys(running: Running, ana: str) -> None:
    anas, own = running.signed_in(ana), running.signed_in()
    file = running.repo.path / ".git/docyard/tokens.json"
    file.chmod(0o644)
    try:
        assert anas.get("/").status_code == 401
        assert running.meet().get("/", headers={"Authorization": f"Bearer {ana}"}).status_code == 401
        assert own.get("/").status_code == 200
    finally:
        file.chmod(0o600)
    assert running.signed_in(ana).get("/").status_code == 200


def test_secure_cookies_where_a_proxy_has_https(proxied: Running, running: Running) -> None:
    shown = {"Host": "docs.example.org", "X-Forwarded-Proto": "https"}
    sent = proxied.meet().get("/", params={"token": proxied.token}, headers=shown).headers["set-cookie"]
    assert "Secure" in sent
    for browser, token, other in (
        (proxied.meet(), proxied.token, {"Host": "docs.example.org", "X-Forwarded-Proto": "http"}),
        (proxied.meet(), proxied.token, {"X-Forwarded-Proto": "https"}),
        (running.meet(), running.token, {"X-Forwarded-Proto": "https"}),
    ):
        sent = browser.get("/", params={"token": token}, headers=other).headers["set-cookie"]
        assert "Secure" not in sent


def test_where_no_token_is_asked_for(open_one: Running, ana: str) -> None:
    anybody = open_one.meet()
    page = anybody.get("/", headers=HTML)
    assert page.status_code == 200
    assert anybody.get("/", params={"token": "old"}).headers["location"] == "/"
    assert not anybody.cookies
    assert anybody.post("/mcp", json=PING, headers=JSON).status_code == 200
    # Forms are still those of this server, and a person can still say who they are.
    assert anybody.post("/logout", data={"csrf": "wrong"}).headers["location"] == "/"
    assert anybody.post("/login", data={"token": ana, "after": "/"}).status_code == 303
    assert "Ana Li" in anybody.get("/", headers=HTML).text
    assert anybody.get("/", headers={"Authorization": "Bearer wrong"}).status_code == 401


def test_forms_carry_what_only_their_session_knows(running: Running, ana: str) -> None:
    mine, other = running.signed_in(), running.signed_in(ana)
    theirs = csrf(other.get("/", headers=HTML).text)
    assert len(theirs) == 64
    form = {"message": "x", "content": "New.", "csrf": theirs}
    head = running.repo.git("rev-parse", "--all")
    assert mine.post("/edit/guide.md", data=form).status_code == 403
    assert mine.post("/edit/guide.md", data={**form, "csrf": ""}).status_code == 403
    assert running.repo.git("rev-parse", "--all") == head


def test_read_only_is_read_only_everywhere(reading: Running) -> None:
    browser = reading.signed_in()
    page = browser.get("/", headers=HTML).text
    head = reading.repo.git("rev-parse", "--all")
    for path in ("/edit/guide.md", "/proposals/x/merge", "/proposals/x/comment"):
        sent = browser.post(path, data={"csrf": csrf(page), "content": "x", "text": "x"})
        assert sent.status_code == 403
    bearer = {"Authorization": f"Bearer {reading.token}", **JSON}
    call = {"name": "create_document", "arguments": {"doc_type": "runbook", "title": "X"}}
    listed = browser.post("/mcp", json={**PING, "method": "tools/list"}, headers=bearer).json()
    assert not {"create_document", "edit_document", "update_proposal"} & {
        tool["name"] for tool in listed["result"]["tools"]
    }
    found = browser.post("/mcp", json={**PING, "method": "tools/call", "params": call}, headers=bearer).json()
    assert "Unknown tool" in found["error"]["message"]
    assert reading.repo.git("rev-parse", "--all") == head


@loop_over(
    ("agent", "told"),
    [("some-agent/2.0 (cli)", "some-agent"), ("x\tDocyard-Person: ana", "x"), ("(none)", "unknown")],
    ids=["a product", "more than that", "none"],
)
def test_whose_commits_a_program_makes(open_one: Running, ana: str, agent: str, told: str) -> None:
    edit = {"operation": "add_task", "file": "guide.md", "slug": "tasks", "title": agent.split("\t")[0]}
    message = {**PING, "method": "tools/call", "params": {"name": "edit_document", "arguments": edit}}
    headers = {**JSON, "Authorization": f"Bearer {ana}", "User-Agent": agent}
    found = open_one.meet().post("/mcp", json=message, headers=headers).json()
    assert not found["result"].get("isError")
    shown = open_one.repo.git("log", "-1", "--format=%an %cn%n%(trailers:only)")
    assert shown.splitlines()[0] == "Ana Li Ana Li"
    assert f"Docyard-Client: {told}\n" in shown
    assert shown.count("Docyard-Person: ana\n") == 1


def test_no_answer_repeats_a_token(running: Running, ana: str) -> None:
    browser = running.signed_in(ana)
    for path in ("/", "/none", "/login"):
        found = browser.get(path, headers=HTML)
        for secret in (running.token, ana):
            assert secret not in found.text
            assert secret not in str(found.headers)
    assert "wrong-token" not in running.meet().get("/", params={"token": "wrong-token"}).text
