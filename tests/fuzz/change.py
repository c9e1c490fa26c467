"""Changes captures into ones that a strange profiler could have written, or damages their bytes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from random import Random

from fuzz import words
from fuzz.schema import MESSAGES
from fuzz.tree import (
    BLOCK,
    FIXED64,
    VARINT,
    Node,
    Path,
    encode,
    encode_varint,
    fixed,
    message,
    node_at,
    nth_path,
    number,
    opaque,
    text,
    walk,
    with_fields,
)

FieldsByKind = Mapping[str, Sequence[Node]]
"""Fields of other captures by kind; those of the same kind are interchangeable."""

_CHANGE_COUNTS = (1, 1, 1, 2, 2, 3, 5, 9)
_COPY_COUNTS = (2, 2, 2, 3, 4, 17)
_OFFSETS = (-1, 1, -1000, 1000, -(10**6), 10**6, 10**9)
MAX_BYTES = 1 << 16
"""Changes that make a capture larger are discarded."""


def change_message(pick: Random, tree: Node, fields: FieldsByKind) -> Node:
    """The message after one to nine changes, some of which may have no effect."""
    for _ in range(pick.choice(_CHANGE_COUNTS)):
        if tree.size < 2:
            return tree
        path = nth_path(tree, pick.randrange(tree.size - 1))
        candidate = pick.choice(_CHANGES)(pick, tree, path, fields)
        tree = candidate if len(candidate.raw) <= MAX_BYTES else tree
    return tree


def _change_value(pick: Random, tree: Node, path: Path, fields: FieldsByKind) -> Node:
    """Replaces the field's value with another one of the same kind."""
    old = node_at(tree, path)
    if old.fields is not None:
        return _replace(pick, tree, path, fields)
    return with_fields(tree, path, [_value_of_kind(pick, old)])


def _value_of_kind(pick: Random, old: Node) -> Node:
    kind = old.kind
    if old.wire == BLOCK:
        value = old.value if isinstance(old.value, bytes) else b""
        if kind == "packed":
            return text(
                old.number,
                kind,
                b"".join(encode_varint(pick.choice(words.NUMBERS)) for _ in range(pick.randrange(6))),
            )
        return text(old.number, kind, _change_text(pick, kind, value))
    if old.wire == FIXED64:
        return fixed(old.number, kind, struct.pack("<d", pick.choice(words.DOUBLES)))
    old_number = old.value if isinstance(old.value, int) else 0
    if pick.random() < 0.3:
        return number(old.number, kind, old_number + pick.choice(_OFFSETS))
    if kind == "id":
        return number(old.number, kind, pick.choice(words.IDS))
    return number(old.number, kind, pick.choice(words.TIMES if kind in ("ps", "ns") else words.NUMBERS))


def _change_text(pick: Random, kind: str, old: bytes) -> bytes:
    choice = pick.randrange(8)
    if choice == 0 and old:
        at = pick.randrange(len(old))
        return old[:at] + bytes((pick.randrange(256),)) + old[at + 1 :]
    if choice == 1:
        return old[: pick.randrange(len(old) + 1)]
    if choice == 2:
        return old + pick.choice(words.NAMES["text"]).encode()
    if choice == 3:
        return old + b"/" + old
    return pick.choice(words.NAMES.get(kind, words.NAMES["text"])).encode()


def _replace(pick: Random, tree: Node, path: Path, fields: FieldsByKind) -> Node:
    """Replaces the field with one of the same kind from another capture."""
    old = node_at(tree, path)
    candidates = fields.get(old.kind)
    if not candidates:
        return tree
    field = pick.choice(candidates)
    return with_fields(tree, path, [field] if field.number == old.number else [_renumber(field, old.number)])


def _renumber(node: Node, field_number: int) -> Node:
    if node.fields is not None:
        return message(field_number, node.kind, node.fields)
    if isinstance(node.value, int):
        return number(field_number, node.kind, node.value)
    return text(field_number, node.kind, node.value)


def _insert(pick: Random, tree: Node, path: Path, fields: FieldsByKind) -> Node:
    """Inserts a field of the same kind from another capture after the field."""
    old = node_at(tree, path)
    candidates = fields.get(old.kind)
    return with_fields(tree, path, [old, pick.choice(candidates)]) if candidates else tree


def _remove(_pick: Random, tree: Node, path: Path, _fields: FieldsByKind) -> Node:
    return with_fields(tree, path, [])


def _repeat(pick: Random, tree: Node, path: Path, _fields: FieldsByKind) -> Node:
    return with_fields(tree, path, [node_at(tree, path)] * pick.choice(_COPY_COUNTS))


def _misplace(pick: Random, tree: Node, path: Path, _fields: FieldsByKind) -> Node:
    """Replaces the field with any field of the tree: one of a wrong type, or of another plane, line or event."""
    field = node_at(tree, nth_path(tree, pick.randrange(tree.size - 1)))
    return with_fields(tree, path, [field])


def _shuffle(pick: Random, tree: Node, path: Path, _fields: FieldsByKind) -> Node:
    """Shuffles the fields of the message that contains the field."""
    parent = node_at(tree, path[:-1])
    fields = list(parent.fields or ())
    pick.shuffle(fields)
    node = message(parent.number, parent.kind, fields)
    return with_fields(tree, path[:-1], [node]) if len(path) > 1 else node


def _remove_fields(pick: Random, tree: Node, path: Path, _fields: FieldsByKind) -> Node:
    """Removes some or all fields of a message."""
    old = node_at(tree, path)
    if old.fields is None:
        return tree
    remaining = [field for field in old.fields if pick.random() < 0.5] if pick.random() < 0.7 else []
    return with_fields(tree, path, [message(old.number, old.kind, remaining)])


def _retype(pick: Random, tree: Node, path: Path, _fields: FieldsByKind) -> Node:
    """Replaces or follows the field with one of a wrong number or wire type, such as a stat of a wrong type."""
    old = node_at(tree, path)
    parent = node_at(tree, path[:-1])
    field_number = pick.choice((*MESSAGES.get(parent.kind, {1: ""}), 14, 200))
    kind = MESSAGES.get(parent.kind, {}).get(field_number, "text")
    node: Node = pick.choice(
        (
            number(field_number, kind, pick.choice(words.NUMBERS)),
            fixed(field_number, kind, struct.pack("<d", pick.choice(words.DOUBLES))),
            text(field_number, kind, pick.choice(words.NAMES["text"]).encode()),
            opaque(old, encode_varint(field_number << 3 | 5) + b"\0\1\2\3"),
        )
    )
    return with_fields(tree, path, [node] if pick.random() < 0.5 else [old, node])


_LENGTHS = (1, -1, 2, 100, 2**31, 2**32, 2**62, 2**63, 2**64 - 1)
_LONG = (b"\xff" * 9 + b"\x01", b"\xff" * 10 + b"\x01", b"\x80\x80\x00", b"\xff", b"\x80")


def _damage(pick: Random, tree: Node, path: Path, _fields: FieldsByKind) -> Node:
    """Encodes the field with an invalid tag, length or number; the lengths of the messages around it remain valid."""
    old = node_at(tree, path)
    if not old.raw:
        return tree
    tag = encode_varint(old.number << 3 | old.wire)
    choice = pick.randrange(5)
    if choice == 0:
        raw = encode_varint(old.number << 3 | pick.choice((3, 4, 6, 7))) + old.raw[len(tag) :]
    elif choice == 1 and old.wire == BLOCK:
        body = encode(old) if old.fields is not None else old.value
        assert isinstance(body, bytes)
        raw = tag + encode_varint(max(0, len(body) + pick.choice(_LENGTHS))) + body
    elif choice == 2 and old.wire == VARINT:
        raw = tag + pick.choice(_LONG)
    elif choice == 3:
        raw = old.raw[: pick.randrange(len(old.raw))]
    else:
        at = pick.randrange(len(old.raw))
        raw = old.raw[:at] + bytes((old.raw[at] ^ 1 << pick.randrange(8),)) + old.raw[at + 1 :]
    return with_fields(tree, path, [opaque(old, raw)])


_CHANGES: tuple[Callable[[Random, Node, Path, FieldsByKind], Node], ...] = (
    _change_value, _change_value, _change_value, _change_value, _change_value, _replace, _replace, _insert, _remove,
    _repeat, _misplace, _shuffle, _remove_fields, _retype, _damage,
)  # fmt: skip


def damage_bytes(pick: Random, data: bytes) -> bytes:
    """Damages bytes like a broken disk or transfer: truncated, flipped, overwritten, missing or duplicated."""
    if not data:
        return data
    out = bytearray(data)
    for _ in range(pick.choice((1, 1, 2, 4))):
        if not out:
            break
        choice, at = pick.randrange(6), pick.randrange(len(out))
        count = pick.choice((1, 2, 3, 8, 40))
        if choice == 0:
            del out[at:]
        elif choice == 1:
            out[at] ^= 1 << pick.randrange(8)
        elif choice == 2:
            out[at] = pick.choice((0, 1, 0x7F, 0x80, 0xFF, pick.randrange(256)))
        elif choice == 3:
            del out[at : at + count]
        elif choice == 4:
            out[at:at] = out[at : at + count]
        else:
            out[at : at + count] = bytes(count)
    return bytes(out)


def grow_message(pick: Random, tree: Node, max_bytes: int) -> Node:
    """Repeats one field, up to `max_bytes`, optionally with increasing numbers: time must not grow faster than size."""
    paths = [nth_path(tree, pick.randrange(tree.size - 1)) for _ in range(4)]
    path = max(paths, key=lambda candidate: node_at(tree, candidate).size)
    old = node_at(tree, path)
    count = max(1, min(pick.choice((100, 1000, 10_000, 30_000)), max_bytes // max(1, len(old.raw))))
    step = pick.choice((0, 0, 1, 1000, 10**6))
    copies = [old] * count if not step else [_moved(old, step * index) for index in range(count)]
    return with_fields(tree, path, copies)


def _moved(node: Node, by: int) -> Node:
    """A field with its last number increased, or its text extended."""
    if node.fields:
        numbers = [index for index, field in enumerate(node.fields) if field.wire == VARINT]
        chosen = numbers[-1] if numbers else 0
        fields = list(node.fields)
        fields[chosen] = _moved(fields[chosen], by)
        return message(node.number, node.kind, fields)
    if isinstance(node.value, int):
        return number(node.number, node.kind, node.value + by)
    return text(node.number, node.kind, node.value + str(by).encode())


def fields_by_kind(trees: Sequence[Node]) -> dict[str, list[Node]]:
    """All fields of these messages, by kind."""

    by_kind: dict[str, list[Node]] = {}
    for tree in trees:
        for field in walk(tree):
            by_kind.setdefault(field.kind, []).append(field)
    return by_kind
