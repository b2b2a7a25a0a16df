"""The pages of proposals: view, discuss, review and merge.

actions.py           the actions of a proposal's forms, and the page of a refused action
attention_checks.py  the proposals that need the caller, read for a short time or in the background
authorship.py        the right of the caller to approve, which the author of a change does not have
changes.py           the changes of a proposal, with the comments on each section
conflicts.py         the conflicts of a proposal with its target, and the form that resolves them
conversation.py      the comments, reviews and other events of a proposal
file_tree.py         the tree of changed documents beside the changes
list.py              the page of proposals, with filters
pending_comments.py  the comments that the browser collects and sends with a review
read_marks.py        the marks of proposals that the browser has shown
routes.py            the routes of these pages
suggested_lines.py   the lines of the source that a suggestion replaces
view.py              the page of a proposal
"""
