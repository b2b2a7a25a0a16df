"""Webhooks of forges: their signatures, their responses, and the exchanges with a remote that they start."""

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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from docyard import environment
from docyard.forges.forge_checker import ForgeChecker
from docyard.forges.forge_repository import ForgeAccess
from docyard.forges.pull_request_sync import ForgeCheckResult
from docyard.forges.webhooks.branch import BranchWebhooks
from docyard.forges.webhooks.events import EventScope, parse_event
from docyard.forges.webhooks.exchange_queue import ExchangeQueue, ExchangeResult
from docyard.forges.webhooks.receiver import (
    MAX_BODY_BYTES,
    AppliedWebhooks,
    WebhookReceiver,
    build_webhook_routes,
)
from docyard.forges.webhooks.signatures import MAX_CLOCK_SKEW_S, has_valid_signature
from tests import fork_server, repositories
from tests.docyard.forges.conftest import GITHUB_AND_SLOW_KINDS
from tests.docyard.forges.forge_setup import ForgeSetup, open_forge_setup
from tests.docyard.forges.local_forge import FULL_TOKEN
from tests.loops import loop_over
from workspace.git.remotes.credentials import Access
from workspace.proposals.proposal import ProposalState
from workspace.sync.branches import SyncState
from workspace.sync.sync import SyncResult
from workspace.workspace import Workspace

ROOT = Path(__file__).resolve().parents[3]
SECRET = "hook-51c0ffee"
NOW = 1_760_000_000.0
TIMEOUT_S = 60.0  # long enough for a busy machine
REPOSITORIES = {"github": "ana/docs", "gitea": "ana/docs", "gitlab": "ana/teams/docs"}

Headers = dict[str, str]


def compute_digest(body: bytes, secret: str = SECRET) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def build_signed_headers(
    kind: str, body: bytes, event: str, id: str = "d-1", secret: str = SECRET
) -> Headers:
    """Return the headers of a webhook, as a forge of this kind sends them."""
    match kind:
        case "github":
            return {
                "X-GitHub-Event": event,
                "X-GitHub-Delivery": id,
                "X-Hub-Signature-256": f"sha256={compute_digest(body, secret)}",
            }
        case "gitea":
            return {
                "X-Gitea-Event": event,
                "X-Gitea-Delivery": id,
                "X-Gitea-Signature": compute_digest(body, secret),
            }
        case _:
            return {"X-Gitlab-Event": event, "Idempotency-Key": id, "X-Gitlab-Token": secret}


def build_standard_webhook_headers(body: bytes, key: bytes, time: float = NOW, id: str = "w-1") -> Headers:
    """Return the headers that GitLab sends if it has a signing token (Standard Webhooks)."""
    signed_text = f"{id}.{int(time)}.".encode() + body
    signature = base64.b64encode(hmac.new(key, signed_text, hashlib.sha256).digest()).decode()
    return {
        "webhook-id": id,
        "webhook-timestamp": str(int(time)),
        "webhook-signature": f"v1,bm8= v1,{signature}",
    }


def build_payload(kind: str, branch: str | None = None, number: int = 1, **extra_fields: Any) -> bytes:
    """Return the body of a push event, or of a pull request event for a branch."""
    if kind == "gitlab":
        data: dict[str, Any] = {"project": {"path_with_namespace": REPOSITORIES[kind]}}
        if branch is not None:
            data["object_attributes"] = {"iid": number, "source_branch": branch}
    else:
        data = {"repository": {"full_name": REPOSITORIES[kind]}}
        if branch is not None:
            data["pull_request"] = {"number": number, "head": {"ref": branch}}
    return json.dumps(data | extra_fields).encode()


def get_event_name(kind: str, name: str) -> str:
    """Return the name of an event in the webhooks of a kind of forge."""
    gitlab = {"push": "Push Hook", "pull_request": "Merge Request Hook"}
    return gitlab.get(name, name) if kind == "gitlab" else name


class StubExchangeQueue(ExchangeQueue):
    """A queue whose exchanges wait until `release_event` is set, and then return `result`.

    `scopes` has the scope of each exchange.
    """

    def __init__(self, result: ExchangeResult) -> None:
        workspace: Workspace | None = None
        super().__init__(workspace, Access, None)  # type: ignore[arg-type]
        self.result = result
        self.release_event = threading.Event()
        self.release_event.set()
        self.scopes: list[EventScope] = []
        self.request_count = 0

    def request(self, scope: EventScope) -> Future[ExchangeResult]:
        future = super().request(scope)
        self.request_count += 1
        return future

    def _run_exchange(self, pending: Any) -> ExchangeResult:
        self.scopes.append(EventScope(tuple(sorted(pending.branches)), tuple(sorted(pending.numbers))))
        assert self.release_event.wait(TIMEOUT_S)
        return self.result


def build_sync_result(state: SyncState = SyncState.UP_TO_DATE) -> SyncResult:
    return SyncResult(
        "origin", "a folder", "main", state, "c" * 40, "c" * 40, True, None, False, None, 0, None
    )


ON_GITHUB = pytest.mark.parametrize("setup", ["github"], indirect=True)
"""Parameters for tests that do not depend on the kind of forge."""


@pytest.fixture(scope="module", params=["github", "gitlab", "gitea"])
def setup(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForgeSetup]:
    with open_forge_setup(request.param, tmp_path_factory.mktemp(request.param)) as setup:
        yield setup


class WebhookClient:
    """A client that sends webhooks to the routes of a workspace."""

    def __init__(
        self, setup: ForgeSetup, exchanges: ExchangeQueue, secrets: Sequence[str] = (SECRET,)
    ) -> None:
        self.kind = setup.local_forge.kind
        self.target = BranchWebhooks(setup.workspace, exchanges, setup.get_access, timeout_s=TIMEOUT_S)
        receiver = WebhookReceiver(self.target, secrets, clock=lambda: NOW)
        self.client = TestClient(Starlette(routes=build_webhook_routes(receiver)))

    def post(self, body: bytes, headers: Headers | None = None, kind: str | None = None) -> Any:
        return self.client.post(f"/hooks/{kind or self.kind}", content=body, headers=headers or {})

    def send_event(self, name: str, body: bytes, id: str = "d-1") -> Any:
        """Send a signed event as the forge does."""
        return self.post(body, build_signed_headers(self.kind, body, get_event_name(self.kind, name), id))


@pytest.fixture
def stub_queue() -> StubExchangeQueue:
    return StubExchangeQueue(ExchangeResult(build_sync_result()))


@pytest.fixture
def webhook_client(setup: ForgeSetup, stub_queue: StubExchangeQueue) -> Iterator[WebhookClient]:
    new_client = WebhookClient(setup, stub_queue)
    with new_client.client:
        yield new_client


def test_push_and_pull_request_events_start_exchanges(
    webhook_client: WebhookClient, stub_queue: StubExchangeQueue
) -> None:
    response = webhook_client.send_event("push", build_payload(webhook_client.kind))
    assert (response.status_code, response.json()) == (200, {"commit": "c" * 40, "followed": None})
    assert (
        webhook_client.send_event(
            "pull_request", build_payload(webhook_client.kind, "docyard/x"), "d-2"
        ).status_code
        == 200
    )
    assert stub_queue.scopes == [EventScope(), EventScope(branches=("docyard/x",))]


@pytest.mark.parametrize("defect", ["no signature", "other secret", "other body", "sha1"])
def test_invalid_signature_is_refused(
    webhook_client: WebhookClient, stub_queue: StubExchangeQueue, defect: str
) -> None:
    body = build_payload(webhook_client.kind)
    headers = build_signed_headers(webhook_client.kind, body, get_event_name(webhook_client.kind, "push"))
    match defect:
        case "no signature":
            headers = {
                name: value for name, value in headers.items() if not name.endswith(("256", "ature", "Token"))
            }
        case "other secret":
            headers = build_signed_headers(webhook_client.kind, body, "push", secret="another")
        case "other body" if webhook_client.kind != "gitlab":  # the token of GitLab does not sign the body
            body = build_payload(webhook_client.kind, more=1)
        case _:
            headers = {"X-Hub-Signature": f"sha1={hmac.new(SECRET.encode(), body, 'sha1').hexdigest()}"}
    response = webhook_client.post(body, headers)
    assert (response.status_code, stub_queue.scopes) == (401, [])
    assert SECRET not in response.text


def test_both_secrets_are_valid_while_one_is_changed(
    setup: ForgeSetup, stub_queue: StubExchangeQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    old_secret, new_secret = f"old-{'x' * 20}", f"new-{'y' * 20}"
    for separator in (",", " ", ", ", "\n"):
        monkeypatch.setenv(environment.WEBHOOK_SECRET, f"{new_secret}{separator}{old_secret}")
        webhook_client = WebhookClient(setup, stub_queue, environment.read_webhook_secrets())
        kind = webhook_client.kind
        for number, (secret, status) in enumerate([(old_secret, 200), (new_secret, 200), ("another", 401)]):
            body = build_payload(kind, extra=f"{separator}{number}")
            headers = build_signed_headers(
                kind, body, get_event_name(kind, "push"), f"d-{number}", secret=secret
            )
            assert webhook_client.post(body, headers).status_code == status
    # A single secret may contain the separators, and its parts are not secrets.
    for text in ("a secret, of words", "short,x" + "y" * 30):
        monkeypatch.setenv(environment.WEBHOOK_SECRET, f" {text}\n")
        assert environment.read_webhook_secrets() == (text,)
    monkeypatch.delenv(environment.WEBHOOK_SECRET)
    assert environment.read_webhook_secrets() == ()


def test_replayed_webhook_starts_no_exchange(
    webhook_client: WebhookClient, stub_queue: StubExchangeQueue
) -> None:
    body = build_payload(webhook_client.kind)
    assert webhook_client.send_event("push", body).status_code == 200
    assert webhook_client.send_event("push", body).json() == {"message": "seen"}
    assert webhook_client.send_event("push", body, "d-2").json() == {"message": "seen"}
    assert webhook_client.send_event("push", build_payload(webhook_client.kind, extra=1), "d-1").json() == {
        "message": "seen"
    }
    assert len(stub_queue.scopes) == 1


def test_failed_webhook_can_be_sent_again(
    webhook_client: WebhookClient, stub_queue: StubExchangeQueue
) -> None:
    body = build_payload(webhook_client.kind)
    stub_queue.result = ExchangeResult(build_sync_result(SyncState.DIVERGED))
    response = webhook_client.send_event("push", body)
    assert (response.status_code, response.headers["retry-after"]) == (503, "30")
    assert "docyard sync" in response.json()["fix"]
    stub_queue.result = ExchangeResult(build_sync_result())
    assert webhook_client.send_event("push", body).status_code == 200
    assert len(stub_queue.scopes) == 2


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"not json", 400), (b"[]", 400), (b"", 400), (b"[" * 100_000, 400), (b"x" * (MAX_BODY_BYTES + 1), 413)],
    ids=["text", "list", "empty", "deep", "long"],
)
def test_invalid_body_is_refused(
    webhook_client: WebhookClient, stub_queue: StubExchangeQueue, body: bytes, status: int
) -> None:
    assert webhook_client.send_event("push", body).status_code == status
    assert stub_queue.scopes == []


def test_webhook_of_another_repository_is_refused(
    webhook_client: WebhookClient, stub_queue: StubExchangeQueue
) -> None:
    other_repository = {
        "repository": {"full_name": "mallory/docs"},
        "project": {"path_with_namespace": "mallory/docs"},
    }
    for body in (json.dumps(other_repository).encode(), b"{}", b'{"repository": 7, "project": 7}'):
        response = webhook_client.send_event("push", body)
        assert response.status_code == 422
        assert REPOSITORIES[webhook_client.kind] in response.json()["message"]
    assert stub_queue.scopes == []


def test_unsupported_event_is_ignored(webhook_client: WebhookClient, stub_queue: StubExchangeQueue) -> None:
    assert webhook_client.send_event("star", build_payload(webhook_client.kind)).status_code == 202
    assert stub_queue.scopes == []


@pytest.mark.parametrize(
    "setup", ["github", "gitea"], indirect=True
)  # GitLab sends no ping and no issue_comment
def test_ping_and_issue_comment_start_no_exchange(
    webhook_client: WebhookClient, stub_queue: StubExchangeQueue
) -> None:
    assert webhook_client.send_event("ping", b'{"zen": "Quiet."}', "d-2").status_code == 200
    issue = build_payload(webhook_client.kind, issue={"number": 3})
    assert webhook_client.send_event("issue_comment", issue, "d-3").status_code == 202
    assert stub_queue.scopes == []


def test_other_forge_or_missing_secret_returns_404(
    setup: ForgeSetup, webhook_client: WebhookClient, stub_queue: StubExchangeQueue
) -> None:
    other_kind = "gitlab" if webhook_client.kind != "gitlab" else "gitea"
    body = build_payload(other_kind)
    assert (
        webhook_client.post(
            body, build_signed_headers(other_kind, body, get_event_name(other_kind, "push")), other_kind
        ).status_code
        == 404
    )
    assert webhook_client.post(body, {}, "bitbucket").status_code == 404
    assert webhook_client.client.get(f"/hooks/{webhook_client.kind}").status_code == 405
    with (disabled_client := WebhookClient(setup, stub_queue, ())).client:
        assert disabled_client.send_event("push", build_payload(webhook_client.kind)).status_code == 404
    assert stub_queue.scopes == []


@ON_GITHUB
def test_concurrent_webhooks_share_two_exchanges(
    webhook_client: WebhookClient, stub_queue: StubExchangeQueue
) -> None:
    stub_queue.release_event.clear()
    with ThreadPoolExecutor(8) as pool:
        futures = [_send_in_pool(pool, webhook_client, 0)]
        _wait_until(lambda: stub_queue.scopes)  # so that the others arrive during an exchange
        futures += [_send_in_pool(pool, webhook_client, number) for number in range(1, 8)]
        _wait_until(lambda: stub_queue.request_count == 8)
        assert not any(future.done() for future in futures)
        stub_queue.release_event.set()
        assert {future.result().status_code for future in futures} == {200}
    assert len(stub_queue.scopes) == 2
    assert sorted(branch for scope in stub_queue.scopes for branch in scope.branches) == [
        f"b{n}" for n in range(8)
    ]


def _send_in_pool(pool: ThreadPoolExecutor, webhook_client: WebhookClient, number: int) -> Future[Any]:
    return pool.submit(
        webhook_client.send_event,
        "pull_request",
        build_payload(webhook_client.kind, f"b{number}"),
        f"d-{number}",
    )


def _wait_until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


@ON_GITHUB
def test_slow_exchange_returns_503_with_retry(setup: ForgeSetup, stub_queue: StubExchangeQueue) -> None:
    stub_queue.release_event.clear()
    slow_client = WebhookClient(setup, stub_queue)
    slow_client.target._timeout_s = 0.05
    with slow_client.client:
        body = build_payload("github")
        response = slow_client.send_event("push", body)
        assert (response.status_code, response.headers["retry-after"]) == (503, "30")
        stub_queue.release_event.set()


@pytest.mark.process
@pytest.mark.parametrize("setup", GITHUB_AND_SLOW_KINDS, indirect=True)
def test_response_is_sent_after_import(setup: ForgeSetup) -> None:
    proposal, number = setup.create_pull_request()
    setup.local_forge.state.review(number, "ana", "changes_requested", "Say why.")
    forge_checker = ForgeChecker(setup.workspace, setup.get_access)
    writes: list[bool] = []
    exchanges = ExchangeQueue(setup.workspace, Access, forge_checker, lambda: writes.append(True))
    with (webhook_client := WebhookClient(setup, exchanges)).client:
        response = webhook_client.send_event(
            "pull_request", build_payload(webhook_client.kind, proposal.content.branch, number)
        )
        assert response.status_code == 200, response.text
        assert response.json()["followed"]["pull_requests"][0]["reviews"] == 1
        assert setup.reload(proposal).state is ProposalState.CHANGES_REQUESTED
        # After a failed fetch, the response requests a retry, and contains no path.
        setup.remote.path.rename(setup.remote.path.with_name("moved.git"))
        try:
            failed_response = webhook_client.send_event("push", build_payload(webhook_client.kind), "d-9")
            assert failed_response.status_code == 503
            assert str(setup.remote.path) not in failed_response.text
        finally:
            setup.remote.path.with_name("moved.git").rename(setup.remote.path)
    assert writes == [True]


@ON_GITHUB
def test_failed_forge_check_returns_503(setup: ForgeSetup, stub_queue: StubExchangeQueue) -> None:
    from docyard.forges.errors import ForgeLimited

    stub_queue.result = ExchangeResult(
        build_sync_result(), ForgeCheckResult("github", (), ForgeLimited("GitHub", 429, 90.0))
    )
    with (webhook_client := WebhookClient(setup, stub_queue)).client:
        response = webhook_client.send_event("pull_request", build_payload(webhook_client.kind, "b"))
    assert (response.status_code, response.headers["retry-after"]) == (503, "91")


@ON_GITHUB
def test_missing_token_returns_503(setup: ForgeSetup, stub_queue: StubExchangeQueue) -> None:
    target = BranchWebhooks(setup.workspace, stub_queue, lambda: ForgeAccess(setup.local_forge.url))
    webhook_client = WebhookClient(setup, stub_queue)
    receiver = WebhookReceiver(target, [SECRET])
    webhook_client.client = TestClient(Starlette(routes=build_webhook_routes(receiver)))
    response = webhook_client.send_event("push", build_payload(webhook_client.kind))
    assert response.status_code == 503
    assert FULL_TOKEN not in response.text


BODY = b'{"a": 1}'
SIGNING_KEY = bytes(range(32))
GITLAB_SIGNING_SECRET = "whsec_" + base64.b64encode(SIGNING_KEY).decode()


@loop_over(
    ("headers", "secret", "is_valid"),
    [
        (build_standard_webhook_headers(BODY, SIGNING_KEY), GITLAB_SIGNING_SECRET, True),
        (build_standard_webhook_headers(BODY, b"plain"), "plain", True),
        (
            build_standard_webhook_headers(BODY, SIGNING_KEY, NOW - MAX_CLOCK_SKEW_S - 1),
            GITLAB_SIGNING_SECRET,
            False,
        ),
        (
            build_standard_webhook_headers(BODY, SIGNING_KEY, NOW + MAX_CLOCK_SKEW_S + 1),
            GITLAB_SIGNING_SECRET,
            False,
        ),
        (build_standard_webhook_headers(b"other", SIGNING_KEY), GITLAB_SIGNING_SECRET, False),
        (
            build_standard_webhook_headers(BODY, SIGNING_KEY) | {"webhook-timestamp": "9" * 40},
            GITLAB_SIGNING_SECRET,
            False,
        ),
        (
            build_standard_webhook_headers(BODY, SIGNING_KEY) | {"webhook-timestamp": "-1"},
            GITLAB_SIGNING_SECRET,
            False,
        ),
        (
            build_standard_webhook_headers(BODY, SIGNING_KEY) | {"webhook-id": ""},
            GITLAB_SIGNING_SECRET,
            False,
        ),
        (build_standard_webhook_headers(BODY, SIGNING_KEY), "whsec_%%%", False),
        # An existing signature must be valid, even with a valid token.
        (
            {"webhook-signature": "v1,bm8=", "x-gitlab-token": GITLAB_SIGNING_SECRET},
            GITLAB_SIGNING_SECRET,
            False,
        ),
        ({"x-gitlab-token": GITLAB_SIGNING_SECRET}, GITLAB_SIGNING_SECRET, True),
        ({"x-gitlab-token": "héron"}, GITLAB_SIGNING_SECRET, False),
        ({}, GITLAB_SIGNING_SECRET, False),
    ],
    ids=lambda value: None,
)
def test_gitlab_signature_is_verified(headers: Headers, secret: str, is_valid: bool) -> None:
    assert has_valid_signature("gitlab", headers, BODY, secret, NOW) is is_valid


@loop_over("kind", ["github", "gitea"])
@loop_over("value", ["", "sha256=", "sha256=zz", "é", compute_digest(BODY)[:-1], compute_digest(BODY, "")])
def test_invalid_digest_is_refused(kind: str, value: str) -> None:
    for name in ("x-hub-signature-256", "x-gitea-signature"):
        assert not has_valid_signature(kind, {name: value}, BODY, SECRET, NOW)
    assert has_valid_signature(
        kind, {"x-hub-signature-256": f"sha256={compute_digest(BODY)}"}, BODY, SECRET, NOW
    )


def test_unknown_forge_has_no_valid_signature() -> None:
    assert not has_valid_signature(
        "bitbucket", {"x-hub-signature-256": compute_digest(BODY)}, BODY, SECRET, NOW
    )


def test_stored_webhooks_are_limited_in_number_and_age() -> None:
    clock_time = [0.0]
    applied_webhooks = AppliedWebhooks(clock=lambda: clock_time[0])
    headers = {"x-github-delivery": "one"}
    applied_webhooks.record("github", headers, b"body")
    clock_time[0] = 601.0  # a second after the keys of bodies have expired
    assert applied_webhooks.was_applied("github", headers, b"other")
    assert not applied_webhooks.was_applied("github", {}, b"body")
    for number in range(3_000):
        applied_webhooks.record("github", {"x-github-delivery": str(number)}, str(number).encode())
    assert len(applied_webhooks._expiry_by_key) == 2_000
    assert not applied_webhooks.was_applied("github", headers, b"other")


@loop_over(
    ("kind", "name", "data", "scope"),
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
def test_event_is_parsed_to_its_scope(
    kind: str, name: str, data: dict[str, Any], scope: EventScope | None
) -> None:
    assert parse_event(kind, name, data) == scope


@pytest.mark.process
@pytest.mark.parametrize(
    ("secret", "options", "status"),
    [
        (SECRET, (), 401),
        pytest.param(SECRET, ("--read-only",), 404, marks=pytest.mark.slow),
    ],
    ids=["secret", "read-only"],
)
def test_unsigned_webhook_is_refused_and_read_only_server_has_no_route(
    tmp_path: Path, secret: str | None, options: tuple[str, ...], status: int
) -> None:
    repo = repositories.create_repository(tmp_path / "docs", {"a.md": "# A\n"})
    env = {name: value for name, value in os.environ.items() if not name.startswith("DOCYARD")}
    env |= {"PYTHONPATH": str(ROOT), **({"DOCYARD_WEBHOOK_SECRET": secret} if secret else {})}
    command = [
        *fork_server.build_python_command(),
        "-m",
        "docyard",
        "serve",
        "--http",
        "127.0.0.1:0",
        *options,
    ]
    with subprocess.Popen(
        [*command, "-C", str(repo.path)], env=env, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            url = urlsplit(server.stdout.readline().strip())
            request = urllib.request.Request(f"http://{url.netloc}/hooks/github", b"{}", method="POST")
            with pytest.raises(urllib.error.HTTPError) as error:
                urllib.request.urlopen(request, timeout=TIMEOUT_S)
            error.value.close()
            assert error.value.code == status
        finally:
            server.terminate()
