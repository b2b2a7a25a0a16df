"""The fields of the form of an object, and the values that a form sends."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from docyard.organizations.objects import Fields, Kind, ObjectKey, format_rule_name, parse_rule_name

PAGE_PATH = "/admin"
SETTINGS_PART = "settings"
"""The last part of the URL of the form of an organization."""

NAMESPACE_FIELD = "namespaces"
_CHOICE_SEPARATOR = ":"


class FormField(NamedTuple):
    """A field of a form. `type` is text, number, checkbox, select or choices, a list of checkboxes.

    `options` are the values of a select or of the choices. A field that is not editable is only shown.
    """

    name: str
    label: str
    hint: str = ""
    type: str = "text"
    options: Collection[str] = ()
    is_editable: bool = True
    is_required: bool = False


ROLES = ("none", "reader", "writer", "admin")

_KEY_FIELDS = {
    Kind.ORGANIZATION: (
        FormField("slug", "Slug", "Part of URLs: lower-case letters, digits and -.", is_required=True),
    ),
    Kind.SERVER: (
        FormField("slug", "Slug", "Part of the URL: lower-case letters, digits and -.", is_required=True),
    ),
    Kind.NAMESPACE: (FormField("slug", "Name", "The name that agents use.", is_required=True),),
    Kind.RULE: (
        FormField("group", "Group", "A group in tokens, or * for everyone.", is_required=True),
        FormField("namespace_prefix", "Namespaces that begin with", "Empty for all namespaces."),
    ),
}
"""The fields that name a new object."""

_FIELDS = {
    Kind.ORGANIZATION: (FormField("name", "Name", "For people."),),
    Kind.SERVER: (
        FormField("name", "Name", "For people."),
        FormField("host", "Host", "The host name by which clients find the server. The operator sets it."),
        FormField("tool_prefix", "Prefix of tools", "Such as docs_."),
        FormField("max_tokens", "Tokens of an answer", "From 200 on; empty for 5,000.", "number"),
        FormField("contextual_search", "Offer the contextual search", type="checkbox"),
        FormField(NAMESPACE_FIELD, "Namespaces that it searches", type="choices"),
    ),
    Kind.NAMESPACE: (
        FormField("repo", "Repository", "A path on the server. Set one of repository, artifact and URL."),
        FormField("artifact", "Artifact", "A folder that docyard build --out wrote."),
        FormField("url", "URL", "Of a repository, which is cloned and followed."),
        FormField("ref", "Branch, tag or commit", "A branch is followed; empty for the default one."),
        FormField("folder", "Folder", "Only this folder of the repository."),
        FormField("description", "Description", "For agents."),
        FormField("permalink", "Permalink", "Such as https://example.org/{page}#{anchor}."),
        FormField("every", "Fetch every", "For a URL, such as 5m."),
        FormField("key", "Key file", "For an artifact: the key that it was built with."),
    ),
    Kind.RULE: (FormField("role", "Role", type="select", options=ROLES, is_required=True),),
}


def list_key_fields(kind: Kind) -> tuple[FormField, ...]:
    """Return the fields that name a new object."""
    return _KEY_FIELDS[kind]


def list_fields(kind: Kind, namespaces: Collection[str], *, is_operator: bool) -> list[FormField]:
    """Return the fields of an object. `namespaces` are those of its organization."""
    return [
        field._replace(
            is_editable=is_operator or field.name != "host",
            options=namespaces if field.name == NAMESPACE_FIELD else field.options,
        )
        for field in _FIELDS[kind]
    ]


def parse_key(organization: str, kind: Kind, form: Mapping[str, str]) -> ObjectKey:
    """Return the key of the new object that a form names."""
    if kind is Kind.ORGANIZATION:
        return ObjectKey(form.get("slug", "").strip())
    if kind is Kind.RULE:
        group, prefix = form.get("group", "").strip(), form.get("namespace_prefix", "").strip()
        return ObjectKey(organization, kind, format_rule_name(group, prefix))
    return ObjectKey(organization, kind, form.get("slug", "").strip())


def parse_fields(fields: Collection[FormField], form: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of the editable fields; None is the default."""
    return {field.name: _parse_field(field, form) for field in fields if field.is_editable}


def _parse_field(field: FormField, form: Mapping[str, str]) -> Any:
    if field.type == "checkbox":
        return field.name in form
    if field.type == "choices":
        prefix = field.name + _CHOICE_SEPARATOR
        return sorted(name.removeprefix(prefix) for name in form if name.startswith(prefix))
    return form.get(field.name, "").strip() or None


def format_fields(fields: Fields) -> dict[str, str]:
    """Return the fields of an object as the values of a form."""
    form: dict[str, str] = {}
    for name, value in fields.items():
        if isinstance(value, list | tuple):
            form |= {f"{name}{_CHOICE_SEPARATOR}{item}": "on" for item in value}
        elif value is not False:
            form[name] = "on" if value is True else str(value)
    return form


def format_object_url(key: ObjectKey) -> str:
    """Return the URL of the page of an object."""
    url = f"{PAGE_PATH}/{quote(key.organization, safe='')}"
    return url if key.kind is Kind.ORGANIZATION else f"{url}/{key.kind}s/{quote(key.name, safe='')}"


def format_title(key: ObjectKey) -> str:
    """Return the name of an object for people."""
    if key.kind is not Kind.RULE:
        return key.name or key.organization
    group, prefix = parse_rule_name(key.name)
    who = "Everyone" if group == "*" else group
    return f"{who} in {prefix}…" if prefix else f"{who} in all namespaces"
