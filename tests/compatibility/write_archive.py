"""Write the archive of version 0.1.0: a repository that this version wrote, and its responses.

    python -m tests.compatibility.write_archive

The code of 0.1.0 is extracted from the history of this repository. It runs as processes: servers with a
client, and commands of people with tokens. The archive, `version-0.1.0.tar.xz` next to this file, contains

    repository/         a checkout with proposals, tokens, the index and every kind of trailer
    before/ after/      a repository whose writer was killed immediately before or after its commit
    artifact/ site.key  an exported artifact, and the key of its seal
    home/               the state of the user, whose key seals cursors
    facts.json          the responses of 0.1.0: addresses, proposals, comments, retries, cursors, searches

The clock and the random numbers are fixed, so a second run creates the same commits, ids and tokens.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from tests import repositories
from tests.compatibility.versions import VERSION_0_1_0, Client, Version, extract_code

ARCHIVE = Path(__file__).with_name("version-0.1.0.tar.xz")
TOOLSETS = "documents,tasks,search,reading,history,proposals"
START_TIME = 1_750_000_000
_WEEK_S = 7 * 86_400

# Each section has a unique word, so that a test can identify the section of an address.
START_GUIDE = """---
type: guide
tags: [network]
---
# Start

word00 See [first](#first-steps--first-steps-), [next](#next-steps--next-steps-step-), [plain](#plain),
[explicit](../specs/api.md#endpoints/search) and [errors](../specs/api.md#errors-1).

## First steps { #first-steps }

word01

### Inner part

word02

## Next steps {: #next-steps .step }

word03

### Inner part

word04

## Plain

word05

## Twice

word06

## Twice

word07

## Größe & Maß

word08

## Set {a, b}

word09
"""

API = """---
type: api_spec
tags: [network, sdk]
---
# Search API

word20

## Endpoints {#endpoints}

word21

### Search {#endpoints/search}

word22

## Errors

word23

### Retry

word24

## Errors

word25

## Tasks {#tasks}

- [ ] Define schemas
  - Criteria: OpenAPI
- [ ] Write tests
  - [ ] for an empty result
- [ ] Review
"""

ANGLE = "# Angle\n\n## Over <#over>\n\nword30\n\n### Below <#over/below>\n\nword31\n"
HTML = '# Html\n\n## <a id="over"></a>Over\n\nword40\n\nUnder\n-----\n\nword41\n'
SETTINGS = '[[protect]]\npaths = ["specs/**"]\napprovers = ["ana"]\nchecks = []\n'

FILES = {
    "docyard.toml": SETTINGS,
    "guides/start.md": START_GUIDE,
    "guides/angle.md": ANGLE,
    "guides/html.md": HTML,
    "specs/api.md": API,
    **{
        f"notes/n{number:02}.md": f"# Note {number}\n\n## Details\n\nA quagga of note{number:02}.\n"
        for number in range(40)
    },
}


def write_contents(out_folder: Path) -> dict[str, Any]:
    """Write the contents of the archive into a folder, and return the contents of `facts.json`."""
    with tempfile.TemporaryDirectory() as folder:
        code = extract_code(VERSION_0_1_0, Path(folder))
        agent = Version(code, out_folder / "home", START_TIME)
        os.environ |= dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"{START_TIME} +0000")
        repo = repositories.create_repository(out_folder / "repository", FILES)
        recorded_data = write_repository(repo, agent, out_folder)
        (out_folder / "facts.json").write_text(
            json.dumps(recorded_data, indent=1, sort_keys=True, ensure_ascii=False)
        )
        for when in ("before", "after"):
            create_repository_of_killed_writer(agent, out_folder / when, when)
    return recorded_data


def write_repository(repo: repositories.Repo, agent: Version, out_folder: Path) -> dict[str, Any]:
    """Make the usual calls of a team with 0.1.0, and return the responses, secrets and counts."""
    secrets = {}
    for name, person in (("ana", "Ana Li"), ("ben", "Ben Ode")):
        output = agent.run(
            "tokens", "add", name, "--name", person, "--email", f"{name}@example.org", "-C", repo.path
        )
        secrets[name] = re.findall(rf"docyard_{name}_[0-9a-f]+", output)[0]
    versions_by_person = {
        name: Version(agent.code, agent.home, START_TIME + _WEEK_S * number, {"DOCYARD_TOKEN": secret})
        for number, (name, secret) in enumerate(secrets.items(), 1)
    }
    with agent.serve("-C", repo.path, "--no-sync", "--toolsets", TOOLSETS) as client:
        recorded_data = write_documents(client)
        recorded_data["proposals"] = write_proposals(client, repo, versions_by_person)
        recorded_data |= read_all(client)
    recorded_data["secrets"] = secrets
    agent.run("build", "-C", repo.path, "--out", out_folder / "artifact", "--key", out_folder / "site.key")
    recorded_data["head"] = repo.head()
    recorded_data["commits"] = int(repo.git("rev-list", "--count", "HEAD"))
    return recorded_data


def call_successfully(client: Client, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """Call a tool and return its data. The call must succeed."""
    response = client.call(tool, **arguments)
    assert response.get("type") != "error", response
    assert "error" not in response, response
    return response


def write_documents(client: Client) -> dict[str, Any]:
    """Write documents, sections and tasks to the branch; return the recorded calls."""
    calls: list[tuple[str, dict[str, Any]]] = [
        (
            "create_document",
            {"doc_type": "runbook", "title": "Made by an agent", "idempotency_key": "create-1"},
        ),
        (
            "edit_document",
            {
                "operation": "add_section",
                "file": "guides/start.md",
                "title": "Added later",
                "content": "word10",
                "idempotency_key": "edit-1",
            },
        ),
        (
            "edit_document",
            {
                "operation": "rename_section",
                "file": "guides/start.md",
                "slug": "plain",
                "new_title": "Renamed",
                "idempotency_key": "rename-1",
            },
        ),
        (
            "edit_document",
            {
                "operation": "move_document",
                "file": "guides/html.md",
                "new_path": "guides/markup.md",
                "idempotency_key": "move-1",
            },
        ),
        (
            "edit_document",
            {
                "operation": "add_task",
                "file": "guides/start.md",
                "slug": "twice-1",
                "title": "Count them",
                "idempotency_key": "task-1",
            },
        ),
        (
            "complete_task",
            {"file": "guides/start.md", "slug": "twice-1[0]", "note": "Counted", "idempotency_key": "task-2"},
        ),
    ]
    return {"retries": [record_call(client, tool, arguments) for tool, arguments in calls]}


def record_call(client: Client, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call a tool, and return its name, arguments and response."""
    return {"tool": tool, "arguments": arguments, "answer": call_successfully(client, tool, **arguments)}


def write_proposals(
    client: Client, repo: repositories.Repo, versions_by_person: dict[str, Version]
) -> dict[str, dict[str, Any]]:
    """Open a proposal for each state, with comments on a section, a quote and a document.

    Return the id and the recorded calls of each proposal, by state.
    """
    proposals_by_state: dict[str, dict[str, Any]] = {}
    edits = {
        "draft": ("guides/start.md", "word05", "word05 drafted"),
        "open": ("specs/api.md", "word22", "word22 opened"),
        "changes_requested": ("specs/api.md", "word21", "word21 changed"),
        "approved": ("specs/api.md", "word24", "word24 approved"),
        "merged": ("specs/api.md", "word25", "word25 merged"),
        "closed": ("guides/start.md", "word08", "word08 closed"),
    }
    for state, (file, old, new) in edits.items():
        creation = record_call(
            client,
            "create_proposal",
            {"title": f"To be {state}", "description": f"Says *{new}*.", "idempotency_key": f"open-{state}"},
        )
        id = creation["answer"]["proposal"]
        edit = {"operation": "replace_text", "file": file, "old": old, "new": new, "proposal": id}
        retries = [
            creation,
            record_call(client, "edit_document", {**edit, "idempotency_key": f"write-{state}"}),
        ]
        comment = {"action": "comment", "proposal": id, "text": f"On {state}.", "file": file}
        for name, position in {
            "section": {
                "slug": "next-steps--next-steps-step-" if file == "guides/start.md" else "endpoints/search"
            },
            "quote": {"quote": new},
            "document": {},
        }.items():
            arguments = {**comment, **position, "idempotency_key": f"comment-{name}-{state}"}
            retries.append(record_call(client, "update_proposal", arguments))
        if state != "draft":
            call_successfully(client, "update_proposal", proposal=id, action="submit")
        proposals_by_state[state] = {"id": id, "retries": retries}
    ids = {state: proposal["id"] for state, proposal in proposals_by_state.items()}
    ana, ben = versions_by_person["ana"], versions_by_person["ben"]
    repository_options = ("-C", repo.path)
    ana.run("proposals", "request-changes", ids["changes_requested"], "-m", "Say why.", *repository_options)
    for state in ("approved", "merged"):
        ana.run("proposals", "approve", ids[state], "-m", "Reads well.", *repository_options)
    ben.run(
        "proposals",
        "comment",
        ids["approved"],
        "specs/api.md#tasks",
        "-m",
        "By a person.",
        *repository_options,
    )
    ana.run("proposals", "merge", ids["merged"], *repository_options)
    ben.run("proposals", "close", ids["closed"], "-m", "Later.", *repository_options)
    direct_write = record_call(
        client,
        "edit_document",
        {
            "operation": "replace_text",
            "file": "specs/api.md",
            "old": "word23",
            "new": "word23 direct",
            "idempotency_key": "direct-1",
        },
    )
    proposals_by_state["direct"] = {"id": direct_write["answer"]["proposal"], "retries": [direct_write]}
    return proposals_by_state


def read_all(client: Client) -> dict[str, Any]:
    """Return the responses of the reading calls: addresses, proposals, history, tasks, pages, searches."""
    addresses: dict[str, dict[str, Any]] = {}
    for file in ("guides/start.md", "guides/angle.md", "guides/markup.md", "specs/api.md"):
        for section in call_successfully(client, "list_sections", file_path=file)["outline"]:
            slug = section["address"]
            text = call_successfully(client, "read_section", file_path=file, section_heading=slug)["content"]
            word = re.search(r"word\d\d", text)
            addresses[f"{file}#{slug}"] = {"title": section["title"], "word": word and word[0]}
    proposals = {
        entry["proposal"]: call_successfully(client, "view_proposal", proposal=entry["proposal"])
        for entry in call_successfully(client, "view_proposal", limit=50)["proposals"]
    }
    comments = {
        id: call_successfully(client, "view_proposal", proposal=id, comments=True)["comments"]
        for id in proposals
    }
    return {
        "addresses": addresses,
        "states": {id: page["state"] for id, page in proposals.items()},
        "comments": comments,
        "history": call_successfully(client, "view_history", file="specs/api.md"),
        "tasks": call_successfully(client, "view_document", file="specs/api.md"),
        "pages": {
            "search": record_call(client, "search_docs", {"query": "quagga", "limit": 10}),
            "documents": record_call(client, "list_documents", {"limit": 10}),
            "history": record_call(client, "view_history", {"file": "guides/start.md", "limit": 1}),
            "sections": record_call(client, "list_sections", {"file_path": "guides/start.md", "limit": 3}),
        },
        "searches": {
            word: [
                hit["chunk_id"]
                for hit in call_successfully(client, "search_docs", query=word, limit=20)["hits"]
            ]
            for word in ("word01", "word22", "word25", "quagga", "schemas")
        },
    }


def create_repository_of_killed_writer(agent: Version, folder: Path, when: str) -> None:
    """Write a repository whose writer was killed immediately before or after its commit."""
    repo = repositories.create_repository(folder, {"notes/one.md": "# One\n\n## Part\n\nold\n"})
    command = agent.build_command("serve", "-C", repo.path, "--no-sync")
    process = subprocess.Popen(
        [*command[:3], "--kill", when, *command[3:]],
        cwd=agent.code,
        env=agent.build_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    client = Client(process)
    client.initialize()
    try:
        client.call(
            "edit_document",
            operation="replace_text",
            file="notes/one.md",
            old="old",
            new="new",
            idempotency_key="crash-1",
        )
    except EOFError:
        pass
    else:
        raise AssertionError("the writer was not killed")
    assert process.wait() < 0
    assert list((folder / ".git/docyard/pending").iterdir()), "the killed writer left no pending files"


def pack(folder: Path, archive: Path) -> None:
    """Write a folder as an archive, with a fixed time and without owners."""

    def remove_metadata(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = START_TIME, 0, 0, "", ""
        return entry

    with tarfile.open(archive, "w:xz", preset=9) as file:
        for entry in sorted(folder.iterdir()):
            file.add(entry, entry.name, filter=remove_metadata)


def main() -> None:
    """Write the archive."""
    with tempfile.TemporaryDirectory() as folder:
        out_folder = Path(folder, "fixture")
        out_folder.mkdir()
        write_contents(out_folder)
        shutil.rmtree(out_folder / "home" / "xdg_cache_home", ignore_errors=True)
        pack(out_folder, ARCHIVE)
    print(f"{ARCHIVE.name}: {ARCHIVE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
