"""The actions on a proposal: open, discuss, refresh, merge.

actions.py              the actions on the proposals of a workspace
discuss.py              the discussion of an open proposal
document_discussion.py  the comments on the documents of a branch
drafts.py               the drafts to which direct writes to protected paths are added
merge.py                the merge of a proposal into its target
merge_gate.py           the requirements of a merge
open.py                 the opening of a proposal
refresh.py              the refresh of a proposal: a merge commit of the target's tip, without a rebase
repository.py           the repository of proposals
suggestions.py          the suggestion in a comment, applied as a commit
task_claims.py          the claims of tasks in protected documents
"""
