"""A brief run of the targets that `make fuzz` tries for hours; and every input that once failed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from fuzz.change import change_message, damage_bytes
from fuzz.loop import Loop
from fuzz.seeds import fields, generated_captures
from fuzz.shrink import shrink
from fuzz.target import Limits, Target
from fuzz.targets import TARGETS
from fuzz.tree import encode, node_at, nth_path, parse, with_fields
from fuzz.worker import Tally, Worker, check_limits
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

CASES = sorted((Path(__file__).parent / "fuzz" / "cases").glob("*/*"))
BY_NAME = {target.name: target for target in TARGETS}
EXAMPLES = {
    "decode": 80,
    "program": 30,
    "trace": 30,
    "requests": 30,
    "document": 20,
    "report": 12,
    "grown report": 2,
}
"""The number of inputs tried per target; 4 of a target that is not listed."""


def brief_settings(target: Target) -> settings:
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
    return settings(max_examples=EXAMPLES.get(target.name, 4), suppress_health_check=slow)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_generated_inputs_pass_their_checks(target: Target) -> None:
    @brief_settings(target)
    @given(st.randoms(use_true_random=True))
    def holds(pick: Random) -> None:
        set(target.check(target.make(pick)))

    holds()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.name}")
def test_inputs_of_past_failures_pass(case: Path) -> None:
    set(BY_NAME[case.parent.name].check(case.read_bytes()))


def test_a_tree_is_encoded_as_it_was_parsed() -> None:
    for tree in generated_captures():
        data = encode(tree)
        again = parse("XSpace", data)
        assert encode(again) == data
        paths = [nth_path(again, index) for index in range(again.size - 1)]
        assert paths == sorted(set(paths))
        path = paths[len(paths) // 2]
        assert encode(with_fields(again, path, [node_at(again, path)])) == data


def test_the_same_seed_makes_the_same_input() -> None:
    def inputs(seed: int) -> Iterator[bytes]:
        pick = Random(seed)
        for tree in generated_captures()[:20]:
            yield damage_bytes(pick, encode(change_message(pick, tree, fields(real=False))))

    assert list(inputs(1)) == list(inputs(1)) != list(inputs(2))


def _check(data: bytes) -> Iterator[str]:
    yield f"length {len(data)}"
    if b"bad" in data:
        raise ValueError("bad")


LIMITS = Limits(seconds=10, seconds_per_byte=1, bytes=1 << 30, bytes_per_byte=1)


def test_failures_are_shrunk_and_saved(tmp_path: Path) -> None:
    target = Target(
        "test", lambda pick: b"good" * pick.randrange(9) + b"bad" + b"x" * 50, _check, LIMITS, 1.0
    )
    begun: list[bytes] = []
    worker = Worker([target], lambda _, data: begun.append(data))
    worker.attempt(target, target.make(Random(1)), 1)
    [failure] = worker.failures
    assert (failure.smallest, failure.seed, begun[0]) == (b"bad", 1, failure.data)
    assert failure.signature == 'ValueError _check raise ValueError("bad")'
    loop = Loop(tmp_path, [target])
    for _ in range(5):
        loop._add_results(worker.tallies, worker.failures, [], worker.worst)
    loop.save()
    assert len(list(tmp_path.glob("failures/test/*/*.smallest"))) == 1
    assert Loop(tmp_path, [target]).tallies["test"].inputs == 5


def test_inputs_with_a_new_feature_are_added_to_the_corpus() -> None:
    target = Target("decode", lambda _: b"", _check, LIMITS, 1.0, "XSpace")
    worker = Worker([target], lambda *_: None)
    data = [encode(tree) for tree in generated_captures()[:3]]
    for content in (*data, data[0]):
        worker.attempt(target, content, 0)
    assert worker.new == [("decode", content) for content in data]


def test_inputs_beyond_the_memory_limit_are_failures() -> None:
    def large(_: bytes) -> Iterator[str]:
        yield str(len(bytearray(5_000_000)))

    def target(limit_bytes: int) -> Target:
        limits = Limits(seconds=10, seconds_per_byte=0, bytes=limit_bytes, bytes_per_byte=0)
        return Target("test", lambda _: b"", large, limits, share=1.0)

    tally = Tally()
    check_limits(target(10_000_000), b"", tally, memory=True)
    assert 0.5 < tally.bytes.share < 0.6
    with pytest.raises(Exception, match=r"5,\d+,\d+ bytes for 0 bytes, beyond the limit of 1,000,000"):
        check_limits(target(1_000_000), b"", tally, memory=True)


def test_the_input_beyond_a_limit_is_the_worst() -> None:
    def check(data: bytes) -> Iterator[str]:
        yield str(len(bytearray(2_000_000 if data == b"large" else 1000)))

    limits = Limits(seconds=10, seconds_per_byte=0, bytes=1_000_000, bytes_per_byte=0)
    target = Target("test", lambda _: b"", check, limits, share=1.0)
    worker = Worker([target], lambda *_: None)
    for data in (b"large", b"small"):
        worker.attempt(target, data, 0)
    assert [failure.data for failure in worker.failures] == [b"large"]
    assert worker.worst["test", "memory"] == b"large"


def test_messages_are_shrunk_field_by_field() -> None:
    data = encode(generated_captures()[0])
    smallest = shrink(data, "XSpace", lambda smaller: b"fusion" in smaller, seconds=600)
    assert b"fusion" in smallest
    assert len(smallest) < 30
