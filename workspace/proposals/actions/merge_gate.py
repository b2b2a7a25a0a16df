"""The requirements of a merge: rules, approvals and checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from workspace.errors import WorkspaceError
from workspace.merge.commits import MergeConflict
from workspace.policy.protection import find_governing_rules, find_touched_paths, format_paths
from workspace.policy.tokens import REVIEW_SCOPE
from workspace.proposals.actions.repository import NothingProposed, ProposalEnded
from workspace.proposals.approvals import (
    EffectiveReviews,
    NeedsPerson,
    VoidReason,
    evaluate_reviews,
    find_commit_authors,
    is_approver,
    is_opened_by,
    normalize_address,
)
from workspace.proposals.events import IdentitySource
from workspace.proposals.proposal import ProposalState
from workspace.proposals.review.changes import list_merge_changes
from workspace.proposals.unreviewed import find_unreviewed_changes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from workspace.merge.trees import Merge
    from workspace.policy.protection import GoverningRule, TouchedPath
    from workspace.policy.tokens import Keyring, Person
    from workspace.proposals.actions.repository import ProposalRepository
    from workspace.proposals.events import Author, Event
    from workspace.proposals.proposal import Proposal
    from workspace.proposals.review.changes import CommitChanges
    from workspace.proposals.review.checks import CheckResult
    from workspace.proposals.review.review import Preview
    from workspace.proposals.unreviewed import UnreviewedChange

NEEDS_APPROVAL = "NEEDS_APPROVAL"
"""The code of the blocker for a rule that lacks approvals."""
NEEDS_REFRESH = "NEEDS_REFRESH"
"""The code of the blocker for unreviewed text that the merge would put under a rule."""

_MAX_NAME_CHARACTERS = 60
_MAX_LISTED_NAMES = 5

_VOID_DESCRIPTIONS = {
    VoidReason.NO_TOKEN: "without a token",
    VoidReason.UNKNOWN_TOKEN: "by tokens that are not known here",
    VoidReason.NO_SCOPE: "by tokens that do not permit reviews",
    VoidReason.UNSEALED: "without a seal that proves them",
    VoidReason.COPIED: "with a copied seal",
    VoidReason.OUTDATED: "of another commit",
    VoidReason.UNSEEN: "of less than the merge would change",
    VoidReason.NOT_APPROVER: "by people who are not approvers",
    VoidReason.OWN: "of one's own work",
}


class CheckOutcome(Protocol):
    """The outcome of a check of the merge's result."""

    @property
    def name(self) -> str: ...

    @property
    def passed(self) -> bool: ...


class RuleRequirement(NamedTuple):
    """The requirements of a rule, and their fulfillment.

    `number` is the rule's number, from 1. `approved_by` are names of tokens, one for each person whose
    approval counts. `approvers` and `may_merge` are also names of tokens; an empty tuple allows every person.
    `unknown` are names in these two without a token in this repository. `checks_failed` are the checks that
    failed or were not run. `authors` are those of `approvers` who are authors of the proposal.
    """

    number: int
    paths: tuple[str, ...]
    approvals_needed: int
    approved_by: tuple[str, ...]
    approvers: tuple[str, ...]
    may_merge: tuple[str, ...]
    unknown: tuple[str, ...]
    checks_failed: tuple[str, ...]
    authors: tuple[str, ...] = ()

    @property
    def lacks_approver(self) -> bool:
        """Return True if an approval is missing, and each approver is an author or has approved already."""
        return (
            bool(self.approvers)
            and len(self.approved_by) < self.approvals_needed
            and set(self.approvers) <= {*self.authors, *self.approved_by}
        )

    @property
    def is_met(self) -> bool:
        """Return True if the rule has its approvals and checks; the merging person is checked separately."""
        return len(self.approved_by) >= self.approvals_needed and not self.checks_failed


class MergeBlocker(NamedTuple):
    """A reason that blocks a merge: a code and a message; `only_clients` limits it to clients."""

    code: str
    message: str
    only_clients: bool = False


class MergeEvaluation(NamedTuple):
    """The merge requirements of a proposal, and its merge blockers for any actor.

    `void_reasons` maps the event id of each approval that does not count to the reason. `unreviewed` are
    changes that the merge would put under a rule and that are not in the proposal's commit.
    """

    requirements: tuple[RuleRequirement, ...]
    blockers: tuple[MergeBlocker, ...]
    void_reasons: Mapping[str, VoidReason]
    unreviewed: tuple[UnreviewedChange, ...] = ()


def evaluate_requirements(
    proposal: Proposal,
    events: Sequence[Event],
    governing_rules: Sequence[GoverningRule],
    checks: Sequence[CheckOutcome],
    tokens: Keyring,
    commit_authors: frozenset[str],
    unreviewed: tuple[UnreviewedChange, ...] = (),
) -> MergeEvaluation:
    """Evaluate the requirements of a proposal as it is now.

    `events` are its events in order. `governing_rules` are the rules of the target's tip that govern its
    changes. `checks` are the checks of the merge's result. `commit_authors` are the addresses of people who
    wrote its commits by hand. `unreviewed` are the changes that the merge would put under a rule beyond the
    proposal's commit. Raises the errors of `tokens`.
    """
    reviews = evaluate_reviews(proposal, events, tokens, commit_authors, is_all_reviewed=not unreviewed)
    void_reasons = {**reviews.void_reasons, **_find_uncounted_approvals(reviews, governing_rules)}
    passed_checks = {check.name for check in checks if check.passed} - {
        check.name for check in checks if not check.passed
    }
    author_addresses = {address.casefold() for address in commit_authors}

    def is_author(person: Person) -> bool:
        is_opener = is_opened_by(proposal.content.author, person)
        return is_opener or normalize_address(person) in author_addresses

    requirements = tuple(
        _evaluate_rule(governing_rule, reviews, passed_checks, tokens, is_author)
        for governing_rule in governing_rules
    )
    unread_blockers = (
        _make_unread_blocker(proposal.unread_event_count, only_clients=not governing_rules)
        if proposal.unread_event_count
        else ()
    )
    unreviewed_blockers = (
        (_make_unreviewed_blocker(unreviewed, proposal.content.target),) if unreviewed else ()
    )
    blockers = (
        *unreviewed_blockers,
        *map(_make_change_request_blocker, reviews.change_requesters),
        *unread_blockers,
        *_list_unmet_requirements(requirements, void_reasons),
    )
    return MergeEvaluation(requirements, blockers, void_reasons, unreviewed)


def _find_uncounted_approvals(
    reviews: EffectiveReviews, governing_rules: Sequence[GoverningRule]
) -> dict[str, VoidReason]:
    """Return the valid approvals by people whom no rule that needs approvals lists, by their event ids."""
    rules = [governing_rule.rule for governing_rule in governing_rules if governing_rule.rule.approvals]
    return {
        event_id: VoidReason.NOT_APPROVER
        for event_id, person in reviews.approvals.items()
        if rules and not any(is_approver(rule, person) for rule in rules)
    }


def find_blocker_for_actor(
    evaluation: MergeEvaluation, person: Person | None, *, may_review: bool, is_client: bool | None = None
) -> MergeBlocker | None:
    """Return the first blocker of a merge by an actor; return None if the actor may merge.

    `person` is None for an actor without a token. `may_review` states whether the scopes of the actor permit
    merges of protected changes. `is_client` states whether the actor is a client; by
    default, every actor without a token is one.
    """
    is_client_actor = person is None if is_client is None else is_client
    for blocker in evaluation.blockers:
        if is_client_actor or not blocker.only_clients:
            return blocker
    if evaluation.requirements and (person is None or not may_review):
        paths = _list_paths(evaluation.requirements)
        return MergeBlocker(
            NeedsPerson.code,
            f"{format_paths(paths)} is protected, so a person must merge this, by a token"
            + ("" if may_review else f" with the scope {REVIEW_SCOPE}"),
        )
    for requirement in evaluation.requirements:
        if person is not None and requirement.may_merge and person.token not in requirement.may_merge:
            return MergeBlocker(
                "NOT_ALLOWED",
                f"{format_paths(requirement.paths)} may be merged by "
                f"{_format_names(requirement.may_merge)} only, and not by {person.token}",
            )
    return None


def _evaluate_rule(
    governing_rule: GoverningRule,
    reviews: EffectiveReviews,
    passed_checks: set[str],
    tokens: Keyring,
    is_author: Callable[[Person], bool],
) -> RuleRequirement:
    rule = governing_rule.rule
    owners = {name: tokens.find_owner(name) for name in dict.fromkeys((*rule.approvers, *rule.merge))}
    return RuleRequirement(
        governing_rule.number,
        governing_rule.paths,
        rule.approvals,
        reviews.list_approver_tokens(rule),
        rule.approvers,
        rule.merge,
        tuple(name for name, owner in owners.items() if owner is None),
        tuple(check for check in dict.fromkeys(rule.checks) if check not in passed_checks),
        tuple(
            name
            for name in dict.fromkeys(rule.approvers)
            if (owner := owners[name]) is not None and is_author(owner.person)
        ),
    )


def _make_unreviewed_blocker(unreviewed: Sequence[UnreviewedChange], target: str) -> MergeBlocker:
    paths = list(dict.fromkeys(change.path for change in unreviewed))
    other_paths = list(
        dict.fromkeys(change.changed_path for change in unreviewed if change.changed_path != change.path)
    )
    other_text = f", made to {format_paths(other_paths)}" if other_paths else ""
    message = (
        f"the merge would add changes of {target} to {format_paths(paths)}{other_text}, "
        "which no reviewer of the proposal has seen: refresh it, and have it approved again"
    )
    return MergeBlocker(NEEDS_REFRESH, message)


def _make_change_request_blocker(author: Author) -> MergeBlocker:
    is_client = author.known_by is IdentitySource.CLIENT
    name = author.name or author.label or author.email
    shown_name = name if len(name) <= _MAX_NAME_CHARACTERS else name[:_MAX_NAME_CHARACTERS] + "…"
    message = f"{shown_name or 'someone'} requested changes, which are not made yet"
    return MergeBlocker("CHANGES_REQUESTED", message, only_clients=is_client)


def _make_unread_blocker(unread_event_count: int, *, only_clients: bool) -> tuple[MergeBlocker, ...]:
    """Return the blocker for unread events, which may contain a change request."""
    files = "file of its discussion was" if unread_event_count == 1 else "files of its discussion were"
    message = (
        f"{unread_event_count:,} {files} not read, and may request changes: "
        "there are too many, or they are missing"
    )
    return (MergeBlocker("WORDS_UNREAD", message, only_clients),)


def _list_unmet_requirements(
    requirements: Sequence[RuleRequirement], void_reasons: Mapping[str, VoidReason]
) -> list[MergeBlocker]:
    blockers = []
    reasons = [
        description for reason, description in _VOID_DESCRIPTIONS.items() if reason in void_reasons.values()
    ]
    void_text = f"; not counted are approvals {', '.join(reasons)}" if reasons else ""
    for requirement in requirements:
        count, needed = len(requirement.approved_by), requirement.approvals_needed
        if count < needed:
            approvers_text = f" by {_format_any_of(requirement.approvers)}" if requirement.approvers else ""
            approved_text = f" ({_format_names(requirement.approved_by)})" if count else ""
            unknown_approvers = [name for name in requirement.unknown if name in requirement.approvers]
            unknown_text = (
                f"; no token of {_format_names(unknown_approvers)} is known here" if unknown_approvers else ""
            )
            author_verb = "is an author" if len(requirement.authors) == 1 else "are authors"
            author_text = (
                f"; {_format_names(requirement.authors)} {author_verb} of it, and cannot approve it"
                if requirement.authors
                else ""
            )
            approvals = "approval" if needed == 1 else "approvals"
            verb, has = ("needs", "has") if len(requirement.paths) == 1 else ("need", "have")
            blockers.append(
                MergeBlocker(
                    NEEDS_APPROVAL,
                    f"{format_paths(requirement.paths)} {verb} {needed} {approvals}{approvers_text} of the "
                    f"proposal as it is now, and {has} {count}{approved_text}{void_text}{unknown_text}"
                    f"{author_text}",
                )
            )
    failed_checks = dict.fromkeys(
        check for requirement in requirements for check in requirement.checks_failed
    )
    if failed_checks:
        blockers.append(
            MergeBlocker("CHECKS_FAILED", f"required checks did not pass: {', '.join(failed_checks)}")
        )
    return blockers


def _list_paths(requirements: Sequence[RuleRequirement]) -> list[str]:
    return sorted({path for requirement in requirements for path in requirement.paths})


def _format_names(names: Sequence[str]) -> str:
    first_names = ", ".join(names[:_MAX_LISTED_NAMES])
    omitted_count = len(names) - _MAX_LISTED_NAMES
    return f"{first_names} and {omitted_count} more" if omitted_count > 0 else first_names


def _format_any_of(names: Sequence[str]) -> str:
    omitted_count = len(names) - _MAX_LISTED_NAMES
    last_names = [f"{omitted_count} more"] if omitted_count > 0 else []
    *first, last = [*names[:_MAX_LISTED_NAMES], *last_names]
    return f"{', '.join(first)} or {last}" if first else last


def evaluate_merge(repository: ProposalRepository, proposal: Proposal, merge: Merge) -> MergeEvaluation:
    """Evaluate the requirements of a proposal for a merge, by the rules of the target's tip.

    Rules are matched with the changes that the merge makes to the target, regardless of the proposal's
    commits. Raises InvalidConfig, LimitExceeded, and UnsafeTokens or DamagedTokens for a file of tokens that
    cannot be used.
    """
    config = merge.ours.config
    assert merge.ours.commit is not None
    assert merge.theirs.commit is not None
    governing_rules = (
        find_governing_rules(config, _list_touched_paths(repository, proposal, merge))
        if config.protect
        else ()
    )
    checks: Sequence[CheckResult] = ()
    if any(governing_rule.rule.checks for governing_rule in governing_rules):
        # Imported here because most rules require no checks.
        from workspace.proposals.review.review import get_proposal_review

        checks = get_proposal_review(repository.workspace).check_merge(merge)
    return evaluate_requirements(
        proposal,
        repository.list_events(proposal.id),
        governing_rules,
        checks,
        repository.workspace.tokens,
        find_commit_authors(
            repository.workspace.git, repository.graph, merge.theirs.commit, merge.ours.commit
        )
        if governing_rules
        else frozenset(),
        find_unreviewed_changes(merge) if config.protect else (),
    )


def _list_touched_paths(
    repository: ProposalRepository, proposal: Proposal, merge: Merge
) -> tuple[TouchedPath, ...]:
    """Return the paths that a merge changes; with conflicts, also those that the proposal changes.

    The changes of a merge with conflicts are incomplete, and its missing approvals are reported with them.
    """
    touched_paths = find_touched_paths(merge.ours, merge.changes)
    if not merge.conflicts:
        return touched_paths
    from workspace.proposals.review.review import get_proposal_review

    own_paths = get_proposal_review(repository.workspace).find_touched_paths(proposal, merge.ours.config)
    by_path = {touched_path.path: touched_path for touched_path in (*own_paths, *touched_paths)}
    return tuple(by_path[path] for path in sorted(by_path))


NOT_MERGEABLE = "NOT_MERGEABLE"
"""The code of the blocker if no merge can be tried, such as for a deleted target."""

_END_DESCRIPTIONS = {ProposalState.CLOSED: "it was closed", ProposalState.GONE: "its branch was deleted"}


class MergeRequirements(NamedTuple):
    """The blockers of a merge, and its evaluation. Without blockers, the proposal can be merged now.

    `evaluation` is None if there is no merge, or if the merge cannot be evaluated; a blocker states why.
    `unreviewed_changes` are the changes that the merge would put under a rule beyond the proposal's commit;
    None if there are no such changes.
    """

    blockers: tuple[MergeBlocker, ...]
    evaluation: MergeEvaluation | None = None
    unreviewed_changes: CommitChanges | None = None

    @property
    def requirements(self) -> tuple[RuleRequirement, ...]:
        """The requirements of the rules that govern the proposal."""
        return self.evaluation.requirements if self.evaluation is not None else ()

    @property
    def void_reasons(self) -> Mapping[str, VoidReason]:
        """The reasons why approvals do not count, by the ids of their events."""
        return self.evaluation.void_reasons if self.evaluation is not None else {}


def find_merge_requirements(
    repository: ProposalRepository, proposal: Proposal, preview: Preview
) -> MergeRequirements:
    """Return the blockers of a previewed merge, and its evaluation; a merged proposal has neither."""
    if proposal.state is ProposalState.MERGED:
        return MergeRequirements(())
    blockers = list(_list_early_blockers(proposal, preview))
    if preview.merge is None:
        return MergeRequirements(tuple(blockers))
    try:
        evaluation = evaluate_merge(repository, proposal, preview.merge)
    except WorkspaceError as error:  # other blockers are reported even if the file of tokens is unsafe
        return MergeRequirements((*blockers, MergeBlocker(error.code, error.message)))
    paths = dict.fromkeys(change.path for change in evaluation.unreviewed)
    unreviewed = list_merge_changes(preview.merge, paths) if paths else None
    return MergeRequirements((*blockers, *evaluation.blockers), evaluation, unreviewed)


def _list_early_blockers(proposal: Proposal, preview: Preview) -> Iterator[MergeBlocker]:
    if proposal.state in _END_DESCRIPTIONS:
        yield MergeBlocker(ProposalEnded.code, _END_DESCRIPTIONS[proposal.state])
    if preview.is_empty:
        yield MergeBlocker(NothingProposed.code, "it has no commit of its own yet")
    if preview.reason is not None and proposal.state is not ProposalState.GONE:
        yield MergeBlocker(NOT_MERGEABLE, preview.reason)
    if count := len(preview.conflicts):
        conflicts = "1 conflict" if count == 1 else f"{count:,} conflicts"
        yield MergeBlocker(MergeConflict.code, f"{conflicts} with {proposal.content.target} to be resolved")
