"""claim_task: claims a ready task for one client; renews and releases the claim."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from tools.arguments import (
    Arguments,
    Boolean,
    ClaimHours,
    InvalidArguments,
    read_arguments,
    select_requested_fields,
)
from tools.examples import correct_task
from tools.retries import make_request
from tools.task_progress import resolve_task_target
from tools.tool import Answer, NextStep, Tool, call
from tools.writer import select_example_arguments, update_index_after_commit
from workspace.config.tables import MAX_CLAIM_HOURS
from workspace.edits.task_text import build_task_result
from workspace.policy.protection import Protected, check_direct_write
from workspace.proposal_ids import DISCUSSION_BRANCH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.tool import CallArguments, Context, Data
    from workspace.edits.task_claim import ClaimTask
    from workspace.writing.plan import Plan


class ClaimTaskArguments(Arguments):
    """The input of claim_task."""

    file: str | None = None
    slug: str | None = None
    name: str | None = Field(None, description="Of the claimant; default: the client's")
    action: Literal["claim", "renew", "release"] = Field("claim", description="With the claim")
    secret: str | None = Field(None, description="Of the claim, to renew or release it")
    hours: ClaimHours | None = Field(None, description="Until it expires; default: 24")
    dry_run: Boolean = False
    idempotency_key: str | None = None


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "claim": f"Call with {{file, slug, name?, hours?}}; hours: 1 to {MAX_CLAIM_HOURS}",
        "renew": 'Call with {file, slug, action: "renew", secret, hours?}; the answer has a new secret',
        "release": 'Call with {file, slug, action: "release", secret}',
        "protected": f"Claims of tasks in protected documents are on the branch {DISCUSSION_BRANCH}",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    values = select_example_arguments(arguments, ("file", "slug", "name"))
    return {"file": "search-api.md", "slug": "tasks[0]", **values}


def _run(context: Context, arguments: CallArguments) -> Answer:
    from workspace.edits.task_claim import ClaimAction, ClaimTask, make_claim_secret

    if not select_requested_fields(arguments):
        data: Data = {"usage": dict(_usage(arguments)), "commit": context.workspace.tip()}
        return Answer({**data, "next_step": NextStep("Find a task with ", call("list_tasks", ready=True))})
    request = read_arguments(ClaimTaskArguments, arguments)
    file, slug = resolve_task_target(context, request.file, request.slug)
    if request.action != "claim" and not request.secret:
        raise InvalidArguments(
            f"'secret' is missing, which proves the claim to {request.action}",
            fix="Give the 'secret' of the answer that claimed or renewed the task last.",
            field="secret",
        )
    time, key = datetime.now(UTC), context.signing_keys.get_signing_key()
    hours = request.hours or context.snapshot().config.tasks.claim_hours
    operation = ClaimTask(
        file=file,
        slug=slug,
        action=ClaimAction(request.action),
        time=time,
        until=(time + timedelta(hours=hours)).replace(microsecond=0),
        claimant=request.name or context.client,
        secret=request.secret or "",
        key=key,
        old_keys=tuple(context.signing_keys.list_verification_keys()),
    )
    is_event = _is_protected(context, file) or context.workspace.proposal_actions().task_claims.decides(
        operation
    )
    claim = _claim_in_discussion if is_event else _claim_in_document
    data, commit = claim(context, operation, request, arguments)
    if request.dry_run:
        return Answer({**data, "dry_run": True, "next_step": NextStep("Send the same call without dry_run")})
    if "claimed_by" in data:
        # Not part of the recorded result, which is in the commit.
        data["secret"] = make_claim_secret(key, data["id"], data["claimed_by"])
    if hints := update_index_after_commit(context, commit):
        data["hints"] = hints
    data["next_step"] = _suggest_next_step(context, file, data)
    return Answer(data)


def _is_protected(context: Context, file: str) -> bool:
    """Return True if only a proposal may change a document."""
    snapshot = context.snapshot()
    if not snapshot.config.protect:
        return False
    try:
        check_direct_write(snapshot, {file: snapshot.read(file) + b"\n"})
    except Protected:
        return True
    return False


def _claim_in_document(
    context: Context, operation: ClaimTask, request: ClaimTaskArguments, arguments: CallArguments
) -> tuple[Data, str | None]:
    """Write the field of a claim, and return the result and the commit (None if there is no new one)."""
    from workspace.writing.plan import BatchMode

    keyed_request = None
    if request.idempotency_key is not None:
        keyed_request = make_request(request.idempotency_key, TOOL, arguments, None, _build_result)
    result = context.workspace.write(
        [operation],
        mode=BatchMode.ALL,
        tool=TOOL.name,
        client=context.client,
        dry_run=request.dry_run,
        keyed_request=keyed_request,
        person=context.person,
    )
    if (recorded := result.recorded_request) is not None:
        return {**recorded.result, "commit": recorded.commit, "repeated": True}, result.commit
    [step] = result.plan.steps
    if step.error is not None:
        raise step.error
    return {**_build_result(result.plan), "commit": result.commit}, result.commit


def _claim_in_discussion(
    context: Context, operation: ClaimTask, request: ClaimTaskArguments, arguments: CallArguments
) -> tuple[Data, str | None]:
    """Append the event of a claim of a protected document's task; its commit is no commit of documents."""
    from tools.write_target import identify_actor

    claims = context.workspace.proposal_actions().task_claims
    result = claims.run(
        operation,
        identify_actor(context, TOOL.name),
        key=request.idempotency_key,
        dry_run=request.dry_run,
    )
    location = result.location
    data: Data = {"file": location.path, **build_task_result(location.section, location.task)}
    if result.claim is None:
        data["released"] = True
    else:
        data |= {"id": location.task.id, "claimed_by": str(result.claim)}
    if result.commit is not None:
        data |= {"commit": result.commit, "branch": DISCUSSION_BRANCH}
    return data if result.is_new else {**data, "repeated": True}, None


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
