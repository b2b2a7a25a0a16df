"""Docyard: a Git-native workspace in which agents write Markdown and people review it.

__main__.py        `python -m docyard` and the console script `docyard`
caller.py          the authenticated sender of a request
cli/               the command line: its group of commands, and code that several commands share
commands/          the commands, one module each, imported on demand
commit_errors.py   exit codes of commands that commit: a command that has committed does not fail
database/          the database of a server: organizations, identities, records
demo/              the demonstration: an agent uses a real server in a temporary repository
doctor/            the checks of `docyard doctor`
embedding/         providers of vectors for a search by meaning
environment.py     the only module that reads the process's environment
eval/              the evaluation of `docyard eval`
export/            the pages and texts of `docyard export`
forges/            clients of the supported forges: GitHub, GitLab, and Gitea or Forgejo
hosting/           the content of the servers of organizations
http/              the HTTP server: authentication, and the routing of requests to MCP or pages
identity/          tokens, OAuth, sign-in, and the rules of groups
limits/            the limits of calls
mcp_server/        the MCP server: the only package that imports `mcp` and `mcp_types`
nodes/             the nodes that write one repository: the lease, and forwarded calls
notifications/     notifications of proposals by a webhook and by e-mail
open_workspace.py  the functions that find the folder, and open the workspace, of a command's options
organizations/     organizations, their servers and namespaces
proposals/         the data of proposals that both commands and pages show
records/           the records of searches and calls
service.py         the content that a server offers, over stdio or HTTP
sessions/          the sessions of browsers
settings/          the configuration of a server: a file and the environment
sources/           a server of many documentation sources
startup.py         checks before the first import: the platform, and Docyard's own packages
sync.py            synchronisation of a served repository with its remote
telemetry/         metrics and structured logs
terminal/          the terminal: its user, its output, and the exit codes
web/               the web pages: documents, their history, search and proposals
wording.py         text formats for people, at a terminal and on pages
"""

__version__ = "0.1.0"
