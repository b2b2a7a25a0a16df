"""The tools that clients call over MCP.

after_commit.py   the answer of a call that has committed and then failed
arguments.py      parsing of arguments, with errors that name the field
authors.py        the name of an author in answers
budgets/          budgets of answers: the limit of a call, and the answer that fits it
caveats.py        warnings of an answer about the index and the remote
comments/         tools that list, answer and resolve comments
compatibility/    near and earlier names of arguments, and the version of schemas
completion.py     completion of arguments, as a user types them
dispatcher.py     the dispatcher: the tools that a server offers, and the answer to a call
documents/        tools that create, edit, remove, list and view documents
errors.py         translation of an error to an answer with a call that works
examples.py       examples after an error
history/          tools that show the history and restore from it
next_steps.py     calls that a next step names
outline.py        outlines of documents in answers
pages.py          sizes of answers, cursors of lists, and parts of long texts
planning/         tools that plan work on tasks
prompts/          MCP prompts that a user selects in a host
proposals/        tools that propose changes and review them
read_context.py   the commit at which a tool reads
reading/          tools that read files within a budget of tokens
records/          what a call did, for the records of a server
redirects.py      redirection of calls with an old address to the current location
resources/        MCP resources: documents and sections that a host attaches
returned_diff.py  the diff in the answer of a writing tool
retrieval/        tools that search several sources, and lead through walkthroughs
retries.py        stored answers for retries with an `idempotency_key`
search/           tools that search
task_progress.py  the progress of a section's tasks, for the task tools
tasks/            tools that manage tasks and tags
tool.py           tools as data
toolsets.py       groups of tools, and the choice of the groups that a server offers
write_target.py   the target of a write: the branch or a proposal
writer.py         single calls and batches of the writing tools
"""
