"""What is said of a proposal that is open: its words edited, comments, reviews; submitted, closed, reopened.

Each is one event, or none where it would say what holds already. A retry with its key says nothing twice.

Which requests for changes a submission leaves unanswered: those of the same words.

What a refresh brings from the target is not the proposal's. So a commit of a refresh that nobody had to
decide stands for the commit before it, and one that the target holds for no words at all.

What somebody said of a proposal elsewhere, such as on a forge, is said here in their name: once.

Nothing of it is proven, and nothing takes it for that: it has no seal, so an approval counts for nothing
where approvals are demanded (`policy.verdicts`), while a request for changes is heard from anybody.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from workspace.errors import WorkspaceError
from workspace.git.ancestry import first_parents
from workspace.git.messages import REFRESH, read_trailers
from workspace.git.store import writable
from workspace.nearest import nearest
from workspace.proposals import events as said
from workspace.proposals.actions.register import Acted, Actor, ProposalEnded, check_alive, key_reused
from workspace.proposals.approvals import own_hands
from workspace.proposals.comments import place_of
from workspace.proposals.events import (
    MAX_COMMITS,
    Closed,
    Commented,
    Edited,
    InvalidWords,
    Place,
    Reopened,
    Reviewed,
    Submitted,
    Verdict,
)
from workspace.proposals.proposal import Proposal, State
from workspace.publishing.after_commit import note_commit
from workspace.snapshot.snapshot import DocumentNotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from workspace.git.reader import GitReader
    from workspace.proposals.actions.register import Actor, Register
    from workspace.proposals.event_log import Appended
    from workspace.proposals.events import Closed, Commented, Reopened, Words
    from workspace.proposals.proposal import Proposal

DECIDED = "Docyard-Decided"


"""The trailer of a refresh by which conflicts were decided: how many."""


_MOST = 10_000  # refreshes in a row


def unanswered(git: GitReader, proposal: Proposal) -> tuple[str, ...] | None:
    """The commits at which changes are asked for, and which differ from a proposal's tip by refreshes alone.

    None where there is none; the last 50 at most.
    """
    tip = proposal.tip
    asked = dict.fromkeys(
        review.commit
        for review in proposal.words.reviews
        if review.verdict is Verdict.REQUEST_CHANGES and review.commit != tip
    )
    if tip is None or not asked:
        return None
    target = git.tip(proposal.words.target)
    words = _words_of(git, proposal, tip, target)
    same = [commit for commit in asked if _words_of(git, proposal, commit, target) == words]
    return tuple(same[-MAX_COMMITS:]) or None


def _words_of(git: GitReader, proposal: Proposal, commit: str, target: str | None) -> str | None:
    """The commit that has the proposal's words as they are at another; None where the target has it."""
    at = commit
    try:
        for found in first_parents(git.commit, git.boundary, commit, most=_MOST):
            trailers = read_trailers(found.message)
            is_plain = trailers.get(REFRESH) == proposal.id and DECIDED not in trailers
            if not is_plain or len(found.parents) < 2:
                break
            at = found.parents[0]
        return None if target is not None and at in git.merge_bases(target, at) else at
    except WorkspaceError:  # such as a commit that a rewritten branch had, or that a shallow clone lacks
        return at


class NeedsPerson(WorkspaceError):
    """Only a person who proves by a token who it is may do this; an agent never can."""

    code: ClassVar[str] = "NEEDS_PERSON"


class OwnProposal(WorkspaceError):
    """Nobody approves what is their own."""

    code: ClassVar[str] = "OWN_PROPOSAL"


class ProposalMoved(WorkspaceError):
    """A proposal is not at the commit that was meant; `tip` is where it is now."""

    code: ClassVar[str] = "PROPOSAL_MOVED"


def edit(
    register: Register,
    name: str,
    actor: Actor,
    title: str | None,
    description: str | None,
    key: str | None,
    confirm: Callable[[Proposal], None] | None,
) -> Acted:
    """Return a proposal another title or description. Raises InvalidWords if neither is given."""
    if title is None and description is None:
        raise InvalidWords(
            "neither a title nor a description is given", fix="Give one of them, or both.", field="title"
        )
    new_title = said.title(title) if title is not None else None
    text = said.text(description, "description", may_be_empty=True) if description is not None else None
    proposal = register.one(name)
    now = (proposal.words.title, proposal.words.description)
    is_new = now != (new_title or now[0], now[1] if text is None else text)
    return _say(register, proposal, Edited(new_title, text), actor, key, is_new=is_new, confirm=confirm)


def submit(register: Register, name: str, actor: Actor, key: str | None) -> Acted:
    """Ask for a review of a proposal as it is now; what only refreshes have changed answers no request."""
    proposal = register.one(name)
    if register.earlier(proposal.id, [Submitted("")], key) is None:
        check_alive(proposal)
    is_new = proposal.words.submitted != proposal.tip
    same = unanswered(register.workspace.git, proposal)
    return _say(register, proposal, Submitted(proposal.tip or "", same), actor, key, is_new=is_new)


def comment(
    register: Register,
    name: str,
    actor: Actor,
    text: str,
    *,
    file: str | None,
    slug: str | None,
    quote: str,
    reply_to: str | None,
    key: str | None,
) -> Acted:
    """Return remarks on a proposal, on a place in it, or answers a remark; also when it has ended."""
    words = said.text(text, "comment")
    if file is None and (slug is not None or quote):
        raise InvalidWords(
            "a section or a quote is given, and no file", fix="Give the file too.", field="file"
        )
    proposal = register.one(name)
    repeated = register.repeated(proposal.id, key)
    if repeated is not None:
        # The text that the first call was on may have changed since, or be gone.
        asked = (words, reply_to, (file, quote.strip()) if file is not None else None)
        if [_as_asked(event.words) for event in repeated.events] != [asked]:
            raise key_reused(proposal=proposal.id)
        return _now(register, proposal, repeated)
    if reply_to is not None:
        _check_remark(proposal, reply_to)
    place, commit = _place(register, proposal, file, slug, quote)
    return _say(register, proposal, Commented(words, place, commit, reply_to), actor, key)


def review(
    register: Register,
    name: str,
    actor: Actor,
    verdict: Verdict,
    text: str,
    *,
    commit: str | None,
    key: str | None,
) -> Acted:
    """Return a verdict on a proposal as it is now; on `commit`, if that is named and the proposal is there.

    Raises NeedsPerson for an approval without a token, OwnProposal, ProposalMoved, ProposalEnded.
    """
    words = said.text(text, "review", may_be_empty=verdict is Verdict.APPROVE)
    if verdict is Verdict.APPROVE and actor.person is None:
        raise needs_person(name, "approve")
    proposal = register.one(name)
    earlier = register.earlier(proposal.id, [Reviewed(verdict, words, "")], key)
    if earlier is not None:
        if commit is not None and all(
            commit != event.words.commit for event in earlier.events if isinstance(event.words, Reviewed)
        ):
            raise key_reused(proposal=proposal.id)
        return _now(register, proposal, earlier)
    check_alive(proposal)
    tip = proposal.tip or ""
    if commit is not None and commit != tip:
        raise ProposalMoved(
            f"the proposal '{proposal.id}' is not at that commit any more",
            fix="View the proposal again, and review it as it is now.",
            proposal=proposal.id,
            tip=tip,
        )
    if verdict is Verdict.APPROVE:
        _check_not_own(register, proposal, actor)
    seal = _seal(register, proposal, actor, verdict, tip)
    return _say(register, proposal, Reviewed(verdict, words, tip, seal), actor, key)


def close(register: Register, name: str, actor: Actor, text: str, key: str | None) -> Acted:
    """Return a proposal up; one whose branch is gone too. Raises ProposalEnded if it was merged."""
    words = Closed(said.text(text, "reason", may_be_empty=True))
    proposal = register.one(name)
    if proposal.state is State.MERGED:
        raise ProposalEnded(proposal)
    return _say(register, proposal, words, actor, key, is_new=proposal.state is not State.CLOSED)


def reopen(register: Register, name: str, actor: Actor, text: str, key: str | None) -> Acted:
    """Take up a proposal that was closed. Raises ProposalEnded if it was merged, or its branch is gone."""
    words = Reopened(said.text(text, "reason", may_be_empty=True))
    proposal = register.one(name)
    if proposal.state is State.MERGED:
        raise ProposalEnded(proposal)
    if proposal.tip is None:
        raise ProposalEnded(proposal._replace(state=State.GONE))
    return _say(register, proposal, words, actor, key, is_new=proposal.state is State.CLOSED)


def needs_person(name: str, act: str) -> NeedsPerson:
    """Return the error for what an agent cannot do, which says what a person types."""
    return NeedsPerson(
        f"only a person with a token can {act} this proposal",
        fix=f"A person runs `docyard proposals {act} {name}` in a terminal of their own.",
        command=f"docyard proposals {act} {name}",
    )


def _say(
    register: Register,
    proposal: Proposal,
    words: Words,
    actor: Actor,
    key: str | None,
    *,
    is_new: bool = True,
    confirm: Callable[[Proposal], None] | None = None,
) -> Acted:
    writable(register.workspace.git)
    earlier = register.earlier(proposal.id, [words], key)
    if earlier is not None:
        return _now(register, proposal, earlier)
    if not is_new:
        return Acted(proposal, None, False)
    return _now(register, proposal, register.say(proposal.id, [words], actor, key, confirm))


def _now(register: Register, proposal: Proposal, said: Appended) -> Acted:
    """Return what a call answers that has said something, or an earlier one with its key.

    That one may have ended after the proposal was looked at, so it is looked at again.
    """
    note_commit(said.commit, proposal=proposal.id)
    ids = tuple(event.id for event in said.events)
    return Acted(register.latest(proposal), said.commit, not said.repeated, said=ids)


def _place(
    register: Register, proposal: Proposal, file: str | None, slug: str | None, quote: str
) -> tuple[Place | None, str | None]:
    """Return what a comment is about, and the commit in which it stands.

    What the proposal removed is commented on as it was before. Raises DocumentNotFound, and what `place_of`
    raises.
    """
    at = proposal.landing.tip if proposal.landing is not None else proposal.tip
    if file is None:
        return None, at
    if at is None:
        raise ProposalEnded(proposal._replace(state=State.GONE))
    try:
        return place_of(register.workspace.snapshot(at).document(file), slug, quote), at
    except DocumentNotFound:
        base = proposal.words.base
        before = register.workspace.snapshot(base) if base is not None else None
        if before is None or before.entry(file) is None:
            raise
        return place_of(before.document(file), slug, quote), base


def _as_asked(words: Words) -> object:
    """Return what a comment's writer asked for, whatever became of its place."""
    if not isinstance(words, Commented):
        return None
    place = words.place
    return words.text, words.reply_to, (place.path, place.quote) if place is not None else None


def _check_remark(proposal: Proposal, id: str) -> None:
    known = [one.id for thread in proposal.words.threads for one in (thread.comment, *thread.replies)]
    if id not in known:
        close = nearest(id, known) or known[-3:]
        raise InvalidWords(
            "there is no such comment to answer",
            fix=f"Answer one of these: {', '.join(close)}." if close else "Comment without reply_to.",
            field="reply_to",
            candidates=close,
        )


def _check_not_own(register: Register, proposal: Proposal, actor: Actor) -> None:
    speaker, workspace = actor.speaker, register.workspace
    target = workspace.git.tip(proposal.words.target)
    hands = frozenset[str]()
    if target is not None and proposal.tip is not None:
        hands = own_hands(workspace.git, register.graph, proposal.tip, target)
    if speaker.is_same(proposal.words.author) or speaker.email.casefold() in hands:
        raise OwnProposal(
            "nobody approves what they proposed or wrote themselves",
            fix="Ask another person to review it.",
            proposal=proposal.id,
        )


def _seal(register: Register, proposal: Proposal, actor: Actor, verdict: Verdict, commit: str) -> str | None:
    """What proves a person's verdict to those who know the token; None where no token proved who it is."""
    if actor.person is None:
        return None
    from workspace.policy.tokens import Tokens
    from workspace.proposals.approvals import seal

    key = Tokens(register.workspace.git.common_dir).key(actor.person.token)
    if key is None:
        return None
    return seal(
        key,
        proposal=proposal.id,
        target=proposal.words.target,
        verdict=verdict,
        commit=commit,
        token=actor.person.token,
    )


class Relayed(NamedTuple):
    """Words from elsewhere: whose they are, and the key by which they are known again.

    The key holds a space: no caller can give such a key (`requests.check_key`), and so take its place.
    """

    words: Commented | Reviewed | Closed | Reopened
    actor: Actor
    key: str


def relay(register: Register, id: str, heard: Iterable[Relayed]) -> tuple[Relayed, ...]:
    """Say of a proposal what was not said before, in order; what was new.

    Raises ReadOnly, InvalidWords where there is no room, Busy, and what `Publication` raises; what was said
    before an error stays said.
    """
    writable(register.workspace.git)
    new: list[Relayed] = []
    for one in heard:
        if register.repeated(id, one.key) is not None:
            continue
        words = replace(one.words, seal=None) if isinstance(one.words, Reviewed) else one.words
        register.say(id, [words], one.actor, one.key)
        new.append(one)
    return tuple(new)
