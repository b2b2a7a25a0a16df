"""Values of front matter: what a caller's JSON means there, and whether two values are the same."""

from __future__ import annotations

from datetime import date

_LONGEST_DATE = 100


def meant(known: object, given: object) -> object:
    """What a JSON value means in place of a known one.

    JSON has neither dates nor keys other than text: text that reads as a date is one where a date stood, and
    a key is the known one that is written so.
    """
    if isinstance(given, str):
        return _as_date(given) if isinstance(known, date) else given
    if isinstance(given, list):
        items = known if isinstance(known, list) else []
        kept = next((item for item in items if isinstance(item, date)), None)
        return [meant(items[i] if i < len(items) else kept, item) for i, item in enumerate(given)]
    if isinstance(given, dict):
        before = known if isinstance(known, dict) else {}
        names = {str(key): key for key in before}
        return {
            names.get(key, key): meant(before.get(names.get(key, key)), value) for key, value in given.items()
        }
    return given


def _as_date(text: str) -> object:
    """Return the date that a text is in YAML, else the text."""
    if not text[:1].isdecimal() or len(text) > _LONGEST_DATE:
        return text
    import yaml

    from workspace.frontmatter.reader import loader

    try:
        node = yaml.compose(text, loader())
        if node is not None and (node.tag, node.value) == ("tag:yaml.org,2002:timestamp", text):
            return yaml.load(text, loader())
    except (yaml.YAMLError, ValueError):
        pass
    return text


def are_same(one: object, other: object) -> bool:
    """Whether two values are equal and of one type, all the way down: `1`, `1.0` and `true` are not."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        keys = {(type(key), key) for key in other}
        return len(one) == len(other) and all(
            (type(key), key) in keys and are_same(value, other[key]) for key, value in one.items()
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(are_same, one, other))
    # A float that is no number is not equal to itself.
    return one == other or (one != one and other != other)
