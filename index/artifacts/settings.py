"""The settings of an artifact: those of its source and the builder's own, as one `docyard.toml`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from index.storage.describing import corpus_description
from workspace.config.config import CONFIG_PATH, Limits, WorkspaceConfig


def effective(
    config: WorkspaceConfig, name: str, description: str | None, taxonomy: Mapping[str, str | None]
) -> tuple[WorkspaceConfig, bytes]:
    """Give the settings by which an artifact is read, and their file.

    `name` describes the corpus where nothing else does; `taxonomy` has the keys that the builder declares,
    and describes. What decides which files are documents has done so already, and is left out. Raises
    InvalidConfig, whose field is `corpus.description` or begins with `taxonomy`.
    """
    keys = {key: declared.description for key, declared in config.taxonomy.items()}
    keys |= {key: text for key, text in taxonomy.items() if text is not None or key not in keys}
    values: dict[str, Mapping[str, object]] = {
        "corpus": {"description": description or config.corpus.description or corpus_description(None, name)},
        "limits": _limits(config),
        **{f"taxonomy.{_quoted(key)}": {"description": text} for key, text in keys.items()},
    }
    data = "".join(_lines({"root": config.root}, values)).encode("utf-8", "replace")
    return WorkspaceConfig.read(data), data


def _limits(config: WorkspaceConfig) -> Mapping[str, object]:
    """Return the limits; earlier versions of docyard do not know `text_tokens` and would refuse it."""
    own = config.limits.model_dump()
    return own if config.limits.text_tokens != Limits().text_tokens else {**own, "text_tokens": None}


def _lines(top: Mapping[str, object], tables: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    yield f"# {CONFIG_PATH} as `docyard build` found it, with its own options\n"
    for name, value in top.items():
        yield f"{name} = {_value(value)}\n"
    for table, values in tables.items():
        yield f"\n[{table}]\n"
        for name, value in values.items():
            if value is not None:
                yield f"{name} = {_value(value)}\n"


def _value(value: object) -> str:
    return _quoted(value) if isinstance(value, str) else str(value)


def _quoted(text: str) -> str:
    """Write a basic string, which is one of JSON's but for one character (TOML 1.0, "String")."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
