"""Captures with n long names, and with names and events nested n deep."""

from __future__ import annotations

from synthetic.hlo import Instruction
from synthetic.writer import Ref, Space

from benchmarks.growth.training import EPOCH, STEP, US, Training, axis, module, nest, shared_metadata


@axis
def nested_annotations(n: int) -> Space:
    training = Training()
    nest(training.host, training.python, [f"level_{i}" for i in range(n)], 100 * US, 600 * US)
    return training.space


@axis
def nested_alike(n: int) -> Space:
    training = Training()
    nest(training.host, training.python, ["level"] * n, 100 * US, 600 * US)
    return training.space


@axis
def slashes(n: int) -> Space:
    """One annotation whose name has 40 n slashes."""
    training = Training()
    training.python.event("/".join("a" for _ in range(40 * n)), 100 * US, 500 * US)
    return training.space


@axis
def slashes_around(n: int) -> Space:
    """A name of n slashes around n others."""
    training = Training()
    training.python.event("/".join(str(i) for i in range(n)), 100 * US, 500 * US)
    for i in range(n):
        training.python.event(shared_metadata(training.host, f"part_{i}"), 100 * US + 10 + 10 * i, 5)
    return training.space


@axis
def long_name(n: int) -> Space:
    """An annotation with a name of 20 n letters around n others, and n more annotations of this name."""
    training = Training()
    text = "x" * (20 * n)
    training.python.event(shared_metadata(training.host, text), 100 * US, 400 * US)
    for i in range(n):
        training.python.event(shared_metadata(training.host, f"part_{i}"), 100 * US + 10 + 10 * i, 5)
        training.python.event(shared_metadata(training.host, text), 500 * US + 10 * i, 5)
    return training.space


@axis
def long_op(n: int) -> Space:
    """n ops of one name of about 20 n letters."""
    training = Training(3, ops=False)
    for i in range(n):
        training.op("%fusion = " + "f32[8]," * 3 * n, i * 100_000, 50_000)
    return training.space


@axis
def long_module(n: int) -> Space:
    """Runs of a program with a name of 20 n letters."""
    training = Training(3, ops=False)
    for i in range(n):
        training.launch(3 * STEP + i * 300 * US, 10 + i, False, "g" * 20 * n)
    return training.space


@axis
def long_stat(n: int) -> Space:
    """One text of 20 n letters that n events refer to."""
    training = Training()
    for i in range(n):
        training.python.event(
            "part", 100 * US + 10 * i, 5, {"long": Ref("y" * 20 * n), "hlo_module": Ref("z" * 20 * n)}
        )
    return training.space


@axis
def long_thread(n: int) -> Space:
    """A thread whose name has 20 n letters, and n events, annotations among them."""
    training = Training()
    line = training.host.line("w" * 20 * n, id=2, timestamp_ns=EPOCH)
    for i in range(n):
        line.event(("forward", "PjRtClient::x")[i % 2], 100 * US + 10 * i, 5)
    return training.space


@axis
def long_scope(n: int) -> Space:
    """An op whose name has n scopes."""
    training = Training()
    training.op("deep.1", 3 * STEP, 50 * US, tf_op="/".join(f"s{i}.1" for i in range(n)) + "/aten__mm:")
    return training.space


@axis
def nested_scopes(n: int) -> Space:
    """n ops (at most 200), each one scope deeper than the one before it."""
    training = Training(steps=3, program=module([Instruction(1, "dot.2", "dot")]))
    path = ""
    for i in range(min(n, 200)):
        path += f"s{i}.1/"
        training.op(f"op.{i}", 3 * STEP + i * US, US // 2, tf_op=f"{path}aten__mm:")
    return training.space


@axis
def many_scopes(n: int) -> Space:
    """n ops of n scopes."""
    training = Training()
    for i in range(n):
        training.op(f"op.{i}", 3 * STEP + i * US, US // 2, tf_op=f"step.1/part{i}.2/aten__mm:")
    return training.space


@axis
def nested_frames(n: int) -> Space:
    """Frames of Python's tracer inside each other."""
    training = Training()
    nest(training.host, training.python, [f"$train.py:{i} f{i}" for i in range(n)], 100 * US, 600 * US)
    return training.space


@axis
def nested_calls(n: int) -> Space:
    """Calls of the runtime inside each other, of every class in turn."""
    training = Training()
    names = ["TransferFromDevice", "XLAGraphExecutor::Compile", "ExecuteComputation", "SyncTensorsGraphInternal",
             "TensorCollectionBarrier", "StepMarker", "TransferToDevice", "BlockUntilReady"]  # fmt: skip
    nest(training.host, training.python, [names[i % len(names)] for i in range(n)], 100 * US, 600 * US)
    return training.space


@axis
def nested_steps(n: int) -> Space:
    training = Training()
    nest(training.host, training.python, ["Training_Step"] * n, 3 * STEP, 4 * STEP, _r=1, step_num=9)
    return training.space


@axis
def nested_ops(n: int) -> Space:
    """Ops inside each other on a device."""
    training = Training()
    for i in range(n):
        training.op(f"while.{i}", 3 * STEP + i, 800 * US - 2 * i)
    return training.space


@axis
def nested_stored_scopes(n: int) -> Space:
    """A line of name scopes, as in captures of 2020: n inside each other, with an op in each."""
    training = Training()
    line = training.device.line("TensorFlow Name Scope", timestamp_ns=EPOCH)
    nest(training.device, line, [f"s{i}" for i in range(n)], 3 * STEP, 4 * STEP)
    for i in range(n):
        training.op("op", 3 * STEP + i, 1)
    return training.space


@axis
def stored_scopes(n: int) -> Space:
    """A line of name scopes, as in captures of 2020: n beside each other, with an op in each."""
    training = Training()
    line = training.device.line("TensorFlow Name Scope", timestamp_ns=EPOCH)
    for i in range(n):
        line.event(shared_metadata(training.device, f"s{i}"), 3 * STEP + 10 * i, 5)
        training.op("op", 3 * STEP + 10 * i, 5)
    return training.space
