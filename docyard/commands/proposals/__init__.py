"""`docyard proposals`: a group that imports the module of a command on demand.

approve.py          `docyard proposals approve`: approval of a proposal at its current commit
close.py            `docyard proposals close`: the end of a proposal without a merge
comment.py          `docyard proposals comment`: a comment on a proposal, a document or a section
conflicts.py        `docyard proposals conflicts`: the conflicts of a proposal with its target
create.py           `docyard proposals create`: a new proposal, from the tip of the served branch
diff.py             `docyard proposals diff`: the changes of a proposal, section by section and word by word
edit.py             `docyard proposals edit`: a new title or description for a proposal
list.py             `docyard proposals list`: the proposals of a repository, newest first
merge.py            `docyard proposals merge`: the merge of a proposal into its target
parameters.py       arguments and options that several commands of proposals share
refresh.py          `docyard proposals refresh`: the merge of the target into a proposal
reopen.py           `docyard proposals reopen`: the reopening of a closed proposal
request_changes.py  `docyard proposals request-changes`: a review that requests changes
show.py             `docyard proposals show`: a proposal on one page, for its reviewers
submit.py           `docyard proposals submit`: a request for a review
"""

from __future__ import annotations

import click

from docyard.cli.main import LazyGroup
from docyard.commit_errors import run_committing_command

COMMANDS = {
    "list": "List proposals, newest first.",
    "show": "Show a proposal: changes, discussion, unmet requirements.",
    "diff": "Show the changes of a proposal, word by word.",
    "create": "Create a proposal.",
    "edit": "Change the title or the description of a proposal.",
    "submit": "Request a review of a proposal.",
    "comment": "Comment on a proposal, or on a section of it.",
    "approve": "Approve a proposal at its current commit.",
    "request-changes": "Request changes to a proposal.",
    "conflicts": "Show the conflicts of a proposal with its target.",
    "refresh": "Merge the target into a proposal.",
    "merge": "Merge a proposal into its target.",
    "close": "Close a proposal without a merge.",
    "reopen": "Reopen a closed proposal.",
}
"""The commands in the order of the help, each with its short help; this package has a module for each."""


class _Group(LazyGroup):
    package = __name__
    short_helps = COMMANDS

    def invoke(self, ctx: click.Context) -> object:
        return run_committing_command(lambda: super(_Group, self).invoke(ctx))


@click.group(cls=_Group, name="proposals")
def command() -> None:
    """Show, review and merge proposals.

    A proposal is a branch with a request to merge it. Its discussion is stored in Git too, so an ordinary
    clone contains it. ID is the id of a proposal, or its first four or more characters if no other id begins
    with them.

    \b
    Example:
        docyard proposals list
        docyard proposals show k7m2q9xa
        docyard proposals approve k7m2q9xa
        docyard proposals merge k7m2q9xa
    """
