"""The section about Docyard in the instructions for agents: AGENTS.md, or CLAUDE.md.

Two comments mark the section. A later run replaces the text between them, and nothing else.
"""

from __future__ import annotations

BEGIN_MARKER = "<!-- docyard:begin -->"
END_MARKER = "<!-- docyard:end -->"

SECTION = f"""\
{BEGIN_MARKER}
## Docyard

The MCP server `docyard` serves the Markdown documents of this repository. Read and change documents with its
tools, not with edits of the files:

- Find: `search_docs`, then `get_doc` of the section with the answer. Cite its address, such as
  `guide.md#retries`.
- Write: `create_document`, `edit_document` and `complete_task`. Each call makes one commit, so do not commit
  these changes again.
- Read a section before you replace or remove it.
- A change to a protected path becomes a proposal. Report its id: a person reviews and approves it.
- `docyard validate` lists broken links and other problems of documents.
{END_MARKER}
"""

REMOTE_SECTION = f"""\
{BEGIN_MARKER}
## Docyard

The MCP server `docyard` serves the Markdown documents of the team, from a shared server. Read and change them
with its tools, not with edits of files:

- Find: `search_docs`, then `get_doc` of the section with the answer. Cite its address, such as
  `guide.md#retries`.
- Write: `create_document`, `edit_document` and `complete_task`. Each call makes one commit in the repository
  of the server. A clone has it after `git pull`.
- Read a section before you replace or remove it, and send the `commit` of the answer as `base_commit`.
- A change to a protected path becomes a proposal. Report its id: a person reviews and approves it.
{END_MARKER}
"""


class AmbiguousMarkers(ValueError):
    """The markers of a file do not enclose exactly one section."""


def update_section(text: str, section: str = SECTION) -> str:
    """Return the instructions with a section about Docyard: replaced if it exists, else appended.

    Raises AmbiguousMarkers if a marker is missing, exists twice, or is in the wrong order.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    section = section.replace("\n", newline)
    lines = text.splitlines(keepends=True)
    begins = [number for number, line in enumerate(lines) if line.strip() == BEGIN_MARKER]
    ends = [number for number, line in enumerate(lines) if line.strip() == END_MARKER]
    if not begins and not ends:
        if not text.strip():
            return section
        gap = newline * (0 if text.endswith(newline * 2) else 1 if text.endswith("\n") else 2)
        return f"{text}{gap}{section}"
    if len(begins) != 1 or len(ends) != 1 or ends[0] < begins[0]:
        raise AmbiguousMarkers(f"{len(begins)} lines {BEGIN_MARKER} and {len(ends)} lines {END_MARKER}")
    return "".join((*lines[: begins[0]], section, *lines[ends[0] + 1 :]))
