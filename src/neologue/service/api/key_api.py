"""The endpoints of the service's keys: the public one for everybody, and how operators replace them."""

from typing import Annotated

import msgspec

from neologue.protocol.succession import MOST_SUCCESSION_BYTES
from neologue.service.api.operator_api import Call, Context, Endpoint
from neologue.service.ops import key_rotation
from neologue.service.ops.access import OPERATOR
from neologue.service.ops.service_keys import ServiceKey

Digits = Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{2})*$", max_length=2 * MOST_SUCCESSION_BYTES)]


class PublicKey(msgspec.Struct, frozen=True):
    """The operator's public key in force, in hexadecimal, and what devices need that pin another one."""

    operator: str
    succession: str
    """How it has replaced others: links, the oldest first."""
    recovery: str | None
    """The digest of the recovery key, which devices pin beside the operator's."""


class KeyView(msgspec.Struct, frozen=True):
    """A key as operators see it: nothing of its secret."""

    number: int
    purpose: str
    public: str
    state: str
    """In force, replaced, or prepared to succeed one that will be revoked."""
    wrapped: bool
    since: float | None
    until: float | None

    @classmethod
    def of(cls, key: ServiceKey) -> "KeyView":
        """The view of a key."""
        state = "prepared" if key.since is None else "in force" if key.in_force else "replaced"
        return cls(key.number, key.purpose, key.public.hex(), state, key.wrapped, key.since, key.until)


class Successor(msgspec.Struct, frozen=True):
    """The public key that is prepared to be in force, in hexadecimal."""

    operator: str


class Recovery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The SHA-256 of the recovery key, in hexadecimal."""

    digest: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class SignedRevocation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A revocation that the recovery key has signed, in hexadecimal."""

    statement: Digits


def key(context: Context, call: Call) -> PublicKey:
    """The public key in force, and how it came to be."""
    keys = context.keys
    return PublicKey(keys.public.hex(), keys.succession.hex(), None if keys.recovery is None else keys.recovery.hex())


def service_keys(context: Context, call: Call) -> list[KeyView]:
    """All keys, the oldest first, without their secrets."""
    with context.database.reading() as db:
        context.keys.refresh(db)
    return [KeyView.of(each) for each in context.keys.all]


def rotate_key(context: Context, call: Call) -> list[KeyView]:
    """Put a new key in the place of the one in force."""
    purpose = call.names["purpose"]
    key_rotation.rotate(context.database, context.keys, purpose, context.clock(), call.person.name)
    return service_keys(context, call)


def prepare_key(context: Context, call: Call) -> Successor:
    """Prepare the operator key that will succeed one that is revoked."""
    public = key_rotation.prepare_successor(context.database, context.keys, context.clock(), call.person.name)
    return Successor(public.hex())


def register_recovery_key(context: Context, call: Call) -> PublicKey:
    """Register the recovery key, by its digest, once."""
    wanted: Recovery = call.body
    digest = bytes.fromhex(wanted.digest)
    key_rotation.register_recovery(context.database, context.keys, digest, context.clock(), call.person.name)
    return key(context, call)


def revoke_key(context: Context, call: Call) -> list[KeyView]:
    """Revoke an operator key, as the recovery key has signed."""
    wanted: SignedRevocation = call.body
    statement = bytes.fromhex(wanted.statement)
    key_rotation.revoke(context.database, context.keys, statement, context.clock(), call.person.name)
    return service_keys(context, call)


_ALL, _MAY = "/v1/keys", (OPERATOR,)
KEY_ENDPOINTS = (
    Endpoint("GET", "/v1/key", "The public key in force, and how it came to be", (), key, PublicKey),
    Endpoint("GET", _ALL, "The keys of the service", _MAY, service_keys, list[KeyView]),
    Endpoint("POST", f"{_ALL}/{{purpose}}/rotate", "Replace a key", _MAY, rotate_key, list[KeyView]),
    Endpoint("POST", f"{_ALL}/successor", "Prepare a successor", _MAY, prepare_key, Successor),
    Endpoint("POST", f"{_ALL}/recovery", "Register a recovery key", _MAY, register_recovery_key, PublicKey, Recovery),
    Endpoint("POST", f"{_ALL}/revocation", "Revoke an operator key", _MAY, revoke_key, list[KeyView], SignedRevocation),
)
