"""Read front matter, and set its keys: the boundary module for YAML.

What changes is spliced; every other key, comment and blank line stays byte for byte.

keys.py      sets and removes keys
lines.py     finds the lines of a key or an item
merging.py   changes lists and mappings inside
reading.py   reads front matter within limits
values.py    compares values, and reads those of JSON
writing.py   writes values as YAML
"""

from workspace.frontmatter.editor import REMOVED, set_keys
from workspace.frontmatter.reader import (
    MAX_BITS,
    MAX_FRONT_MATTER,
    MAX_NESTING,
    MAX_VALUES,
    InvalidFrontMatter,
    are_same,
    as_text,
    meant,
    read,
)

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
    "set_keys",
]
