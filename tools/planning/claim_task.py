"""claim_task: claims a ready task for one client; renews and releases the claim."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from index.storage.keys import load_user_key
from tools.arguments import Arguments, Boolean, Integer, read_arguments, select_requested_fields
from tools.examples import correct_task
from tools.retries import make_request
from tools.task_progress import resolve_task_target
from tools.tool import Answer, NextStep, Tool, call
from tools.writer import select_example_arguments, update_index_after_commit
from workspace.config.tables import MAX_CLAIM_HOURS
from workspace.errors import WorkspaceError
from workspace.policy.protection import Protected

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.tool import CallArguments, Context, Data
    from workspace.writing.plan import Plan


class ClaimTaskArguments(Arguments):
    """The input of claim_task."""

    file: str | None = None
    slug: str | None = None
    name: str | None = Field(None, description="Of the claimant; default: the client's")
    action: Literal["claim", "renew", "release"] = Field("claim", description="With the claim")
    secret: str | None = Field(None, description="Of the claim, to renew or release it")
    hours: Integer | None = Field(None, ge=1, le=MAX_CLAIM_HOURS, description="Until it expires; default: 24")
    dry_run: Boolean = False
    idempotency_key: str | None = None


class ClaimProtected(WorkspaceError):
    """An error: a protected document changes only by a reviewed proposal, which is too late for a claim."""

    code = "CLAIM_PROTECTED"


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "claim": f"Call with {{file, slug, name?, hours?}}; hours: 1 to {MAX_CLAIM_HOURS}",
        "renew": 'Call with {file, slug, action: "renew", secret, hours?}; the answer has a new secret',
        "release": 'Call with {file, slug, action: "release", secret}',
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    values = select_example_arguments(arguments, ("file", "slug", "name"))
    return {"file": "search-api.md", "slug": "tasks[0]", **values}


def _run(context: Context, arguments: CallArguments) -> Answer:
    from workspace.edits.task_claim import ClaimAction, ClaimTask, make_claim_secret
    from workspace.writing.plan import BatchMode

    if not select_requested_fields(arguments):
        data: Data = {"usage": dict(_usage(arguments)), "commit": context.workspace.tip()}
        return Answer({**data, "next_step": NextStep("Find a task with ", call("list_tasks", ready=True))})
    request = read_arguments(ClaimTaskArguments, arguments)
    file, slug = resolve_task_target(context, request.file, request.slug)
    time, key = datetime.now(UTC), load_user_key()
    hours = request.hours or context.snapshot().config.tasks.claim_hours
    operation = ClaimTask(
        file=file,
        slug=slug,
        action=ClaimAction(request.action),
        time=time,
        until=(time + timedelta(hours=hours)).replace(second=0, microsecond=0),
        claimant=request.name or context.client,
        secret=request.secret or "",
        key=key,
    )
    keyed_request = None
    if request.idempotency_key is not None:
        keyed_request = make_request(request.idempotency_key, TOOL, arguments, None, _build_result)
    try:
        result = context.workspace.write(
            [operation],
            mode=BatchMode.ALL,
            tool=TOOL.name,
            client=context.client,
            dry_run=request.dry_run,
            keyed_request=keyed_request,
            person=context.person,
        )
    except Protected as error:
        raise ClaimProtected(
            f"the tasks of {file} cannot be claimed, because the document is protected",
            fix="Agree on the task in another way, such as its assignee in a proposal.",
        ) from error
    if result.recorded_request is not None:
        data = {**result.recorded_request.result, "commit": result.recorded_request.commit, "repeated": True}
    else:
        [step] = result.plan.steps
        if step.error is not None:
            raise step.error
        data = {**_build_result(result.plan), "commit": result.commit}
    if request.dry_run:
        return Answer({**data, "dry_run": True, "next_step": NextStep("Send the same call without dry_run")})
    if "claimed_by" in data:
        # Not part of the recorded result, which is in the commit.
        data["secret"] = make_claim_secret(key, file, data["id"], data["claimed_by"])
    if hints := update_index_after_commit(context, result.commit):
        data["hints"] = hints
    data["next_step"] = _suggest_next_step(context, file, data)
    return Answer(data)


def _build_result(plan: Plan) -> Data:
    [step] = plan.steps
    return {"file": step.outcome.path, **step.outcome.result} if step.outcome else {}


def _suggest_next_step(context: Context, file: str, data: Data) -> NextStep:
    if "secret" not in data:
        return NextStep("See which tasks can be done now: ", call("list_tasks", ready=True))
    if context.offers("complete_task"):
        return NextStep(
            "Keep the secret. When the task is done: ", call("complete_task", file=file, slug=data["id"])
        )
    return NextStep("Keep the secret: it renews and releases the claim")


TOOL = Tool(
    name="claim_task",
    title="Claim a task",
    toolset="planning",
    description="Claim a ready task; no other client can claim it until the claim expires.",
    arguments=ClaimTaskArguments,
    run=_run,
    usage=_usage,
    example=_example,
    correct=correct_task,
    writes=True,
)
