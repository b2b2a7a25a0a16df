"""Proposals: branches that ask to be merged, with their discussion and approvals.

actions/       the actions on a proposal
approvals.py   which verdicts on a proposal hold, by what was said of it and by the tokens that are …
comments.py    where the text is now that a comment is about
discussion.py  the discussion
event_log.py   the event log
events.py      what people say of a proposal
landing.py     which proposals a branch has taken in
proposal.py    A proposal as it stands now, from what was said of it and from where the branches are
review/        the review of a proposal
unreviewed.py  text that a merge would put under a rule although no rule like it governed the text …
"""
