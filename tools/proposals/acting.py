"""The actions on a proposal, done: each by one call of `Proposing`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tools.arguments import InvalidArguments
from tools.targets import target
from tools.write_target import actor_of
from workspace.writing.idempotency import digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tools.context import Context
    from tools.proposals.update_proposal import UpdateProposalArguments
    from workspace.proposals import Proposal
    from workspace.proposals.actions import Acted, Proposing

_TOOL = "update_proposal"
SEEN = ("commit", "target_commit")
"""What conflicts are shown with, and their resolutions sent with: the commits that they are of."""


def act(context: Context, proposal: Proposal, action: str, asked: UpdateProposalArguments) -> Acted:
    """Does with a proposal what a call asks for. Raises what `Proposing` does, and InvalidArguments."""
    from workspace.proposals import Verdict

    proposing = context.workspace.proposing()
    name, request = proposal.id, asked.idempotency_key
    actor = actor_of(context, _TOOL)
    text = asked.text or ""
    acts: Mapping[str, Callable[[], Acted]] = {
        "submit": partial(proposing.submit, name, actor, request=request),
        "comment": partial(_comment, context, proposing, proposal, asked),
        "refresh": partial(_refresh, context, proposing, proposal, asked),
        "approve": partial(
            proposing.review, name, actor, Verdict.APPROVE, text, commit=asked.commit, request=request
        ),
        "request_changes": partial(
            proposing.review, name, actor, Verdict.REQUEST_CHANGES, text, commit=asked.commit, request=request
        ),
        "merge": partial(proposing.merge, name, actor, commit=asked.commit, request=request),
        "close": partial(proposing.close, name, actor, text, request=request),
        "reopen": partial(proposing.reopen, name, actor, text, request=request),
        "edit": partial(
            proposing.edit, name, actor, title=asked.title, description=asked.description, request=request
        ),
    }
    return acts[action]()


def _comment(
    context: Context, proposing: Proposing, proposal: Proposal, asked: UpdateProposalArguments
) -> Acted:
    file, slug = asked.file, asked.slug
    if file is not None:
        at = proposal.landing.tip if proposal.landing is not None else proposal.tip
        snapshot = context.workspace.snapshot(at) if at is not None else context.snapshot()
        file, slug = target(snapshot, file, slug)
    return proposing.comment(
        proposal.id,
        actor_of(context, _TOOL),
        asked.text or "",
        file=file,
        slug=slug,
        quote=asked.quote or "",
        reply_to=asked.reply_to,
        request=asked.idempotency_key,
    )


def _refresh(
    context: Context, proposing: Proposing, proposal: Proposal, asked: UpdateProposalArguments
) -> Acted:
    from tools.proposals.conflicts import read_resolutions
    from workspace.proposals.actions import Decisions

    items = asked.resolutions or ()
    seen = {
        field: value.strip().lower() for field in SEEN if (value := getattr(asked, field)) and value.strip()
    }
    missing = next((field for field in SEEN if field not in seen), None)
    if items and missing is not None:
        raise InvalidArguments(
            f"resolutions are given, and no '{missing}'",
            fix="Give the 'commit' and the 'target_commit' that the conflicts were shown with.",
            field=missing,
        )
    decisions = None
    if items or seen:
        decisions = Decisions(
            lambda conflicts: read_resolutions(items, conflicts),
            seen.get("commit"),
            seen.get("target_commit"),
            digest_of(_TOOL, {"resolutions": items, **seen}),
        )
    return proposing.refresh(proposal.id, actor_of(context, _TOOL), decisions, request=asked.idempotency_key)
