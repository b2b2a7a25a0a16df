"""The answer of a call that has committed and then failed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tools.tool import Answer, Data, call
from workspace.escapes import escape_invisible
from workspace.publishing.after_commit import describe_failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from workspace.publishing.after_commit import CommitRecord

_DO_NOT_RETRY = "The change is committed: do not send this call again"


def build_committed_answer(record: CommitRecord, error: Exception, offers: Callable[[str], bool]) -> Answer:
    """Return a successful answer with the commit, for a call that failed after it committed."""
    caveat = f"Committed, but the rest of the answer is missing: {describe_failure(error)}"
    record.caveats.append(caveat)
    data: Data = {"commit": record.commit}
    next_step = _DO_NOT_RETRY
    if record.proposal is not None:
        data["proposal"] = record.proposal
        if offers("view_proposal"):
            next_step += f"; view the proposal with {call('view_proposal', proposal=record.proposal)}"
    elif offers("list_documents"):
        next_step += f"; see the documents with {call('list_documents')}"
    return Answer({**data, "next_step": next_step})


def add_caveats(answer: Answer, record: CommitRecord) -> Answer:
    """Return an answer whose hints begin with the failures after the commit."""
    if not record.caveats:
        return answer
    caveats = [escape_invisible(caveat) for caveat in dict.fromkeys(record.caveats)]
    record.caveats.clear()
    return replace(answer, data={**answer.data, "hints": [*caveats, *answer.data.get("hints", ())]})
