"""The generated pages: the reference in `docs/`, and the manual pages and completion scripts in `share/`.

python -m docyard.cli.reference          writes docs/tools.md, docs/commands.md, docs/configuration.md, share/
python -m docyard.cli.reference --check  prints the names of stale pages; exits with 1 if there are any
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from docyard.cli.configuration_page import render_configuration_page
from docyard.cli.man_pages import render_share_files

if TYPE_CHECKING:
    from tools.tool import Tool

ROOT = Path(__file__).resolve().parents[2]


def render_tools_page() -> str:
    """Return the reference page of the tools, with the description, input and example call of each tool."""
    from tools.toolsets import DEFAULT_TOOLSETS, REVIEW_TOOLSET, SOURCES_TOOLSET, TOOLSETS, load_toolset

    lines = [
        "# Tools",
        "",
        "Generated from the tools by `make docs`. Fields that are not marked as required are optional.",
        f"The toolsets {', '.join(f'`{name}`' for name in DEFAULT_TOOLSETS)} are served, and "
        f"`{REVIEW_TOOLSET}` if `docyard.toml` protects documents, unless `--toolsets` selects others.",
        "Every response also has `commit`, the commit that was read or written. The response to a write or "
        "to a call without arguments, an empty list, and a truncated text have `next_step`, the next useful "
        "call.",
        "If the remote lacks commits, or has diverged, the response also has `unpushed` and `sync` "
        "([remotes.md](remotes.md)).",
        "An error has `error`, `code`, `fix`, `usage` and a working `example`.",
    ]
    for toolset in (*TOOLSETS, SOURCES_TOOLSET):
        lines += ["", f"## {toolset}"]
        if toolset == SOURCES_TOOLSET:
            lines += [
                "",
                "Only a server that was started with `--sources` offers these tools, and `get_doc` with "
                "`namespace` ([sources.md](sources.md)). `search_documentation_contextual` needs "
                "`contextual_search = true` in the file that `--sources` names. A server that stores the "
                "reports of readers also offers `report_problem` ([records.md](records.md)). If the file has "
                "no source, only the tools for walkthroughs are offered.",
            ]
        for tool in load_toolset(toolset):
            lines += ["", *_render_tool(tool)]
    return "\n".join(lines) + "\n"


@cache
def _read_shared_meanings() -> dict[str, str]:
    """Return the meanings of the fields that several tools have and one tool describes."""
    from tools.arguments import build_input_schema
    from tools.documents.edit_document import TOOL as EDIT_DOCUMENT
    from tools.documents.view_document import TOOL as VIEW_DOCUMENT
    from tools.writer import WRITE_FIELD_NAMES

    fields = build_input_schema(EDIT_DOCUMENT.arguments)["properties"]
    meanings = {name: _format_meaning(fields[name]) for name in WRITE_FIELD_NAMES if name != "operations"}
    ref_field = build_input_schema(VIEW_DOCUMENT.arguments)["properties"]["ref"]
    return {
        **meanings,
        "operations": "The operations of a batch, which become one commit",
        "ref": _format_meaning(ref_field),
    }


def _render_tool(tool: Tool) -> Iterator[str]:
    from tools.arguments import build_input_schema

    schema = build_input_schema(tool.arguments)
    shared_meanings = _read_shared_meanings()
    yield f"### {tool.name}"
    yield ""
    yield tool.description
    yield ""
    yield "| field | type | meaning |"
    yield "|---|---|---|"
    for name, field in schema["properties"].items():
        required = " (required)" if name in schema.get("required", ()) else ""
        meaning = _format_meaning(field) or shared_meanings.get(name, "")
        yield f"| `{name}`{required} | {_format_type(field)} | {meaning} |"
    yield ""
    for name, usage in tool.usage({}).items():
        if isinstance(usage, str):
            yield f"- {name}: {usage}"
        elif isinstance(usage, Mapping):
            yield f"- {name}:"
            for key, value in usage.items():
                yield f"  - `{key}`: {_format_usage(value)}"
    yield ""
    yield "```json"
    yield json.dumps(tool.example({}), ensure_ascii=False)
    yield "```"


def _format_type(field: Mapping[str, Any]) -> str:
    if "enum" in field:
        return " or ".join(f"`{value}`" for value in field["enum"])
    if field["type"] == "array":
        return f"array of {field.get('items', {}).get('type', 'object')}s"
    return str(field["type"])


def _format_meaning(field: Mapping[str, Any]) -> str:
    limits = [f"at least {field['minimum']}"] if "minimum" in field else []
    limits += [f"at most {field['maximum']}"] if "maximum" in field else []
    limits += [f"default `{json.dumps(field['default'])}`"] if "default" in field else []
    parts = [field.get("description", "").rstrip("."), ", ".join(limits)]
    return "; ".join(part for part in parts if part).replace("|", "\\|")


def _format_usage(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"`{key}`" for key in value)
    return str(value)


def render_commands_page() -> str:
    """Return the reference page of the commands, with the `--help` text of each command."""
    from docyard.cli.main import COMMANDS, docyard

    lines = [
        "# Commands",
        "",
        "Generated from the commands by `make docs`. "
        "Exit codes: 0 done, 1 problems found, 2 wrong usage, 3 cannot run.",
    ]
    context = click.Context(docyard, info_name="docyard", **docyard.context_settings)
    for name in COMMANDS:
        command = docyard.get_command(context, name)
        assert command is not None
        lines += _render_command(
            command, click.Context(command, info_name=name, parent=context), f"docyard {name}"
        )
    return "\n".join(lines) + "\n"


def _render_command(command: click.Command, context: click.Context, title: str) -> Iterator[str]:
    context.max_content_width = 100
    yield ""
    yield f"## {title}"
    yield ""
    yield "```text"
    yield command.get_help(context).rstrip()
    yield "```"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            subcommand = command.get_command(context, name)
            assert subcommand is not None
            subcommand_context = click.Context(subcommand, info_name=name, parent=context)
            yield from _render_command(subcommand, subcommand_context, f"{title} {name}")


def render_pages() -> Mapping[str, str]:
    """Return the text of the generated pages, by path."""
    return {
        "docs/tools.md": render_tools_page(),
        "docs/commands.md": render_commands_page(),
        "docs/configuration.md": render_configuration_page(),
        **{f"share/{path}": text for path, text in render_share_files().items()},
    }


def find_stale_pages(root: Path = ROOT) -> list[str]:
    """Return the paths of the pages that differ from the generated text, or are no longer generated."""
    pages = render_pages()
    files = (file.relative_to(root).as_posix() for file in (root / "share").rglob("*") if file.is_file())
    return [
        *(path for path, text in pages.items() if not _has_text(root / path, text)),
        *sorted(path for path in files if path not in pages),
    ]


def _has_text(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


def main() -> int:
    """Write the pages, or check them with `--check`. Return the exit code."""
    if "--check" in sys.argv[1:]:
        stale_pages = find_stale_pages()
        if stale_pages:
            print(f"stale: {', '.join(stale_pages)}; run `make docs`", file=sys.stderr)
        return 1 if stale_pages else 0
    shutil.rmtree(ROOT / "share", ignore_errors=True)
    for path, text in render_pages().items():
        file = ROOT / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
