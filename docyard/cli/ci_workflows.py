"""CI configuration that checks each pull request, for each kind of forge.

The steps are the same on every forge: summarise the changes as Markdown, then fail the job for new problems.
Branch names and the requirement are passed to the shell as variables, never as text of a script.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from docyard import __version__
from docyard.cli.hosts.project_files import ProjectFile, resolve_path
from docyard.forges.kinds import FORGE_NAMES
from docyard.terminal.exits import CommandError

FORGE_KINDS = tuple(FORGE_NAMES)
MAX_SUMMARY_CHARS = 250_000
"""The maximum length of a summary; its UTF-8 text stays below GitHub's limit of 1 MiB for a step."""

_REQUIREMENT_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._\-+=<>!~,@:/\[\]#]{0,499}")

_ACTIONS_TEMPLATE = """\
# Summarises the document changes of each pull request by section, and reports new problems.
# Written by `docyard init --workflow {kind}`; you can edit it.
name: documents
on:
  pull_request:
permissions:
  contents: read
  pull-requests: write  # for the comment on sections that describe changed code
concurrency:
  group: documents-${{{{ github.ref }}}}
  cancel-in-progress: true
jobs:
  documents:
    runs-on: ubuntu-latest
    timeout-minutes: 15
    env:
      BASE: ${{{{ github.base_ref }}}}
    steps:
      - uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683  # v4.2.2
        with:
          fetch-depth: 0  # the history back to the merge base
          persist-credentials: false
      - uses: actions/setup-python@a26af69be951a213d495a4c3e4e4022e16d87065  # v5.6.0
        with:
          python-version: "3.12"
      - name: Install Docyard
        run: python -m pip install --disable-pip-version-check --quiet "$DOCYARD"
        env:
          DOCYARD: {requirement}
      - name: Summarise the changes
        run: |
          docyard diff --markdown --most {max_chars} "origin/$BASE...HEAD" > "$RUNNER_TEMP/documents.md"
          # 1: a document cannot be read, which the last step reports
          docyard drift --since "origin/$BASE" --markdown >> "$RUNNER_TEMP/documents.md" || [ $? -eq 1 ]
          cat "$RUNNER_TEMP/documents.md" >> "$GITHUB_STEP_SUMMARY"
      - name: Comment on sections that describe changed code
        # The token of a fork's pull request may not write.
        if: ${{{{ github.event.pull_request.head.repo.full_name == github.repository }}}}
        continue-on-error: true
        run: docyard drift --since "origin/$BASE" --comment "$NUMBER" --forge {kind}
        env:
          NUMBER: ${{{{ github.event.pull_request.number }}}}
          DOCYARD_FORGE_TOKEN: ${{{{ github.token }}}}
      - name: Report new problems
        run: docyard validate --ref HEAD --since "origin/$BASE" --format github
"""

_GITLAB_TEMPLATE = """\
# Summarises the document changes of each merge request by section, and reports new problems.
# Written by `docyard init --workflow gitlab`; you can edit it. Include it in .gitlab-ci.yml:
#   include:
#     - local: .gitlab/docyard.yml
documents:
  image: python:3.12
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
  interruptible: true
  timeout: 15 minutes
  variables:
    GIT_DEPTH: "0"  # the history back to the merge base
    DOCYARD: {requirement}
  script:
    - python -m pip install --disable-pip-version-check --quiet "$DOCYARD"
    - base="${{CI_MERGE_REQUEST_TARGET_BRANCH_SHA:-$CI_MERGE_REQUEST_DIFF_BASE_SHA}}"
    - docyard diff --markdown --most {max_chars} "$base...HEAD" > documents.md
    # 1: a document cannot be read, which the last command reports
    - docyard drift --since "$base" --markdown >> documents.md || [ $? -eq 1 ]
    - cat documents.md
    # A comment on the merge request needs a CI/CD variable DOCYARD_FORGE_TOKEN with the scope `api`.
    - |
      if [ -n "${{DOCYARD_FORGE_TOKEN:-}}" ]; then
        docyard drift --since "$base" --comment "$CI_MERGE_REQUEST_IID" --forge gitlab || true
      fi
    - docyard validate --ref HEAD --since "$base"
  artifacts:
    when: always
    paths:
      - documents.md
    expose_as: Document changes
    expire_in: 30 days
"""


class Workflow(NamedTuple):
    """A CI configuration file: its path in the repository, and its text."""

    path: str
    text: str


def find_requirement() -> str:
    """Return the pip requirement of the running version.

    Raises CommandError if a CI job may be unable to install this version.
    """
    from docyard.doctor.installation import find_portable_requirement

    requirement = find_portable_requirement(__version__)
    if requirement is None:
        raise CommandError(
            f"docyard {__version__} was not installed from a package index or an https Git URL, so it is "
            "unknown whether a CI job can install it",
            fix=(
                "Name what the job installs: `--docyard git+https://HOST/PATH@COMMIT`, or "
                "`--docyard docyard==VERSION` with a version that is in the job's package index."
            ),
        )
    return requirement


def build_workflow(kind: str, requirement: str) -> Workflow:
    """Return the file for a kind of forge. Its job installs the pip requirement `requirement`.

    Raises CommandError for an invalid requirement.
    """
    if not _REQUIREMENT_PATTERN.fullmatch(requirement):
        raise CommandError(
            f"--docyard must be a pip requirement of one line (got '{requirement[:100]}')",
            fix="Write a requirement such as docyard==VERSION, or git+https://HOST/PATH@COMMIT.",
        )
    quoted_requirement = f'"{requirement}"'
    if kind == "gitlab":
        return Workflow(
            ".gitlab/docyard.yml",
            _GITLAB_TEMPLATE.format(requirement=quoted_requirement, max_chars=MAX_SUMMARY_CHARS),
        )
    text = _ACTIONS_TEMPLATE.format(kind=kind, requirement=quoted_requirement, max_chars=MAX_SUMMARY_CHARS)
    return Workflow(f".{kind}/workflows/docyard.yml", text)


def plan_workflow(root: Path, workflow: Workflow) -> ProjectFile:
    """Return the file below the root of a work tree, new or unchanged.

    Raises CommandError if the path exists with other content, or leads outside or to a loop through symbolic
    links.
    """
    file = root / workflow.path
    content = workflow.text.encode()
    resolve_path(root, workflow.path)
    with suppress(OSError):
        if file.read_bytes() == content:
            return ProjectFile(workflow.path, content, content)
    if os.path.lexists(file):
        raise CommandError(
            f"{workflow.path} already exists, and was not changed",
            fix="Edit the file, or move it away and run the command again.",
        )
    return ProjectFile(workflow.path, None, content)
