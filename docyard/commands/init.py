"""`docyard init`: make a folder a workspace, and say how to connect an agent to it."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docyard import environment
from docyard.cli.ci_workflows import KINDS, REQUIREMENT, build_workflow, write_workflow
from docyard.cli.hosts import HostConfiguration, build_host_configurations
from docyard.commands import options
from docyard.open_workspace import find_folder, open_workspace
from docyard.terminal import console
from docyard.terminal.exits import CannotError, Exit
from workspace.markdown.attribute_lists import AnchorForm

if TYPE_CHECKING:
    from docyard.cli.sites import SiteSettings

SETTINGS = """\
# Settings of this Docyard workspace, read from the commit that is served.
# Everything here is optional; the values shown are the defaults.

# Documents are the *.md and *.markdown files below this folder.
# root = ""

# Folders and globs that hold no documents. Folders that begin with a dot never do.
# exclude = ["vendor", "*/CHANGELOG.md"]

# How a new heading's address is written: "braces" is {#address}, "spaced" { #address },
# "colon" {: #address }, "comment" {/* #address */}, "angle" <#address>, "html" <a id="address"></a>.
# anchors = "braces"

# "seen": text is replaced only by an agent that has seen it. "any": by every agent.
# overwrite = "seen"

# Wait for the disk after each commit.
# fsync = true

# "off": write unsigned commits where the repository's configuration asks for signed ones.
# signing = "required"

[corpus]
# What the documents are about, in a few words; agents read it in the description of search_docs.
# description = "the platform team's specifications"

[taxonomy]
# Keys of front matter to filter searches by, beside type and tags. Where a document has none of its own, a
# .taxonomy.toml in its folder or above may give its values.
# language.description = "Filter results by programming language."

[limits]
# document_bytes = 10000000
# headings = 10000
# nesting = 20
# operations = 200
# call_bytes = 20000000
# text_tokens = 25000

[links]
# Whose rules make a heading's fragment and say which file a link means: "github", "mkdocs", "docusaurus".
# dialect = "github"

# true: [[Page#Heading]] is a link.
# wiki = false

# The folder that a link like /page.md counts from.
# root = ""

# Globs of destinations that something else serves, and that are not looked for.
# ignore = ["/api", "*.html"]

[validate.rules]
# How bad what a rule finds is: "error", "warning", "note" or "off". docs/validate.md lists the rules.
# missing-anchor = "off"

# Other levels where a glob matches stand below [[validate.override]]; docs/validate.md shows how.

[remote]
# How often a server fetches from the remote and pushes to it: "30s", "5m", "1h". Unless it is set: never.
# every = "5m"

# "commit": a server pushes after each commit. docs/remotes.md says how a remote is reached.
# push = "commit"

# Where this table stands, a proposal that is submitted becomes a pull request on the forge of the remote:
# "github", "gitlab" or "gitea". docs/forges.md says more.
# [forge]
# kind = "github"

# What changes only by a proposal that people approve; docs/policy.md has all that a rule can say.
# [[protect]]
# paths = ["specs/**"]
# approvals = 1
# approvers = ["ana"]
"""


@click.command(name="init", short_help="Make a folder a workspace, and say how to connect an agent.")
@click.argument("path", required=False, type=click.Path(path_type=Path, file_okay=False))
@options.repository
@click.option(
    "--anchors",
    type=click.Choice([form.value for form in AnchorForm]),
    help="How new anchors are written. [default: as the documents have them, else braces]",
)
@click.option("--branch", metavar="NAME", help="The branch of a new repository, or the one to write to.")
@click.option(
    "--hosts", "only_hosts", is_flag=True, help="Only print how to connect an agent; change nothing."
)
@click.option(
    "--workflow",
    "forge",
    type=click.Choice(KINDS),
    help="Only write the file by which a forge checks pull requests, to be looked at and committed.",
)
@click.option(
    "--docyard",
    "requirement",
    metavar="REQUIREMENT",
    default=REQUIREMENT,
    show_default=True,
    help="What that file installs, as pip takes it.",
)
@options.as_json
def command(
    path: Path | None,
    repo: Path | None,
    anchors: str | None,
    branch: str | None,
    only_hosts: bool,
    forge: str | None,
    requirement: str,
    as_json: bool,
) -> int:
    """Make a folder a workspace: a Git repository with a commented docyard.toml, committed.

    A folder without a repository gets one. What is there stays as it is. Where a site generator publishes the
    documents, its dialect and the form of their anchors are found and set. Afterwards the configuration of
    common MCP hosts is printed.

    \b
    Example:
        docyard init ~/specs
        docyard init ~/specs --anchors angle
        docyard init --hosts -C ~/specs
        docyard init --workflow github
    """
    if anchors is not None and (only_hosts or forge):
        raise click.UsageError("--anchors is for the docyard.toml that --hosts and --workflow do not write")
    if only_hosts and forge:
        raise click.UsageError("--hosts and --workflow exclude each other: run them one after the other")
    folder = find_folder(path or repo)
    if forge is not None:
        return _write_workflow(folder, forge, requirement, as_json)
    created = False if only_hosts else create_repository(folder, branch)
    site = None if only_hosts else _site(folder, branch)
    commit = commit_settings(folder, branch, site.settings(_settings(anchors))) if site else None
    hosts = build_host_configurations(environment.build_own_command("serve", "-C", str(folder.resolve())))
    if as_json:
        result = {
            "repository_created": created,
            "commit": commit,
            "site": asdict(site) if site else None,
            "hosts": [asdict(host) for host in hosts],
        }
        console.print_json(result)
    else:
        _print_result(created, site, commit, hosts)
    return Exit.DONE


def _site(folder: Path, branch: str | None) -> SiteSettings:
    """Return the site of a repository's documents: those of its work tree, else of its branch."""
    from docyard.cli.sites import SiteSettings, find_site
    from workspace.validation.files import UnreadableFile, list_commit, list_folder

    workspace = open_workspace(folder, branch)
    commit = workspace.snapshot().commit
    try:
        if workspace.git.worktree is not None:
            return find_site(list_folder(workspace.git.worktree, workspace.git))
    except UnreadableFile as error:
        return SiteSettings(notes=(f"The work tree was not read: {error.message}.",))
    return find_site(list_commit(workspace.git, commit)) if commit else SiteSettings()


def _settings(anchors: str | None) -> str:
    """Return the commented settings, with a form of anchors if one was selected."""
    if anchors is None:
        return SETTINGS
    return SETTINGS.replace('# anchors = "braces"\n', f'anchors = "{anchors}"\n')


def create_repository(folder: Path, branch: str | None) -> bool:
    """Create a repository in a folder without one; return True if it was created.

    Errors: CannotError if the folder is inside a repository, or cannot be written.
    """
    from workspace.git.reader import GitReader
    from workspace.git.repository import NotARepository, initialise

    try:
        found = GitReader(folder)
    except NotARepository:
        try:
            initialise(folder, branch)
        except OSError as error:
            raise CannotError(
                "a repository cannot be made there", fix="Name a folder that you may write to."
            ) from error
        return True
    if found.worktree is not None and found.worktree.resolve() != folder.resolve():
        raise CannotError(
            "this folder is inside a Git repository, and docyard.toml belongs at its top",
            fix="Run `docyard init` in the repository's top folder, or `git init` here first.",
        )
    return False


def commit_settings(folder: Path, branch: str | None, settings: str) -> str | None:
    """Commit `settings` as docyard.toml and return the commit.

    If the repository requires signed commits and the settings allow no others, the file is only written, and
    the result is None. Errors: CannotError if the file exists, or there is no branch to write to.
    """
    from workspace.config.config import WorkspaceConfig
    from workspace.config.toml import CONFIG_PATH
    from workspace.git.objects import Signature
    from workspace.git.store import GitStore
    from workspace.publishing.batch import Batch
    from workspace.publishing.publish import publish

    workspace = open_workspace(folder, branch, read_only=False)
    git, snapshot = workspace.git, workspace.snapshot()
    file = git.worktree / CONFIG_PATH if git.worktree is not None else None
    if snapshot.entry(CONFIG_PATH) or (file is not None and file.exists()):
        raise CannotError(
            f"there is a {CONFIG_PATH} already, and it was left as it is",
            fix="Edit and commit it yourself; `docyard init --hosts` prints how to connect an agent.",
        )
    if workspace.branch is None or not isinstance(git, GitStore):
        raise CannotError(
            "HEAD is detached, so there is no branch to write to", fix="docyard init --branch NAME"
        )
    data = settings.encode()
    if git.config_flag("commit.gpgsign") and WorkspaceConfig.read(data).signing != "off":
        if file is None:
            raise CannotError(
                "the repository asks for signed commits", fix=f"Commit a {CONFIG_PATH} yourself."
            )
        file.write_bytes(data)
        return None
    now = datetime.now().astimezone()
    offset = now.utcoffset() or timedelta()
    author = Signature(*workspace.author(), int(now.timestamp()), int(offset.total_seconds() // 60))
    batch = Batch(
        workspace.branch, snapshot.commit, {CONFIG_PATH: data}, "Set up a Docyard workspace\n", author
    )
    return publish(git, batch, durable=True)


def _write_workflow(folder: Path, forge: str, requirement: str, as_json: bool) -> int:
    """Write the CI workflow into the work tree of a repository, without a commit."""
    from workspace.git.reader import GitReader

    root = GitReader(folder).worktree
    if root is None:
        raise CannotError(
            "a bare repository has no files to write to", fix="Run this in a clone of it, and push."
        )
    made = build_workflow(forge, requirement)
    is_new = write_workflow(root, made)
    if as_json:
        console.print_json({"workflow": made.path, "written": is_new})
    elif is_new:
        click.echo(f"Wrote {made.path}. Look at it, then:")
        click.echo(f'    git add {made.path} && git commit -m "Check documents in pull requests"')
    else:
        click.echo(f"{made.path} says this already; it was left as it is.")
    return Exit.DONE


def _print_result(
    created: bool, site: SiteSettings | None, commit: str | None, hosts: tuple[HostConfiguration, ...]
) -> None:
    if created:
        click.echo("Made a Git repository.")
    if site is not None:
        for line in site.report():
            click.echo(line)
        click.echo(
            f"Committed docyard.toml ({commit[:12]})."
            if commit
            else "Wrote docyard.toml. This repository asks for signed commits, so commit it yourself:\n"
            "    git add docyard.toml && git commit"
        )
        click.echo(
            "Are there documents already? `docyard validate` says what is wrong with them, "
            "`docyard fix --check` what of it can be mended."
        )
        click.echo()
    click.echo("Connect an agent by one of these:")
    for host in hosts:
        click.echo()
        click.secho(f"{host.host}: {host.place}", bold=True)
        click.echo("\n".join(f"    {line}" for line in host.text.splitlines()))
