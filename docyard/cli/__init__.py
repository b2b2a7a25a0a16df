"""The command line: its group of commands, and what several commands share.

addresses.py         which place of the repository a person means, whose paths may count from the …
ci_workflows.py      what a forge runs on each pull request
commits.py           commits as a person reads them
completion.py        what a shell may complete a word of the command line to
diff_ends.py         which two commits `docyard diff` compares, and what differs between them at a place
fixes.py             `docyard fix` behind its options
hosts.py             ready configuration for the MCP hosts that people use, as text to paste
main.py              the command line
proposals/           proposals at a terminal
reference.py         the references in `docs/`, made from the tools and the commands themselves
reports/             reports of findings, for people and for programs
shells.py            how bash, zsh and fish ask for completions, and how they are answered
sites.py             site generators
sync_report.py       what a synchronisation did, as data for programs and in words for people
validate_sources.py  what `docyard validate` looks at
"""
