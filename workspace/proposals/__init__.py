"""Proposals: branches that ask to be merged, with their discussion and approvals.

actions/            the actions on a proposal: open, discuss, refresh, merge
answers.py          answers to comments: replies and resolutions, in one batch
approvals.py        the permission to approve a proposal, and its valid reviews
attention.py        the people whom a proposal concerns, and the reasons
change_requests.py  the change requests that a submission does not address
code_owners.py      the file CODEOWNERS: the owners of paths
comments.py         the current position of a comment's text: unchanged, moved, changed or removed
discussion.py       the discussion: the event files of a commit, or of several unmerged commits
event_log.py        the event log
events.py           the events of a proposal, their limits and their encoding
merge_detection.py  the detection of merged proposals
participants.py     the people of a repository's proposals, and their mentions
proposal.py         the current state of a proposal, derived from its events and the branches
review/             the review of a proposal
review_times.py     the times of proposals: opened for review, first reviewed, merged
suggested_text.py   the text of a suggestion, and the Markdown that it replaces
unreviewed.py       changes that a merge would place under a rule that did not govern them before
"""
