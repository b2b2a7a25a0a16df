"""The settings as a list, and values without secrets."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

MASK = "********"
_PASSWORD_IN_AUTHORITY = re.compile(r"^([a-z][a-z0-9+.-]*://[^/?#@:]*):[^/?#]*@", re.IGNORECASE)
_PASSWORD_IN_QUERY = re.compile(r"([?&](?:ssl)?password=)[^&#]*", re.IGNORECASE)


class SettingField(NamedTuple):
    """A setting: its table and its name, and the field of the model."""

    location: tuple[str, str]
    field: FieldInfo

    @property
    def is_secret(self) -> bool:
        """True if the value is never shown."""
        return _contains_secret(self.field.annotation)

    @property
    def is_list(self) -> bool:
        """True if the value is a list, which is JSON in a variable."""
        return str(self.field.annotation).startswith("tuple[")


def _contains_secret(annotation: Any) -> bool:
    """Return True if a type is a secret, or an optional or restricted one."""
    return annotation is SecretStr or any(_contains_secret(item) for item in get_args(annotation))


def find_model(annotation: Any) -> type[BaseModel] | None:
    """Return the model in a type, such as that of the items of a list; None if there is none."""
    candidates = [annotation, *get_args(annotation)]
    return next((item for item in candidates if isinstance(item, type) and issubclass(item, BaseModel)), None)


def to_plain(value: Any) -> Any:
    """Return a value as JSON, with secrets masked, also those in URLs."""
    if isinstance(value, SecretStr):
        return MASK if value.get_secret_value() else ""
    if isinstance(value, BaseModel):
        return {name: to_plain(getattr(value, name)) for name in type(value).model_fields}
    if isinstance(value, tuple | list):
        return [to_plain(item) for item in value]
    return mask_password(value) if isinstance(value, str) else value


def mask_password(text: str) -> str:
    """Return a URL with its password masked; any other text unchanged."""
    return _PASSWORD_IN_QUERY.sub(rf"\1{MASK}", _PASSWORD_IN_AUTHORITY.sub(rf"\1:{MASK}@", text))
