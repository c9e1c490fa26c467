"""Messages of the wire format as trees that can be changed at any place and written again, whole or damaged.

A tree is never changed: what is made of it shares all else with it, so that the same few captures can be changed
thousands of times a second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fuzz.schema import MESSAGES, Kind

VARINT, FIXED64, BLOCK, FIXED32 = 0, 1, 2, 5

_DEEPEST = 60


class NoMessageError(ValueError):
    """Bytes are no message of the wire format."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One field: its number, its type on the wire, what it means (`kind`), and what it holds.

    `value` is a number, or the bytes of a text; `parts` are the fields of a message, None where it is no message. `raw`
    is the whole field as it is written, with tag and length; `size` counts the fields in it, with itself.
    """

    number: int
    wire: int
    kind: Kind
    value: int | bytes
    parts: tuple[Node, ...] | None
    raw: bytes
    size: int = field(default=1)


def encoded(value: int) -> bytes:
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


def number(place: int, kind: Kind, value: int) -> Node:
    """A field with a number, with field number `place`."""
    return Node(place, VARINT, kind, value, None, encoded(place << 3) + encoded(value))


def fixed(place: int, kind: Kind, value: bytes) -> Node:
    """A field of eight bytes."""
    return Node(place, FIXED64, kind, value, None, encoded(place << 3 | FIXED64) + value)


def text(place: int, kind: Kind, value: bytes) -> Node:
    """A field with a text, or with bytes."""
    raw = encoded(place << 3 | BLOCK) + encoded(len(value)) + value
    return Node(place, BLOCK, kind, value, None, raw)


def message(place: int, kind: Kind, parts: Sequence[Node]) -> Node:
    """A field with a message."""
    body = b"".join([part.raw for part in parts])
    raw = encoded(place << 3 | BLOCK) + encoded(len(body)) + body
    return Node(place, BLOCK, kind, b"", tuple(parts), raw, 1 + sum([part.size for part in parts]))


def opaque(like: Node, raw: bytes) -> Node:
    """A field that is written as these bytes, whatever they are."""
    return Node(like.number, like.wire, like.kind, b"", None, raw)


def root(kind: Kind, parts: Sequence[Node]) -> Node:
    """A message that is no field of another one."""
    return message(0, kind, parts)


def written(tree: Node) -> bytes:
    """The bytes of a message that is no field of another one."""
    return b"".join([part.raw for part in tree.parts or ()])


def parsed(kind: Kind, data: bytes) -> Node:
    """The tree of a message. Raises NoMessageError if it is not a message; a field whose content is not one is
    bytes."""
    return root(kind, _parts(kind, data, 0, len(data), 0))


def opened(field: Node) -> Node:
    """A message with its fields; nested messages are left as bytes. Raises NoMessageError."""
    assert isinstance(field.value, bytes)
    return message(field.number, field.kind, _parts(field.kind, field.value, 0, len(field.value), _DEEPEST))


def _parts(kind: Kind, data: bytes, start: int, end: int, depth: int) -> list[Node]:
    fields = MESSAGES[kind]
    parts = []
    at = start
    while at < end:
        tag, body = _varint(data, at, end)
        place, wire = tag >> 3, tag & 7
        inner = fields.get(place, "text" if wire == BLOCK else "number")
        if wire == VARINT:
            value, after = _varint(data, body, end)
            parts.append(Node(place, wire, inner, value, None, data[at:after]))
        elif wire == BLOCK:
            length, body = _varint(data, body, end)
            after = body + length
            if after > end:
                raise NoMessageError(at)
            parts.append(_block(place, inner, data, at, body, after, depth))
        elif wire in (FIXED64, FIXED32):
            after = body + (8 if wire == FIXED64 else 4)
            if after > end:
                raise NoMessageError(at)
            parts.append(Node(place, wire, inner, data[body:after], None, data[at:after]))
        else:
            raise NoMessageError(at)
        at = after
    return parts


def _block(place: int, kind: Kind, data: bytes, at: int, body: int, after: int, depth: int) -> Node:
    if kind in MESSAGES and depth < _DEEPEST:
        try:
            parts = _parts(kind, data, body, after, depth + 1)
        except NoMessageError:
            pass
        else:
            size = 1 + sum([part.size for part in parts])
            return Node(place, BLOCK, kind, b"", tuple(parts), data[at:after], size)
    return Node(place, BLOCK, kind, data[body:after], None, data[at:after])


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value & (1 << 64) - 1, at
    raise NoMessageError(at)


Path = tuple[int, ...]
"""The way to a field from the root: the index among the fields at each depth."""


def at_path(tree: Node, path: Path) -> Node:
    for index in path:
        assert tree.parts is not None
        tree = tree.parts[index]
    return tree


def nth(tree: Node, place: int) -> Path:
    """The way to the field with that number, from 0 to `size - 2`, in the order in which they are written."""
    path: Path = ()
    while True:
        index = 0
        parts = tree.parts or ()
        while place >= parts[index].size:
            place -= parts[index].size
            index += 1
        path, tree = (*path, index), parts[index]
        if place == 0:
            return path
        place -= 1


def with_parts(tree: Node, path: Path, parts: Sequence[Node]) -> Node:
    """The tree with these fields in place of one; with no fields, that field is removed."""
    index, *rest = path
    assert tree.parts is not None
    inside = list(parts) if not rest else [with_parts(tree.parts[index], tuple(rest), parts)]
    return message(tree.number, tree.kind, [*tree.parts[:index], *inside, *tree.parts[index + 1 :]])


def walk(tree: Node) -> Iterator[Node]:
    """All fields, each before its content."""
    for part in tree.parts or ():
        yield part
        yield from walk(part)
