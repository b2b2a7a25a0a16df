"""Docyard: a Git-native workspace in which agents write Markdown and people review it.

__main__.py        `python -m docyard` and the console script `docyard`
caller.py          who sent a request, as the server has proved it
cli/               the command line: its group of commands, and what several commands share
commands/          the commands, one module each, imported when the command is called
commit_errors.py   commands that commit: what fails after the commit is reported, and the command has …
demo/              the demonstration: an agent and a reviewer use a real server in a temporary repository
doctor/            the checks of `docyard doctor`
environment.py     the one place that asks the process about its surroundings
eval/              the evaluation of `docyard eval`
forges/            clients of the forges on which people review: GitHub, GitLab, and Gitea or Forgejo
http/              the HTTP server: who may connect, and which application answers
mcp_server/        the MCP server: the only package that imports `mcp` and `mcp_types`
open_workspace.py  the workspace of a command: the folder that its options name, opened
proposals/         proposals as commands and pages show them
service.py         what a server serves, whichever way it is asked
startup.py         are `tools`, `index`, `workspace` and `templates` Docyard's own?
sync.py            synchronising while serving
terminal/          the terminal: who is at it, what people see, and the exit codes
web/               the web pages: documents, their history, search and proposals
wording.py         words for people, at a terminal and on pages
"""

__version__ = "0.1.0"
