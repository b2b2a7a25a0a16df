"""The tools that clients call over MCP: values that a server lists, and what answers their calls.

after_commit.py   the answer of a call that has committed, whatever failed after that
arguments.py      arguments: what a client sent, made into what a tool asked for, or into an error that …
caveats.py        what every answer says of the remote
completion.py     candidates for what a person begins to type
documents/        the tools that manage documents, in the order in which a client sees them
errors.py         answers, and the one translation of an error to an answer that teaches the right call
examples.py       examples after an error: a call that works, made of the caller's values and of what …
history/          the tools that tell and take back the past, in the order in which a client sees them
moved.py          moved addresses: what a call names by an address of before is found where it stands now
next_steps.py     calls that a next step names: of the tools that are served, and of no others
outline.py        outlines: a document's sections and tasks as the tools show them
pages.py          what the tools that read have in common: bounded texts and pages
prompts/          what a person may choose in a host
proposals/        the tools that propose changes and review them, in the order in which a client sees them
read_context.py   what a reader answers from
reading/          the tools that read files within a budget, in the order in which a client sees them
registry.py       the registry: the tools that one server offers, and how a call is answered
resources/        the resources of MCP: documents and sections that a host attaches and subscribes to
retries.py        retries: what a call with an `idempotency_key` leaves to its retry, and how a retry is …
search/           the tools that search, in the order in which a client sees them
task_progress.py  what the task tools share
tasks/            the tools that manage tasks and labels, in the order in which a client sees them
tool.py           tools as data: what the transport, the documentation and the tests read alike
toolsets.py       toolsets: the families of tools, and which of them a server offers
write_target.py   writing to a proposal: on its branch if a call names one, and where a direct write is …
writer.py         what the tools that write have in common
"""
