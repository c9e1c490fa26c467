"""Protobuf messages as trees: a field at any depth can be replaced, and the result encoded, valid or damaged.

Trees are immutable. A changed tree shares its unchanged nodes with the original, so that the same few captures can be
changed thousands of times a second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fuzz.schema import MESSAGES, Kind

VARINT, FIXED64, BLOCK, FIXED32 = 0, 1, 2, 5  # wire types; BLOCK is the length-delimited one

_MAX_DEPTH = 60


class NotAMessageError(ValueError):
    """The bytes are not a protobuf message."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One field: its number, its wire type, its meaning (`kind`) and its content.

    `value` is a number, or bytes: of a text, of a number of fixed width, of a message that was not parsed; `fields` are
    those of a nested message, None for anything else. `raw` is the whole encoded field, with tag and length; `size` is
    the number of fields in the subtree, including this one."""

    number: int
    wire: int
    kind: Kind
    value: int | bytes
    fields: tuple[Node, ...] | None
    raw: bytes
    size: int = 1


def encode_varint(value: int) -> bytes:
    """A varint of at most ten bytes: the lowest 64 bits of a number."""
    value &= (1 << 64) - 1
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field_number: int, kind: Kind, value: int) -> Node:
    """A varint field."""
    return Node(
        field_number, VARINT, kind, value, None, encode_varint(field_number << 3) + encode_varint(value)
    )


def fixed(field_number: int, kind: Kind, value: bytes) -> Node:
    """A field of eight bytes."""
    return Node(field_number, FIXED64, kind, value, None, encode_varint(field_number << 3 | FIXED64) + value)


def text(field_number: int, kind: Kind, value: bytes) -> Node:
    """A field of text or bytes."""
    raw = encode_varint(field_number << 3 | BLOCK) + encode_varint(len(value)) + value
    return Node(field_number, BLOCK, kind, value, None, raw)


def message(field_number: int, kind: Kind, fields: Sequence[Node]) -> Node:
    """A field with a nested message."""
    body = b"".join([field.raw for field in fields])
    raw = encode_varint(field_number << 3 | BLOCK) + encode_varint(len(body)) + body
    return Node(field_number, BLOCK, kind, b"", tuple(fields), raw, 1 + sum([field.size for field in fields]))


def opaque(like: Node, raw: bytes) -> Node:
    """A field in place of `like` whose encoding is `raw`, valid or not."""
    return Node(like.number, like.wire, like.kind, b"", None, raw)


def root(kind: Kind, fields: Sequence[Node]) -> Node:
    """A top-level message."""
    return message(0, kind, fields)


def encode(tree: Node) -> bytes:
    """The bytes of a top-level message."""
    return b"".join([field.raw for field in tree.fields or ()])


def parse(kind: Kind, data: bytes) -> Node:
    """The tree of a message. A field that should hold a message but does not is kept as bytes. Raises
    NotAMessageError."""
    return root(kind, _fields(kind, data, 0, len(data), 0))


def parse_shallow(node: Node) -> Node:
    """The message that the bytes of `node` encode; messages nested in it remain bytes. Raises NotAMessageError."""
    assert isinstance(node.value, bytes)
    return message(node.number, node.kind, _fields(node.kind, node.value, 0, len(node.value), _MAX_DEPTH))


def _fields(kind: Kind, data: bytes, start: int, end: int, depth: int) -> list[Node]:
    kinds = MESSAGES[kind]
    fields = []
    at = start
    while at < end:
        tag, body = _varint(data, at, end)
        field_number, wire = tag >> 3, tag & 7
        inner = kinds.get(field_number, "text" if wire == BLOCK else "number")
        if wire == VARINT:
            value, after = _varint(data, body, end)
            fields.append(Node(field_number, wire, inner, value, None, data[at:after]))
        elif wire == BLOCK:
            length, body = _varint(data, body, end)
            after = body + length
            if after > end:
                raise NotAMessageError(at)
            fields.append(_block(field_number, inner, data, at, body, after, depth))
        elif wire in (FIXED64, FIXED32):
            after = body + (8 if wire == FIXED64 else 4)
            if after > end:
                raise NotAMessageError(at)
            fields.append(Node(field_number, wire, inner, data[body:after], None, data[at:after]))
        else:
            raise NotAMessageError(at)
        at = after
    return fields


def _block(field_number: int, kind: Kind, data: bytes, at: int, body: int, after: int, depth: int) -> Node:
    if kind in MESSAGES and depth < _MAX_DEPTH:
        try:
            fields = _fields(kind, data, body, after, depth + 1)
        except NotAMessageError:
            pass
        else:
            size = 1 + sum([field.size for field in fields])
            return Node(field_number, BLOCK, kind, b"", tuple(fields), data[at:after], size)
    return Node(field_number, BLOCK, kind, data[body:after], None, data[at:after])


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value & (1 << 64) - 1, at
    raise NotAMessageError(at)


Path = tuple[int, ...]
"""A field's position in a tree: an index into `fields` per level, from the root."""


def node_at(tree: Node, path: Path) -> Node:
    for index in path:
        assert tree.fields is not None
        tree = tree.fields[index]
    return tree


def nth_path(tree: Node, index: int) -> Path:
    """The path of the field at `index`, from 0 to `size - 2`, in the order of encoding."""
    path: Path = ()
    while True:
        child = 0
        fields = tree.fields or ()
        while index >= fields[child].size:
            index -= fields[child].size
            child += 1
        path, tree = (*path, child), fields[child]
        if index == 0:
            return path
        index -= 1


def with_fields(tree: Node, path: Path, fields: Sequence[Node]) -> Node:
    """The tree with `fields` in place of the one at `path`; an empty sequence removes that field."""
    index, *rest = path
    assert tree.fields is not None
    inside = list(fields) if not rest else [with_fields(tree.fields[index], tuple(rest), fields)]
    return message(tree.number, tree.kind, [*tree.fields[:index], *inside, *tree.fields[index + 1 :]])


def walk(tree: Node) -> Iterator[Node]:
    """Yields all fields, each before the fields in it."""
    for field in tree.fields or ():
        yield field
        yield from walk(field)
