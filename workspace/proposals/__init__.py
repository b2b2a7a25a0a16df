"""Proposals: branches that ask to be merged, with their discussion and approvals.

actions/       the actions on a proposal: open, discuss, refresh, merge
approvals.py   the valid reviews of a proposal: by its events, the seals on them, and the local tokens
comments.py    the current position of the text of a comment: unchanged, moved, changed, or removed
discussion.py  the discussion: the event files of a commit, or of several that are not merged yet
event_log.py   the event log
events.py      what people say of a proposal
landing.py     which proposals a branch has taken in
proposal.py    A proposal as it stands now, from what was said of it and from where the branches are
review/        the review of a proposal
unreviewed.py  text that a merge would put under a rule although no rule like it governed the text …
"""
