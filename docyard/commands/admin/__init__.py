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

COMMANDS = (
    "plan",
    "apply",
    "export",
    "organizations",
    "servers",
    "namespaces",
    "rules",
    "tokens",
    "records",
    "reports",
    "erase",
    "audit",
    "database",
)
"""The commands in the order of the help; this package has a module for each."""


class _Group(LazyGroup):
    package = __name__
    command_names = COMMANDS


@click.group(cls=_Group, name="admin", short_help="Administer a server and its records.")
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
