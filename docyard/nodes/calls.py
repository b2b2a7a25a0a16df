"""A call between two nodes, and its answer, as bytes with a signature.

The holder of the lease puts a secret into its row of the lease, which only nodes can read. Both the call and
the answer have an HMAC of this secret, so no other program can send them, and none can read the secret from
them. The answer's HMAC also covers the id of the call, and a call of the same id is executed once.

Nodes of two versions may exchange them while a server is upgraded. A call with an unknown field is refused,
because the field may restrict what the caller may do. In an answer, such a field is ignored.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Any, ClassVar, NamedTuple

from pydantic_core import PydanticSerializationError, to_json

from tools.dispatcher import WriteCall
from tools.tool import Answer
from workspace.errors import WorkspaceError
from workspace.policy.tokens import Person

NODE_CALL_PATH = "/nodes/call"
SIGNATURE_HEADER = "X-Docyard-Node-Signature"
MAX_CALL_BYTES = 32_000_000
INVALID_CALL_STATUS = 400
"""The status of a call of another form, as of another version of Docyard: it was not executed."""

OTHER_BRANCH_STATUS = 421
"""The status of a call to a node that serves another branch."""


class InvalidNodeCall(WorkspaceError):
    """An error: the bytes of a call or an answer have another form."""

    code: ClassVar[str] = "INVALID_NODE_CALL"

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the bytes from another node have another form: {reason}",
            fix="Run the same version of docyard on all nodes. During an upgrade, the node that has sent a "
            "call executes it itself.",
        )


@dataclass(frozen=True, slots=True)
class NodeCall:
    """A forwarded call: its id, the branch that its sender serves, and the call itself."""

    id: str
    branch: str | None
    call: WriteCall

    def encode(self) -> bytes:
        """Return the call as JSON."""
        call = self.call
        return _encode(
            {
                "id": self.id,
                "branch": self.branch,
                "tool": call.name,
                "arguments": call.arguments,
                "client": call.client,
                "person": None if call.person is None else call.person._asdict(),
                "may_review": call.may_review,
                "max_tokens": call.max_tokens,
            }
        )

    @classmethod
    def decode(cls, body: bytes) -> NodeCall:
        """Return the call that `encode` has written. Raises InvalidNodeCall."""
        fields = _decode(body, _CALL_TYPES)
        _check_names(fields, _CALL_TYPES)
        if not _ID.fullmatch(fields["id"]):
            raise InvalidNodeCall("'id' must have at most 64 letters and digits")
        person = fields["person"]
        if person is not None:
            _check_types(person, _PERSON_TYPES)
            _check_names(person, _PERSON_TYPES)
        call = WriteCall(
            fields["tool"],
            fields["arguments"],
            fields["client"],
            None if person is None else Person(**person),
            fields["may_review"],
            fields["max_tokens"],
        )
        return cls(fields["id"], fields["branch"], call)


_Types = Mapping[str, tuple[type, ...]]

_CALL_TYPES: _Types = {
    "id": (str,),
    "branch": (str, NoneType),
    "tool": (str,),
    "arguments": (dict,),
    "client": (str,),
    "person": (dict, NoneType),
    "may_review": (bool,),
    "max_tokens": (int, NoneType),
}
_PERSON_TYPES: _Types = dict.fromkeys(Person._fields, (str,))
_ANSWER_TYPES: _Types = {
    "data": (dict,),
    "text": (str, NoneType),
    "is_error": (bool,),
    "commit": (str, NoneType),
    "proposal": (str, NoneType),
}
_ID = re.compile("[0-9A-Za-z]{1,64}")
_MAX_NAME_LENGTH = 50


class NodeAnswer(NamedTuple):
    """The answer to a forwarded call, and the commit that the call has made, if any."""

    answer: Answer
    commit: str | None
    proposal: str | None

    def encode(self) -> bytes:
        """Return the answer as JSON."""
        answer = self.answer
        return _encode(
            {
                "data": answer.data,
                "text": answer.text,
                "is_error": answer.is_error,
                "commit": self.commit,
                "proposal": self.proposal,
            }
        )

    @classmethod
    def decode(cls, body: bytes) -> NodeAnswer:
        """Return the answer that `encode` has written. Raises InvalidNodeCall."""
        fields = _decode(body, _ANSWER_TYPES)
        answer = Answer(fields["data"], fields["text"], fields["is_error"])
        return cls(answer, fields["commit"], fields["proposal"])


def sign(secret: str, body: bytes, call_id: str = "") -> str:
    """Return the signature of a call, or of the answer to the call of an id."""
    return hmac.new(secret.encode(), f"{call_id}\n".encode() + body, hashlib.sha256).hexdigest()


def is_signed(signature: str, secret: str, body: bytes, call_id: str = "") -> bool:
    """Return True if a signature is that of the body."""
    return hmac.compare_digest(signature.encode(), sign(secret, body, call_id).encode())


def _encode(fields: Mapping[str, Any]) -> bytes:
    try:
        return to_json(fields, inf_nan_mode="null")
    except PydanticSerializationError:  # a lone surrogate, which JSON can escape and UTF-8 cannot encode
        return json.dumps(fields).encode()


def _decode(body: bytes, types: _Types) -> dict[str, Any]:
    """Return the fields of a JSON object. Raises InvalidNodeCall."""
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidNodeCall("they must be JSON") from error
    if not isinstance(fields, dict):
        raise InvalidNodeCall("they must be a JSON object")
    _check_types(fields, types)
    return fields


def _check_types(fields: Mapping[str, Any], types: _Types) -> None:
    """Raise InvalidNodeCall if a field is missing, or has none of its types."""
    for name, allowed_types in types.items():
        if name not in fields:
            raise InvalidNodeCall(f"'{name}' is missing")
        if type(fields[name]) not in allowed_types:  # not `isinstance`: True is an int
            raise InvalidNodeCall(f"'{name}' has another type")


def _check_names(fields: Mapping[str, Any], types: _Types) -> None:
    """Raise InvalidNodeCall if a field has no type."""
    for name in fields:
        if name not in types:
            raise InvalidNodeCall(f"the field {name[:_MAX_NAME_LENGTH]!a} is unknown")
