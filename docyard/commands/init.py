"""`docyard init`: a new workspace in a folder, and the configuration that connects an agent to it."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docyard import environment
from docyard.cli import completion
from docyard.cli.ci_workflows import FORGE_KINDS, build_workflow, find_requirement, plan_workflow
from docyard.cli.hosts.configurations import (
    PROJECT_HOSTS,
    REMOTE_HOSTS,
    TOKEN_VARIABLE,
    HostConfiguration,
    build_host_configurations,
    detect_hosts,
    find_project_host,
)
from docyard.commands import options
from docyard.open_workspace import add_path_to_errors, find_folder, open_workspace
from docyard.terminal import console
from docyard.terminal.exits import CommandError, Exit, print_warning
from workspace.errors import InvalidConfig, WorkspaceError
from workspace.markdown.attribute_lists import AnchorForm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from docyard.cli.hosts.project_files import ProjectFile
    from docyard.cli.sites import SiteSettings
    from workspace.git.reader import GitReader
    from workspace.workspace import Workspace

SETTINGS_TEMPLATE = """\
# Settings of this Docyard workspace, read from the commit that is served.
# Everything here is optional; the values in comments are the defaults or examples.

# Documents are the *.md and *.markdown files below this folder.
# root = ""

# Folders and globs without documents. Folders whose names begin with a dot are always excluded.
# These files have instructions for agents, and are no documents.
exclude = ["**/AGENTS.md", "**/CLAUDE.md"]

# The form of a new heading's anchor: "braces" is {#address}, "spaced" { #address },
# "colon" {: #address }, "comment" {/* #address */}, "angle" <#address>, "html" <a id="address"></a>.
# anchors = "braces"

# "always": each heading that Docyard creates has an anchor. "as-document": not in a document without anchors.
# anchors_on_new = "always"

# "seen": an agent may replace only text that it has read. "any": an agent may replace any text.
# overwrite = "seen"

# Flush each commit to the disk.
# fsync = true

# "off": write unsigned commits even if the repository's configuration requires signed ones.
# signing = "required"

# true: documents of type "skill" are instructions for a model, if a [[protect]] rule requires an approval.
# skills = false

[corpus]
# The subject of the documents in a few words; agents read it in the description of search_docs.
# description = "the platform team's specifications"

[taxonomy]
# Keys of front matter to filter searches by, in addition to type and tags. For documents without such a
# key, a .taxonomy.toml in the same folder or above may set the values.
# language.description = "Filter results by programming language."

[limits]
# document_bytes = 10000000
# headings = 10000
# nesting = 20
# operations = 200
# call_bytes = 20000000
# text_tokens = 25000

[links]
# The rules for heading fragments and link targets: "github", "mkdocs", "docusaurus".
# dialect = "github"

# true: [[Page#Heading]] is a link.
# wiki = false

# The folder to which a link like /page.md is relative.
# root = ""

# Globs of link destinations that are not checked.
# ignore = ["/api", "*.html"]

[trace]
# Identifiers such as REQ-12 are required by headings and list items, and found in designs, tasks and tests.
# prefixes = ["REQ"]

# Globs of the documents that require identifiers. Without globs, all outside of `designed` and `tested`.
# required = []

# Globs of the documents with designs. Without globs, all that do not require the identifier.
# designed = []

# Globs of test files.
# tested = ["tests", "test", "**/test_*", "**/*_test.*", "**/*.test.*", "**/*.spec.*"]

[tasks]
# The hours after which a claim of a task expires.
# claim_hours = 24

[validate.rules]
# The severity of a rule's findings: "error", "warning", "note" or "off". docs/validate.md lists the rules.
# missing-anchor = "off"

# The table [[validate.override]] sets other severities for some files; docs/validate.md shows how.

[remote]
# How often a server fetches from the remote and pushes to it: "30s", "5m", "1h". The default is never.
# every = "5m"

# "commit": a server pushes after each commit. docs/remotes.md describes authentication.
# push = "commit"

# With this table, a submitted proposal becomes a pull request on the remote's forge:
# "github", "gitlab" or "gitea". docs/forges.md describes it.
# [forge]
# kind = "github"

# Protected paths, which change only by an approved proposal; docs/policy.md describes the rules.
# [[protect]]
# paths = ["specs/**"]
# approvals = 1
# approvers = ["ana"]
"""


_URL_PATH = re.compile("(/[A-Za-z0-9._~-]+)*")
_TOKEN_REMARK = (
    f"Each member sets {TOKEN_VARIABLE} to the token of their agent; VS Code asks for it once. At the "
    "server, `docyard tokens add NAME --scope docs:read --scope docs:write` creates one that cannot approve."
)


@click.command(name="init")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@options.repository
@click.option(
    "--anchors",
    type=click.Choice([form.value for form in AnchorForm]),
    help="The form of new anchors. [default: the form of the existing anchors, else braces]",
)
@click.option(
    "--branch",
    metavar="NAME",
    shell_complete=completion.complete_branches,
    help="The branch of a new repository, or the branch to write to.",
)
@click.option("--hosts", "only_hosts", is_flag=True, help="Only print how to connect an agent.")
@click.option(
    "--host",
    "project_hosts",
    type=click.Choice(PROJECT_HOSTS),
    multiple=True,
    help="Only show the files of the repository that connect this host for a team. Can be repeated.",
)
@click.option(
    "--url",
    metavar="URL",
    help="With --host: connect to the shared server at this URL, with a token of each member.",
)
@click.option(
    "--replace",
    is_flag=True,
    help="With --host: replace another server of the name docyard in the host's configuration.",
)
@click.option("--write", is_flag=True, help="With --host or --workflow: write the files, without a commit.")
@click.option(
    "--workflow",
    "forge",
    type=click.Choice(FORGE_KINDS),
    help="Only show a CI file that checks pull requests.",
)
@click.option(
    "--docyard",
    "requirement",
    metavar="REQUIREMENT",
    help="The pip requirement that the CI file installs. "
    "[default: the installed version or Git commit, if it was installed from an index or an https Git URL]",
)
@options.as_json
def command(
    path: Path | None,
    repo: Path | None,
    anchors: str | None,
    branch: str | None,
    only_hosts: bool,
    project_hosts: tuple[str, ...],
    url: str | None,
    replace: bool,
    write: bool,
    forge: str | None,
    requirement: str | None,
    as_json: bool,
) -> int:
    """Make a folder a workspace: a Git repository with a commented docyard.toml, committed.

    In a folder without a repository, the command creates a repository. Existing files are not changed. If a
    site generator publishes the documents, its dialect and the form of the anchors are detected and set. Then
    the configuration of the MCP host is printed whose files the repository has, else that of Claude Code.
    --hosts prints those of all hosts. Warnings name documents that are not committed, and a missing author of
    commits, with the commands that fix both.

    --host is for a team: with --write, the command adds the server to the host's configuration in the
    repository, and a section to AGENTS.md or CLAUDE.md. The rest of existing files stays as it is. --url
    names a shared server, whose tokens the files do not contain. Without --write, --host and --workflow
    only show the files.

    \b
    Example:
        docyard init ~/specs
        docyard init ~/specs --anchors angle
        docyard init --hosts -C ~/specs
        docyard init --host claude --host vscode --write
        docyard init --host claude --url https://docs.example.org --write
        docyard init --workflow github --docyard docyard==VERSION --write
    """
    if anchors is not None and (only_hosts or project_hosts or forge):
        raise click.UsageError(
            "--anchors needs a new docyard.toml, which --hosts, --host and --workflow do not write"
        )
    if only_hosts + bool(project_hosts) + bool(forge) > 1:
        raise click.UsageError(
            "--hosts, --host and --workflow exclude each other: run them one after the other"
        )
    if write and not project_hosts and forge is None:
        raise click.UsageError(
            f"--write needs --host ({', '.join(PROJECT_HOSTS)}) or --workflow ({', '.join(FORGE_KINDS)})"
        )
    if replace and not project_hosts:
        raise click.UsageError(f"--replace needs --host: {', '.join(PROJECT_HOSTS)}")
    if url is not None and not project_hosts:
        raise click.UsageError(f"--url needs --host: {', '.join(REMOTE_HOSTS)}")
    if requirement is not None and forge is None:
        raise click.UsageError(f"--docyard needs --workflow: {', '.join(FORGE_KINDS)}")
    folder = find_folder(path or repo)
    if folder.is_file():
        raise click.UsageError(f"{folder} is a file, and a workspace is a folder")
    if project_hosts:
        server_url = None if url is None else _read_server_url(url, project_hosts)
        return _connect_project_hosts(
            folder, project_hosts, server_url, replace=replace, write=write, as_json=as_json
        )
    if forge is not None:
        return _add_workflow(folder, forge, requirement, write=write, as_json=as_json)
    is_new_repository = False if only_hosts else ensure_repository(folder, branch)
    site = None if only_hosts else _detect_site(folder, branch)
    commit = (
        commit_settings(folder, branch, site.fill_in_settings(_build_settings(anchors))) if site else None
    )
    hosts = build_host_configurations(environment.build_own_command("serve", "-C", str(folder.resolve())))
    if as_json:
        result = {
            "repository_created": is_new_repository,
            "commit": commit,
            "site": asdict(site) if site else None,
            "hosts": [asdict(host) for host in hosts],
        }
        console.print_json(result)
    else:
        if site is not None:
            _print_workspace(is_new_repository, site, commit)
        _print_hosts(hosts, None if only_hosts else folder)
    if only_hosts:
        _warn_unless_repository(folder)
    else:
        _print_warnings(open_workspace(folder, branch, warns=False))
    return Exit.DONE


def _warn_unless_repository(folder: Path) -> None:
    """Print a warning if a server cannot open a folder."""
    from workspace.git.reader import GitReader

    try:
        GitReader(folder)
    except WorkspaceError as error:
        fix = f"Run `docyard init {shlex.quote(str(folder))}` first."
        print_warning(f"the configurations do not work yet: {error.message} ({folder})", fix)


def _detect_site(folder: Path, branch: str | None) -> SiteSettings:
    """Return the site of a repository's documents: those of its work tree, else of its branch."""
    from docyard.cli.sites import SiteSettings, find_site
    from workspace.validation.files import UnreadableFile, list_commit, list_folder

    workspace = open_workspace(folder, branch, warns=False, checks_settings=False)
    commit = workspace.snapshot().commit
    try:
        if workspace.git.worktree is not None:
            return find_site(list_folder(workspace.git.worktree, workspace.git))
    except UnreadableFile as error:
        return SiteSettings(notes=(f"The work tree was not read: {error.message}.",))
    return find_site(list_commit(workspace.git, commit)) if commit else SiteSettings()


def _build_settings(anchors: str | None) -> str:
    """Return the commented settings, with the selected form of anchors."""
    if anchors is None:
        return SETTINGS_TEMPLATE
    return SETTINGS_TEMPLATE.replace('# anchors = "braces"\n', f'anchors = "{anchors}"\n')


def ensure_repository(folder: Path, branch: str | None) -> bool:
    """Create a repository in a folder if the folder has none; return True if it was created.

    Raises CommandError if the folder is inside a repository, or cannot be written.
    """
    from workspace.git.reader import GitReader
    from workspace.git.repository import NotARepository, create_repository

    try:
        repository = GitReader(folder)
    except NotARepository:
        try:
            create_repository(folder, branch)
        except OSError as error:
            raise CommandError(
                f"a repository cannot be created in {folder}", fix="Name a writable folder."
            ) from error
        return True
    if repository.worktree is not None and repository.worktree.resolve() != folder.resolve():
        from workspace.config.toml import CONFIG_PATH

        top_folder = shlex.quote(str(repository.worktree.resolve()))
        is_workspace = (repository.worktree / CONFIG_PATH).exists()
        raise CommandError(
            f"{folder} is inside a Git repository, and {CONFIG_PATH} belongs in the repository's top folder"
            + (", which has one" if is_workspace else ""),
            fix=f"`docyard init --hosts -C {top_folder}` prints how to connect an agent to it."
            if is_workspace
            else f"Run `docyard init {top_folder}`.",
        )
    return False


def commit_settings(folder: Path, branch: str | None, settings: str) -> str | None:
    """Commit `settings` as docyard.toml and return the commit.

    If the repository requires signed commits, and the settings do not allow unsigned commits, write only the
    file and return None. Raises CommandError if the file exists, if there is no branch to write to, or if a
    bare repository requires signed commits.
    """
    from workspace.config.config import WorkspaceConfig
    from workspace.config.toml import CONFIG_PATH
    from workspace.git.objects import Signature
    from workspace.git.store import GitStore
    from workspace.publishing.batch import Batch
    from workspace.publishing.publish import publish

    workspace = open_workspace(folder, branch, read_only=False, warns=False, checks_settings=False)
    git, snapshot = workspace.git, workspace.snapshot()
    file = git.worktree / CONFIG_PATH if git.worktree is not None else None
    if snapshot.entry(CONFIG_PATH) or (file is not None and file.exists()):
        raise CommandError(
            f"{CONFIG_PATH} already exists, and was not changed",
            fix="Edit and commit the file yourself; `docyard init --hosts` prints how to connect an agent.",
        )
    if workspace.branch is None or not isinstance(git, GitStore):
        raise CommandError(
            "HEAD is detached, so there is no branch to write to", fix="Run `docyard init --branch NAME`."
        )
    content = settings.encode()
    if git.config_flag("commit.gpgsign") and WorkspaceConfig.read(content).signing != "off":
        if file is None:
            raise CommandError(
                "the repository requires signed commits", fix=f"Commit a {CONFIG_PATH} yourself."
            )
        file.write_bytes(content)
        return None
    now = datetime.now().astimezone()
    offset = now.utcoffset() or timedelta()
    author = Signature(*workspace.author(), int(now.timestamp()), int(offset.total_seconds() // 60))
    batch = Batch(
        workspace.branch, snapshot.commit, {CONFIG_PATH: content}, "Set up a Docyard workspace\n", author
    )
    return publish(git, batch, durable=True)


def _open_work_tree(folder: Path) -> tuple[GitReader, Path]:
    """Return a repository and its work tree. Raises CommandError if the repository is bare."""
    from workspace.git.reader import GitReader

    with add_path_to_errors(folder):
        git = GitReader(folder)
    if git.worktree is None:
        raise CommandError(
            "a bare repository has no work tree to write to", fix="Run the command in a clone, and push."
        )
    return git, git.worktree


def _read_server_url(text: str, options: tuple[str, ...]) -> str:
    """Return the URL of MCP at a server, with the path /mcp if it has none. Raises click.UsageError."""
    from docyard.http.settings import parse_page_url

    if rejected := [option for option in options if option not in REMOTE_HOSTS]:
        raise click.UsageError(
            f"--host {rejected[0]} cannot have --url: Zed reads no token from a variable, so each member "
            "adds the server to their own settings (docs/http.md)"
        )
    if "://" not in text:
        raise click.UsageError("--url must begin with https://, such as https://docs.example.org")
    scheme, _, rest = text.partition("://")
    authority, slash, path = rest.partition("/")
    try:
        page_url = parse_page_url(f"{scheme}://{authority}")
    except ValueError as error:
        raise click.UsageError(f"--url: {error}") from None
    path = f"{slash}{path}".rstrip("/")
    if not _URL_PATH.fullmatch(path):
        raise click.UsageError(
            "--url: the path must have only letters, digits and -._~ between slashes, such as /o/team/mcp"
        )
    if path and not path.endswith("/mcp"):
        raise click.UsageError(
            f"--url: the path must be that of an MCP endpoint, and end with /mcp: {page_url}/mcp, or "
            f"{page_url}/o/ORGANIZATION/SERVER/mcp"
        )
    return f"{page_url}{path or '/mcp'}"


def _connect_project_hosts(
    folder: Path, options: tuple[str, ...], url: str | None, *, replace: bool, write: bool, as_json: bool
) -> int:
    """Show or write the files that connect hosts for the team of a repository, without a commit."""
    from docyard.cli.hosts.project_files import plan_project_files, write_project_files
    from workspace.escapes import escape_invisible
    from workspace.git.store import is_ignored

    git, root = _open_work_tree(folder)
    files = plan_project_files(root, options, url, replace=replace)
    if write:
        write_project_files(root, files)
    if as_json:
        console.print_json(
            {
                "written": write,
                "files": [
                    {"path": file.path, "state": file.state, "text": file.after.decode()} for file in files
                ],
            }
        )
        return Exit.DONE
    changed_paths = [file.path for file in files if file.state != "unchanged"]
    for file in files:
        _print_file(file, write=write)
        for old_url in file.replaced_urls if write else ():
            click.echo(f"  {escape_invisible(old_url)} was replaced with {url}")
    if not changed_paths or not write:
        return _finish_preview(files)
    click.echo("Each member of the team needs `docyard` on PATH." if url is None else _TOKEN_REMARK)
    for remark in (find_project_host(option)[1].remark for option in dict.fromkeys(options)):
        if remark:
            click.echo(remark)
    ignored_paths = [path for path in changed_paths if is_ignored(git, path)]
    if ignored_paths:
        click.echo(f"Git ignores {', '.join(ignored_paths)}, so `git add` needs --force.")
    if documents := [path for path in changed_paths if _is_document(folder, path)]:
        click.echo(
            f"{', '.join(documents)} will be a document, which searches find. To exclude it, write to "
            f"docyard.toml: exclude = {json.dumps(documents)}"
        )
    click.echo("Review the files, then:")
    add_command = shlex.join(["git", "add", *(["--force"] if ignored_paths else []), *changed_paths])
    click.echo(f'    {add_command} && git commit -m "Connect agents to Docyard"')
    return Exit.DONE


def _print_file(file: ProjectFile, *, write: bool) -> None:
    """Print the state of a planned file: its preview, or that it was written."""
    from workspace.escapes import escape_invisible

    if file.state == "unchanged":
        click.echo(f"{file.path} is up to date.")
    elif write:
        click.echo(f"{'Wrote' if file.state == 'created' else 'Extended'} {file.path}.")
    else:
        click.secho(f"{file.path} ({'new' if file.state == 'created' else 'a change'}):", bold=True)
        click.echo("".join(f"    {escape_invisible(line)}\n" for line in file.preview().splitlines()))


def _finish_preview(files: Sequence[ProjectFile]) -> int:
    """Print how to write the files that were shown, if there are any."""
    if any(file.state != "unchanged" for file in files):
        click.echo("Nothing was written. Add --write to write these files.")
    return Exit.DONE


def _is_document(folder: Path, path: str) -> bool:
    """Return True if the settings of the branch select a file as a document."""
    try:
        return open_workspace(folder, warns=False).snapshot().config.is_document(path)
    except InvalidConfig:  # `docyard doctor` and each other command report it
        return False


def _add_workflow(folder: Path, forge: str, requirement: str | None, *, write: bool, as_json: bool) -> int:
    """Show the CI workflow, or write it into the work tree of a repository, without a commit."""
    from docyard.cli.hosts.project_files import write_project_files

    _, root = _open_work_tree(folder)
    if requirement is None:
        requirement = find_requirement()
    workflow = build_workflow(forge, requirement)
    file = plan_workflow(root, workflow)
    is_written = write and file.state == "created"
    if is_written:
        write_project_files(root, [file])
    if as_json:
        console.print_json(
            {
                "workflow": file.path,
                "written": is_written,
                "requirement": requirement,
                "state": file.state,
                "text": workflow.text,
            }
        )
        return Exit.DONE
    _print_file(file, write=write)
    if not is_written:
        return _finish_preview([file])
    click.echo(f"It installs {requirement}. Review it, then:")
    click.echo(f'    git add {file.path} && git commit -m "Check documents in pull requests"')
    return Exit.DONE


def _print_workspace(is_new_repository: bool, site: SiteSettings, commit: str | None) -> None:
    if is_new_repository:
        click.echo("Created a Git repository.")
    for line in site.describe():
        click.echo(line)
    click.echo(
        f"Committed docyard.toml ({commit[:12]})."
        if commit
        else "Wrote docyard.toml. This repository requires signed commits, so commit it yourself:\n"
        "    git add docyard.toml && git commit"
    )
    click.echo(
        "Headings of new documents get explicit anchors; `anchors` and `anchors_on_new` in docyard.toml "
        "select another form, or none."
    )
    click.echo(
        "For existing documents: `docyard validate` reports problems, "
        "`docyard fix --check` previews their fixes."
    )
    click.echo()


def _print_warnings(workspace: Workspace) -> None:
    """Print what to do before agents read all documents, and commits have a known author."""
    from docyard.doctor.repository import check_identity, check_new_documents

    for finding in (*check_identity(workspace), *check_new_documents(workspace)):
        print_warning(finding.message, finding.fix)


def _print_hosts(hosts: tuple[HostConfiguration, ...], project: Path | None) -> None:
    """Print the configurations of hosts: of those that left files in a project, else of the first host.

    If `project` is None, print the configuration of every host.
    """
    if project is None:
        shown_hosts = hosts
        click.echo("Connect an agent with one of these configurations:")
    else:
        names = detect_hosts(project)
        shown_hosts = tuple(host for host in hosts if host.host in names) or hosts[:1]
        click.echo("Connect an agent:")
    for host in shown_hosts:
        click.echo()
        click.secho(f"{host.host}: {host.place}", bold=True)
        click.echo("\n".join(f"    {line}" for line in host.text.splitlines()))
    click.echo()
    other_names = [host.host for host in hosts if host not in shown_hosts]
    if project is not None and other_names:
        is_current = project.resolve() == environment.get_current_directory().resolve()
        command = "docyard init --hosts" + ("" if is_current else f" -C {shlex.quote(str(project))}")
        click.echo(f"`{command}` prints more configurations: {', '.join(other_names)}.")
    click.echo(
        "For a team: `docyard init --host NAME --write` writes files to commit "
        f"(NAME: {', '.join(PROJECT_HOSTS)}), with `--url URL` for a shared server."
    )
