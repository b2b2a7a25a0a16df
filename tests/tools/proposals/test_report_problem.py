"""report_problem: a suggestion becomes a proposal, and a report without one a comment."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from index.service import SearchIndex
from tests.repositories import Repo
from tests.tools.conftest import CallTool
from tools.dispatcher import ToolDispatcher
from tools.tool import Answer
from workspace.proposals.proposal import ProposalState
from workspace.workspace import Workspace

TEXT = (
    "# Retries {#retries}\n\n## Backoff {#backoff}\n\nWait 1 second.\n\n## Limits {#limits}\n\nFive times.\n"
)


@pytest.fixture
def workspace(repo: Repo) -> Workspace:
    repo.commit({"retries.md": TEXT})
    return Workspace.open(repo.path, durable=False)


@pytest.fixture
def dispatcher(workspace: Workspace) -> ToolDispatcher:
    return ToolDispatcher(workspace, SearchIndex(workspace), ["search", "proposals"], False)


@pytest.fixture
def report(call_tool: CallTool) -> Callable[..., Answer]:
    """Return a function that calls `report_problem`."""

    def call(**arguments: object) -> Answer:
        return call_tool("report_problem", **arguments)

    return call


def list_comments(workspace: Workspace, proposal: str) -> list[tuple[str, str, str | None, str]]:
    """Return the id, the file, the section and the text of each comment of a proposal."""
    threads = workspace.proposal_actions().find(proposal).content.threads
    targets = [(thread.comment, thread.comment.target) for thread in threads]
    return [
        (comment.id, target.path, target.slug, comment.text)
        for comment, target in targets
        if target is not None
    ]


def test_suggestion_becomes_a_submitted_proposal_of_the_section(
    report: Callable[..., Answer], call_tool: CallTool, workspace: Workspace, repo: Repo
) -> None:
    tip = repo.head()
    call_tool("get_doc", chunk_id="retries.md#backoff")
    answer = report(address="retries.md#backoff", problem="Too short.", suggestion="Wait 2 seconds.")
    assert not answer.is_error, answer.data
    assert answer.data["reported"]
    proposal = workspace.proposal_actions().find(answer.data["proposal"])
    assert (proposal.state, proposal.content.title, proposal.content.description) == (
        ProposalState.OPEN,
        "Problem in retries.md#backoff",
        "Too short.",
    )
    assert repo.head() == tip
    document = workspace.snapshot(proposal.tip).document("retries.md")
    assert document.data.decode() == TEXT.replace("Wait 1 second", "Wait 2 seconds")
    assert call_tool("view_proposal", proposal=proposal.id).data["state"] == "open"


def test_report_without_suggestion_is_a_comment_on_the_section(
    report: Callable[..., Answer], workspace: Workspace
) -> None:
    first = report(address="retries.md#backoff", problem="Unclear: of what?").data
    second = report(address="retries.md#backoff", problem="Also misses jitter.").data
    other = report(address="retries.md", problem="No introduction.").data
    assert first["proposal"] == second["proposal"] != other["proposal"]
    comments = list_comments(workspace, first["proposal"])
    assert comments == [
        (first["comment"], "retries.md", "backoff", "Unclear: of what?"),
        (second["comment"], "retries.md", "backoff", "Also misses jitter."),
    ]


@pytest.mark.parametrize("suggestion", ["", "  \n", "Wait 1 second.\n"])
def test_suggestion_without_change_is_a_comment(
    report: Callable[..., Answer], call_tool: CallTool, workspace: Workspace, suggestion: str
) -> None:
    call_tool("get_doc", chunk_id="retries.md#backoff")
    answer = report(address="retries.md#backoff", problem="Keep this.", suggestion=suggestion)
    [comment] = list_comments(workspace, answer.data["proposal"])
    assert comment[1:] == ("retries.md", "backoff", "Keep this.")
    assert ("hints" in answer.data) == bool(suggestion.strip())


def test_error_does_not_repeat_a_long_suggestion(report: Callable[..., Answer]) -> None:
    answer = report(address="retries.md#backoff", problem="x", suggestion="Wait. " * 100_000)
    assert answer.data["code"] == "READ_FIRST"
    assert len(str(answer.data)) < 5_000


def test_repeated_call_reports_once(
    report: Callable[..., Answer], call_tool: CallTool, workspace: Workspace
) -> None:
    call_tool("get_doc", chunk_id="retries.md#backoff")
    for arguments in (
        {"problem": "Unclear.", "idempotency_key": "k1"},
        {"problem": "Wrong.", "suggestion": "Wait 3 seconds.", "idempotency_key": "k2"},
    ):
        first = report(address="retries.md#backoff", **arguments).data
        retry = report(address="retries.md#backoff", **arguments).data
        assert retry["proposal"] == first["proposal"]
    proposals = workspace.proposal_actions().list_all()
    assert len(proposals) == 2
    assert sorted(len(proposal.content.threads) for proposal in proposals) == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"address": "retries.md#backof", "problem": "x"}, "SECTION_NOT_FOUND"),
        ({"address": "retri.md#backoff", "problem": "x"}, "DOCUMENT_NOT_FOUND"),
        ({"address": "retries.md", "problem": "x", "suggestion": "y"}, "INVALID_ARGUMENTS"),
        ({"address": "retries.md#backoff"}, "INVALID_ARGUMENTS"),
        ({"address": "retries.md#backoff", "problem": " "}, "INVALID_ARGUMENTS"),
        ({"address": "retries.md#backoff", "problem": "x" * 200_000}, "INVALID_WORDS"),
    ],
)
def test_invalid_report_opens_no_proposal(
    report: Callable[..., Answer], workspace: Workspace, arguments: dict[str, object], code: str
) -> None:
    answer = report(**arguments)
    assert (answer.is_error, answer.data["code"]) == (True, code), answer.data
    assert workspace.proposal_actions().list_all() == ()
    if code.endswith("NOT_FOUND"):
        assert answer.data["example"]["address"] == "retries.md#backoff"


def test_unread_text_is_not_replaced(repo: Repo, workspace: Workspace) -> None:
    from workspace.writing.read_before_write import SeenTexts

    dispatcher = ToolDispatcher(workspace, SearchIndex(workspace), ["proposals"], False)
    fields = {"address": "retries.md#backoff", "problem": "x", "suggestion": "Wait."}
    seen_texts = SeenTexts()  # of a client that has read nothing
    answer = dispatcher.call("report_problem", fields, client="test", seen_texts=seen_texts)
    assert (answer.data["code"], answer.data["example"]) == ("READ_FIRST", fields)
    assert workspace.proposal_actions().list_all() == ()
    answer = dispatcher.call("report_problem", fields, client="test", seen_texts=seen_texts)
    assert not answer.is_error, "the error has shown the text"


def test_read_only_server_does_not_offer_the_tool(workspace: Workspace) -> None:
    dispatcher = ToolDispatcher(workspace, SearchIndex(workspace), ["proposals"], True)
    assert not dispatcher.offers("report_problem")


def test_field_of_another_name_is_corrected_to_the_problem(report: Callable[..., Answer]) -> None:
    for field in ("description", "message", "text"):
        answer = report(address="retries.md#backoff", **{field: "Too short."})
        assert answer.data["fix"] == "Did you mean 'problem'?"
        assert answer.data["example"] == {"address": "retries.md#backoff", "problem": "Too short."}
