"""The one door to YAML: what a document's front matter says, and how its keys are replaced.

A key is replaced by splicing its lines; every other key, comment and blank line stays byte for byte.
"""

from workspace.frontmatter.keys import REMOVED, replace_key, set_keys
from workspace.frontmatter.reading import (
    MAX_BITS,
    MAX_FRONT_MATTER,
    MAX_NESTING,
    MAX_VALUES,
    InvalidFrontMatter,
    as_text,
    read,
    word,
)
from workspace.frontmatter.values import are_same, meant
from workspace.frontmatter.writing import write_list, write_scalar

__all__ = [
    "MAX_BITS",
    "MAX_FRONT_MATTER",
    "MAX_NESTING",
    "MAX_VALUES",
    "REMOVED",
    "InvalidFrontMatter",
    "are_same",
    "as_text",
    "meant",
    "read",
    "replace_key",
    "set_keys",
    "word",
    "write_list",
    "write_scalar",
]
