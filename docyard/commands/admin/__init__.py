"""`docyard admin`: a group that imports the module of a command on demand.

access.py          the database of the configuration, opened for the operator
apply.py           `docyard admin apply`: the changes of a file of organizations
audit.py           `docyard admin audit`: the audit log
database.py        `docyard admin database`: the check and the upgrade of the schema, and the backup of SQLite
erase.py           `docyard admin erase`: the removal of a secret or a person
export.py          `docyard admin export`: the file of the current state
namespaces.py      `docyard admin namespaces`
object_changes.py  the list, the addition, the change and the removal of objects of any kind
organizations.py   `docyard admin organizations`
plan.py            `docyard admin plan`: what a file of organizations would change
records.py         `docyard admin records`: exports and digests of searches, callers that are not recorded
reports.py         `docyard admin reports`: readers' reports of problems in documents
rules.py           `docyard admin rules`
servers.py         `docyard admin servers`
tokens.py          `docyard admin tokens`: access tokens
"""

from __future__ import annotations

import click

from docyard.cli.main import LazyGroup

COMMANDS = {
    "plan": "Show what a file of organizations would change.",
    "apply": "Make the changes of a file of organizations.",
    "export": "Print the organizations as a file for `apply`.",
    "organizations": "List, add, change and remove organizations.",
    "servers": "List, add, change and remove servers.",
    "namespaces": "List, add, change and remove namespaces.",
    "rules": "List, add, change and remove the roles of groups.",
    "tokens": "Create, list and revoke access tokens.",
    "records": "Export and control the records of searches.",
    "reports": "Read and resolve the reports of readers.",
    "erase": "Remove a leaked secret or a person from records and indexes.",
    "audit": "Show the audit log, or verify it.",
    "database": "Check, upgrade or back up the database.",
}
"""The commands in the order of the help, each with its short help; this package has a module for each."""


class _Group(LazyGroup):
    package = __name__
    short_helps = COMMANDS


@click.group(cls=_Group, name="admin")
def command() -> None:
    """Administer the organizations of a server: their servers, namespaces, rules and records.

    The commands read the configuration of the server, and change its database. A running server reads the
    changes by itself.

    \b
    Example:
        docyard admin plan organizations.toml --config server.toml
        docyard admin apply organizations.toml --config server.toml
        docyard admin namespaces add acme api --repo /srv/git/api.git --config server.toml
    """
