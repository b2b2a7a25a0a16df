"""The command line: the group of all commands, and code that several commands share.

addresses.py           addresses at the command line, which may be relative or name a moved section
checked_files.py       the files that `docyard validate` and `docyard fix` check
ci_workflows.py        CI configuration that checks each pull request, for each kind of forge
comments.py            comments on documents and proposals: their list, and the result of answers
commit_range.py        the two commits that `docyard diff` compares, and their differences
commits.py             commit logs: short id, time, author, subject and changes
completion.py          shell completion of addresses, refs, proposals, types, toolsets and queries
configuration_page.py  the reference of the configuration, generated from the models of its files
drift_report.py        sections whose code changed later, as text and as Markdown for a pull request
fixes.py               the fixes of `docyard fix`: in a commit, in a work tree, or in a preview
hosts/                 configurations of MCP hosts, and the files that connect a team's hosts
main.py                the group of commands, and the exit code of a run
man_pages.py           manual pages and completion scripts, which an installation has below `share/`
proposals/             proposals at the command line
recent_commits.py      the commits of a branch that changed documents
reference.py           the reference pages in `docs/`, generated from tools, commands and settings
reports/               validation reports, for people and for programs
server_database.py     the configuration and the database of a server: the options that name them, and days
shells.py              completion scripts for bash, zsh and fish
sites.py               detection of site generators, and the settings that match them
sync_report.py         the result of a synchronisation, as data for programs and as text for people
token_options.py       the options of commands that create tokens: scopes and expiry
trace_report.py        a trace matrix as a Markdown table
"""
