"""The decision of people that a refused merge lacks: approvals, a merge by a person, or both."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from tools.arguments import read_arguments, remove_nulls
from tools.compatibility.near_names import resolve_near_names
from tools.proposals import update_proposal
from workspace.errors import WorkspaceError
from workspace.escapes import escape_invisible
from workspace.proposals.actions.merge_gate import NEEDS_APPROVAL, find_blocker_for_actor
from workspace.proposals.approvals import NeedsPerson

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.tool import CallArguments, Context

_MAX_TITLE_CHARACTERS = 200


class MissingDecision(NamedTuple):
    """A merge that only people can permit: its proposal, and a message for them.

    `arguments` are those of the refused call, with the commit that the call would have merged. The call
    cannot merge another commit with them.
    """

    proposal: str
    arguments: Mapping[str, object]
    message: str


def find_missing_decision(context: Context, arguments: CallArguments) -> MissingDecision | None:
    """Return the decision that a refused call of update_proposal lacks.

    Return None if the call is no merge, or if something else blocks the merge too: a conflict, a failed
    check, requested changes, or a rule that does not let the person of the call merge.
    """
    fields = remove_nulls(
        resolve_near_names(update_proposal.TOOL, arguments, context.index.taxonomy_keys).arguments
    )
    with suppress(WorkspaceError):
        action = update_proposal.resolve_action(fields)
        if action is not None and action.name == "merge":
            return _find_missing_decision(context, fields)
    return None


def _find_missing_decision(context: Context, fields: CallArguments) -> MissingDecision | None:
    request = read_arguments(update_proposal.UpdateProposalArguments, fields)
    proposal_actions = context.workspace.proposal_actions()
    proposal = proposal_actions.find(request.proposal or "")
    if proposal.tip is None or request.commit not in (None, proposal.tip):
        return None
    preview = context.workspace.proposal_reviews().preview(proposal)
    requirements = proposal_actions.find_merge_requirements(proposal, preview)
    evaluation = requirements.evaluation
    if evaluation is None or requirements.blockers != evaluation.blockers:
        return None
    missing_approvals = [blocker for blocker in evaluation.blockers if blocker.code == NEEDS_APPROVAL]
    other_blockers = tuple(blocker for blocker in evaluation.blockers if blocker not in missing_approvals)
    blocker = find_blocker_for_actor(
        evaluation._replace(blockers=other_blockers), context.person, may_review=context.may_review
    )
    needs_person = blocker is not None and blocker.code == NeedsPerson.code
    if blocker is not None and not needs_person:
        return None
    missing = [*missing_approvals, *((blocker,) if blocker is not None else ())]
    if not missing:
        return None
    title = proposal.content.title
    if len(title) > _MAX_TITLE_CHARACTERS:
        title = title[:_MAX_TITLE_CHARACTERS] + "…"
    tasks = [*(("approve it",) if missing_approvals else ()), *(("merge it",) if needs_person else ())]
    message = (
        f'The proposal {proposal.id}, "{title}", is not merged yet: '
        f"{'; '.join(part.message for part in missing)}. "
        f"Open its page, sign in with your own token, read its changes, and {' and '.join(tasks)} there."
    )
    return MissingDecision(proposal.id, {**fields, "commit": proposal.tip}, escape_invisible(message))


def read_decision_state(context: Context, proposal_id: str) -> object:
    """Return a value that changes with the proposal, its discussion, its target or the tokens of people.

    Return None if one of them cannot be read.
    """
    workspace = context.workspace
    try:
        proposal = workspace.proposal_actions().find(proposal_id)
        tokens = workspace.tokens.read_all()
        return proposal, workspace.git.tip(proposal.content.target), tokens
    except WorkspaceError:
        return None
