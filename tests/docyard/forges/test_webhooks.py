"""Webhooks: whose they are, what each is answered, and that many of them make few exchanges."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from docyard.forges.exchanges import EventScope, ExchangeQueue, ExchangeResult, parse_event
from docyard.forges.forge_repository import ForgeAccess
from docyard.forges.pull_request_sync import ForgeRound
from docyard.forges.rounds import ForgeRounds
from docyard.forges.webhooks import (
    MOST_BYTES,
    Deliveries,
    Webhooks,
    build_webhook_routes,
    has_valid_signature,
)
from tests import repositories, warm
from tests.docyard.forges.conftest import MAINLY_ONE
from tests.docyard.forges.joined import Joined, joined
from tests.docyard.forges.local_forge import PASSWORD
from tests.loops import loop_over
from workspace.git.remotes.credentials import Access
from workspace.proposals.proposal import ProposalState
from workspace.sync.branches import SyncState
from workspace.sync.sync import SyncResult
from workspace.workspace import Workspace

ROOT = Path(__file__).resolve().parents[3]
SECRET = "hook-51c0ffee"
NOW = 1_760_000_000.0
PATIENCE = 60.0  # seconds, on a busy machine too
REPOSITORIES = {"github": "ana/docs", "gitea": "ana/docs", "gitlab": "ana/teams/docs"}

Headers = dict[str, str]


def digest(body: bytes, secret: str = SECRET) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def signed(kind: str, body: bytes, event: str, id: str = "d-1", secret: str = SECRET) -> Headers:
    """The headers that a forge sends."""
    match kind:
        case "github":
            return {
                "X-GitHub-Event": event,
                "X-GitHub-Delivery": id,
                "X-Hub-Signature-256": f"sha256={digest(body, secret)}",
            }
        case "gitea":
            return {
                "X-Gitea-Event": event,
                "X-Gitea-Delivery": id,
                "X-Gitea-Signature": digest(body, secret),
            }
        case _:
            return {"X-Gitlab-Event": event, "Idempotency-Key": id, "X-Gitlab-Token": secret}


def standard(body: bytes, key: bytes, time: float = NOW, id: str = "w-1") -> Headers:
    """The headers of GitLab's signing token (Standard Webhooks)."""
    told = f"{id}.{int(time)}.".encode() + body
    made = base64.b64encode(hmac.new(key, told, hashlib.sha256).digest()).decode()
    return {
        "webhook-id": id,
        "webhook-timestamp": str(int(time)),
        "webhook-signature": f"v1,bm8= v1,{made}",
    }


def payload(kind: str, branch: str | None = None, number: int = 1, **more: Any) -> bytes:
    """What a forge sends of a push, or of a pull request of a branch."""
    if kind == "gitlab":
        data: dict[str, Any] = {"project": {"path_with_namespace": REPOSITORIES[kind]}}
        if branch is not None:
            data["object_attributes"] = {"iid": number, "source_branch": branch}
    else:
        data = {"repository": {"full_name": REPOSITORIES[kind]}}
        if branch is not None:
            data["pull_request"] = {"number": number, "head": {"ref": branch}}
    return json.dumps(data | more).encode()


def event(kind: str, name: str) -> str:
    gitlab = {"push": "Push Hook", "pull_request": "Merge Request Hook"}
    return gitlab.get(name, name) if kind == "gitlab" else name


class Counting(ExchangeQueue):
    """Exchanges that are made by hand: each waits until it is let go."""

    def __init__(self, found: ExchangeResult) -> None:
        workspace: Workspace | None = None
        super().__init__(workspace, Access, None)  # type: ignore[arg-type]
        self.found = found
        self.go = threading.Event()
        self.go.set()
        self.asked: list[EventScope] = []
        self.calls = 0

    def request(self, asked: EventScope) -> Future[ExchangeResult]:
        future = super().request(asked)
        self.calls += 1
        return future

    def _exchanged(self, waiting: Any) -> ExchangeResult:
        self.asked.append(EventScope(tuple(sorted(waiting.branches)), tuple(sorted(waiting.numbers))))
        assert self.go.wait(PATIENCE)
        return self.found


def synced(state: SyncState = SyncState.UP_TO_DATE) -> SyncResult:
    return SyncResult(
        "origin", "a folder", "main", state, "c" * 40, "c" * 40, True, None, False, None, 0, None
    )


ON_ONE = pytest.mark.parametrize("here", ["github"], indirect=True)
"""Nothing of it differs by the kind."""


@pytest.fixture(scope="module", params=["github", "gitlab", "gitea"])
def here(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Joined]:
    with joined(request.param, tmp_path_factory.mktemp(request.param)) as made:
        yield made


class Hooks:
    """A client of the hooks of a workspace."""

    def __init__(self, here: Joined, exchanges: ExchangeQueue, secret: str | None = SECRET) -> None:
        self.kind = here.local.kind
        self.webhooks = Webhooks(
            here.workspace, exchanges, here.access, secret, patience=PATIENCE, clock=lambda: NOW
        )
        self.client = TestClient(Starlette(routes=build_webhook_routes(self.webhooks)))

    def post(self, body: bytes, headers: Headers | None = None, kind: str | None = None) -> Any:
        return self.client.post(f"/hooks/{kind or self.kind}", content=body, headers=headers or {})

    def tell(self, name: str, body: bytes, id: str = "d-1") -> Any:
        """Send what a forge would send of an event."""
        return self.post(body, signed(self.kind, body, event(self.kind, name), id))


@pytest.fixture
def counting() -> Counting:
    return Counting(ExchangeResult(synced()))


@pytest.fixture
def hooks(here: Joined, counting: Counting) -> Iterator[Hooks]:
    made = Hooks(here, counting)
    with made.client:
        yield made


def test_a_push_is_fetched_and_a_pull_request_is_looked_at(hooks: Hooks, counting: Counting) -> None:
    done = hooks.tell("push", payload(hooks.kind))
    assert (done.status_code, done.json()) == (200, {"commit": "c" * 40, "followed": None})
    assert hooks.tell("pull_request", payload(hooks.kind, "docyard/x"), "d-2").status_code == 200
    assert counting.asked == [EventScope(), EventScope(branches=("docyard/x",))]


@pytest.mark.parametrize("wrong", ["none", "other", "body", "sha1"])
def test_what_is_not_signed_is_refused(hooks: Hooks, counting: Counting, wrong: str) -> None:
    body = payload(hooks.kind)
    headers = signed(hooks.kind, body, event(hooks.kind, "push"))
    match wrong:
        case "none":
            headers = {
                name: value for name, value in headers.items() if not name.endswith(("256", "ature", "Token"))
            }
        case "other":
            headers = signed(hooks.kind, body, "push", secret="another")
        case "body" if hooks.kind != "gitlab":  # whose token covers no body
            body = payload(hooks.kind, more=1)
        case _:
            headers = {"X-Hub-Signature": f"sha1={hmac.new(SECRET.encode(), body, 'sha1').hexdigest()}"}
    answer = hooks.post(body, headers)
    assert (answer.status_code, counting.asked) == (401, [])
    assert SECRET not in answer.text


def test_a_replay_is_answered_without_work(hooks: Hooks, counting: Counting) -> None:
    body = payload(hooks.kind)
    assert hooks.tell("push", body).status_code == 200
    assert hooks.tell("push", body).json() == {"message": "seen"}
    assert hooks.tell("push", body, "d-2").json() == {"message": "seen"}
    assert hooks.tell("push", payload(hooks.kind, extra=1), "d-1").json() == {"message": "seen"}
    assert len(counting.asked) == 1


def test_one_that_was_not_applied_may_come_again(hooks: Hooks, counting: Counting) -> None:
    body = payload(hooks.kind)
    counting.found = ExchangeResult(synced(SyncState.DIVERGED))
    answer = hooks.tell("push", body)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "30")
    assert "docyard sync" in answer.json()["fix"]
    counting.found = ExchangeResult(synced())
    assert hooks.tell("push", body).status_code == 200
    assert len(counting.asked) == 2


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"not json", 400), (b"[]", 400), (b"", 400), (b"[" * 100_000, 400), (b"x" * (MOST_BYTES + 1), 413)],
    ids=["text", "list", "empty", "deep", "long"],
)
def test_what_is_no_webhook_is_refused(hooks: Hooks, counting: Counting, body: bytes, status: int) -> None:
    assert hooks.tell("push", body).status_code == status
    assert counting.asked == []


def test_another_repository_is_refused_by_name(hooks: Hooks, counting: Counting) -> None:
    other = {"repository": {"full_name": "mallory/docs"}, "project": {"path_with_namespace": "mallory/docs"}}
    for body in (json.dumps(other).encode(), b"{}", b'{"repository": 7, "project": 7}'):
        answer = hooks.tell("push", body)
        assert answer.status_code == 422
        assert REPOSITORIES[hooks.kind] in answer.json()["message"]
    assert counting.asked == []


def test_events_of_no_interest(hooks: Hooks, counting: Counting) -> None:
    assert hooks.tell("star", payload(hooks.kind)).status_code == 202
    assert counting.asked == []


@pytest.mark.parametrize("here", ["github", "gitea"], indirect=True)  # GitLab has neither
def test_pings_and_comments_on_issues(hooks: Hooks, counting: Counting) -> None:
    assert hooks.tell("ping", b'{"zen": "Quiet."}', "d-2").status_code == 200
    issue = payload(hooks.kind, issue={"number": 3})
    assert hooks.tell("issue_comment", issue, "d-3").status_code == 202
    assert counting.asked == []


def test_another_forge_and_no_secret_are_not_there(here: Joined, hooks: Hooks, counting: Counting) -> None:
    other = "gitlab" if hooks.kind != "gitlab" else "gitea"
    body = payload(other)
    assert hooks.post(body, signed(other, body, event(other, "push")), other).status_code == 404
    assert hooks.post(body, {}, "bitbucket").status_code == 404
    assert hooks.client.get(f"/hooks/{hooks.kind}").status_code == 405
    with (closed := Hooks(here, counting, None)).client:
        assert closed.tell("push", payload(hooks.kind)).status_code == 404
    assert counting.asked == []


@ON_ONE
def test_many_at_once_make_two_exchanges(hooks: Hooks, counting: Counting) -> None:
    counting.go.clear()
    with ThreadPoolExecutor(8) as pool:
        sent = [_submitted(pool, hooks, 0)]
        _until(lambda: counting.asked)  # so that the others come while one is going on
        sent += [_submitted(pool, hooks, number) for number in range(1, 8)]
        _until(lambda: counting.calls == 8)
        assert not any(one.done() for one in sent)
        counting.go.set()
        assert {one.result().status_code for one in sent} == {200}
    assert len(counting.asked) == 2
    assert sorted(branch for asked in counting.asked for branch in asked.branches) == [
        f"b{n}" for n in range(8)
    ]


def _submitted(pool: ThreadPoolExecutor, hooks: Hooks, number: int) -> Future[Any]:
    return pool.submit(hooks.tell, "pull_request", payload(hooks.kind, f"b{number}"), f"d-{number}")


def _until(is_so: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.005)


@ON_ONE
def test_who_waits_too_long_is_told_to_come_again(here: Joined, counting: Counting) -> None:
    counting.go.clear()
    slow = Hooks(here, counting)
    slow.webhooks._patience = 0.05
    with slow.client:
        body = payload("github")
        answer = slow.tell("push", body)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "30")
        counting.go.set()


@pytest.mark.process
@pytest.mark.parametrize("here", MAINLY_ONE, indirect=True)
def test_what_happened_there_is_there_when_it_is_answered(here: Joined) -> None:
    proposal, number = here.requested()
    here.local.state.review(number, "ana", "changes_requested", "Say why.")
    rounds = ForgeRounds(here.workspace, here.access)
    written: list[bool] = []
    exchanges = ExchangeQueue(here.workspace, Access, rounds, lambda: written.append(True))
    with (hooks := Hooks(here, exchanges)).client:
        answer = hooks.tell("pull_request", payload(hooks.kind, proposal.content.branch, number))
        assert answer.status_code == 200, answer.text
        assert answer.json()["followed"]["pull_requests"][0]["reviews"] == 1
        assert here.now(proposal).state is ProposalState.CHANGES_REQUESTED
        # A fetch that cannot be made: the forge is to come again, and is not told a path.
        here.there.path.rename(here.there.path.with_name("away.git"))
        try:
            refused = hooks.tell("push", payload(hooks.kind), "d-9")
            assert refused.status_code == 503
            assert str(here.there.path) not in refused.text
        finally:
            here.there.path.with_name("away.git").rename(here.there.path)
    assert written == [True]


@ON_ONE
def test_following_that_failed_is_no_success(here: Joined, counting: Counting) -> None:
    from docyard.forges.errors import ForgeLimited

    counting.found = ExchangeResult(synced(), ForgeRound("github", (), ForgeLimited("GitHub", 429, 90.0)))
    with (hooks := Hooks(here, counting)).client:
        answer = hooks.tell("pull_request", payload(hooks.kind, "b"))
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "91")


@ON_ONE
def test_a_token_is_missing(here: Joined, counting: Counting) -> None:
    webhooks = Webhooks(here.workspace, counting, lambda: ForgeAccess(here.local.url), SECRET)
    hooks = Hooks(here, counting)
    hooks.client = TestClient(Starlette(routes=build_webhook_routes(webhooks)))
    answer = hooks.tell("push", payload(hooks.kind))
    assert answer.status_code == 503
    assert PASSWORD not in answer.text


BODY = b'{"a": 1}'
KEY = bytes(range(32))
WHSEC = "whsec_" + base64.b64encode(KEY).decode()


@loop_over(
    ("headers", "secret", "holds"),
    [
        (standard(BODY, KEY), WHSEC, True),
        (standard(BODY, b"plain"), "plain", True),
        (standard(BODY, KEY, NOW - 301), WHSEC, False),
        (standard(BODY, KEY, NOW + 301), WHSEC, False),
        (standard(b"other", KEY), WHSEC, False),
        (standard(BODY, KEY) | {"webhook-timestamp": "9" * 40}, WHSEC, False),
        (standard(BODY, KEY) | {"webhook-timestamp": "-1"}, WHSEC, False),
        (standard(BODY, KEY) | {"webhook-id": ""}, WHSEC, False),
        (standard(BODY, KEY), "whsec_%%%", False),
        # One that is there must hold, whatever token stands beside it.
        ({"webhook-signature": "v1,bm8=", "x-gitlab-token": WHSEC}, WHSEC, False),
        ({"x-gitlab-token": WHSEC}, WHSEC, True),
        ({"x-gitlab-token": "héron"}, WHSEC, False),
        ({}, WHSEC, False),
    ],
    ids=lambda value: None,
)
def test_signatures_of_gitlab(headers: Headers, secret: str, holds: bool) -> None:
    assert has_valid_signature("gitlab", headers, BODY, secret, NOW) is holds


@loop_over("kind", ["github", "gitea"])
@loop_over("value", ["", "sha256=", "sha256=zz", "é", digest(BODY)[:-1], digest(BODY, "")])
def test_digests_that_do_not_hold(kind: str, value: str) -> None:
    for name in ("x-hub-signature-256", "x-gitea-signature"):
        assert not has_valid_signature(kind, {name: value}, BODY, SECRET, NOW)
    assert has_valid_signature(kind, {"x-hub-signature-256": f"sha256={digest(BODY)}"}, BODY, SECRET, NOW)


def test_a_forge_without_a_name_signs_nothing() -> None:
    assert not has_valid_signature("bitbucket", {"x-hub-signature-256": digest(BODY)}, BODY, SECRET, NOW)


def test_the_memory_of_deliveries_is_bounded_and_forgets_bodies_first() -> None:
    now = [0.0]
    deliveries = Deliveries(clock=lambda: now[0])
    first = {"x-github-delivery": "one"}
    deliveries.record("github", first, b"body")
    now[0] = 601.0
    assert deliveries.is_done("github", first, b"other")
    assert not deliveries.is_done("github", {}, b"body")
    for number in range(3_000):
        deliveries.record("github", {"x-github-delivery": str(number)}, str(number).encode())
    assert len(deliveries._until) == 2_000
    assert not deliveries.is_done("github", first, b"other")


@loop_over(
    ("kind", "name", "data", "found"),
    [
        ("github", "push", {}, EventScope()),
        ("github", "pull_request_review", {"pull_request": {"number": 4}}, EventScope(numbers=(4,))),
        ("github", "issue_comment", {"issue": {"number": 5, "pull_request": {}}}, EventScope(numbers=(5,))),
        ("github", "issue_comment", {"issue": {"number": 5}}, None),
        ("github", "pull_request", {"pull_request": {"number": True}}, None),
        ("github", "pull_request", {"pull_request": {"head": {"ref": "b" * 5_000}}}, None),
        (
            "gitea",
            "pull_request_approved",
            {"pull_request": {"head": {"ref": "b"}}},
            EventScope(branches=("b",)),
        ),
        ("gitea", "issue_comment", {"is_pull": True, "issue": {"number": 5}}, EventScope(numbers=(5,))),
        (
            "gitlab",
            "Note Hook",
            {"merge_request": {"iid": 6, "source_branch": "b"}},
            EventScope(branches=("b",)),
        ),
        ("gitlab", "Note Hook", {"issue": {"iid": 6}}, None),
        ("gitlab", "Pipeline Hook", {}, None),
        ("github", "", {}, None),
    ],
    ids=lambda value: value if isinstance(value, str) and value else None,
)
def test_what_an_event_asks_for(kind: str, name: str, data: dict[str, Any], found: EventScope | None) -> None:
    assert parse_event(kind, name, data) == found


@pytest.mark.process
@pytest.mark.parametrize(
    ("secret", "options", "status"),
    [
        (SECRET, (), 401),
        pytest.param(SECRET, ("--read-only",), 404, marks=pytest.mark.slow),
    ],
    ids=["secret", "read-only"],
)
def test_a_started_server_takes_hooks_without_a_token_of_its_own(
    tmp_path: Path, secret: str | None, options: tuple[str, ...], status: int
) -> None:
    repo = repositories.normal(tmp_path / "docs", {"a.md": "# A\n"})
    env = {name: value for name, value in os.environ.items() if not name.startswith("DOCYARD")}
    env |= {"PYTHONPATH": str(ROOT), **({"DOCYARD_WEBHOOK_SECRET": secret} if secret else {})}
    command = [*warm.python(), "-m", "docyard", "serve", "--http", "127.0.0.1:0", *options]
    with subprocess.Popen(
        [*command, "-C", str(repo.path)], env=env, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            where = urlsplit(server.stdout.readline().strip())
            asked = urllib.request.Request(f"http://{where.netloc}/hooks/github", b"{}", method="POST")
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(asked, timeout=PATIENCE)
            refused.value.close()
            assert refused.value.code == status
        finally:
            server.terminate()
