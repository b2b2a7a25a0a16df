"""A call between two nodes, and its answer, as bytes with a signature.

The holder of the lease puts a secret into its row of the lease, which only nodes can read. Both the call and
the answer have an HMAC of this secret, so no other program can send them, and none can read the secret from
them. The answer's HMAC also covers the id of the call, and a call of the same id is executed once.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic_core import PydanticSerializationError, to_json

from tools.dispatcher import WriteCall
from tools.tool import Answer
from workspace.policy.tokens import Person

NODE_CALL_PATH = "/nodes/call"
SIGNATURE_HEADER = "X-Docyard-Node-Signature"
MAX_CALL_BYTES = 32_000_000
OTHER_BRANCH_STATUS = 421
"""The status of a call to a node that serves another branch."""


class InvalidNodeCall(ValueError):
    """The bytes of a call or an answer have another form."""


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
        fields = _decode(body)
        try:
            person = fields["person"]
            call = WriteCall(
                fields["tool"],
                fields["arguments"],
                fields["client"],
                None if person is None else Person(**person),
                fields["may_review"],
                fields["max_tokens"],
            )
            return cls(fields["id"], fields["branch"], call)
        except (KeyError, TypeError) as error:
            raise InvalidNodeCall from error


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
        fields = _decode(body)
        try:
            answer = Answer(fields["data"], fields["text"], fields["is_error"])
            return cls(answer, fields["commit"], fields["proposal"])
        except KeyError as error:
            raise InvalidNodeCall from error


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


def _decode(body: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidNodeCall from error
    if not isinstance(fields, dict):
        raise InvalidNodeCall
    return fields
