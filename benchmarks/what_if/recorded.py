#!/usr/bin/env python3
"""Compare the gain that the report predicts with the one that was measured, in recorded pairs of captures.

    python recorded.py FOLDER

FOLDER has captures NAME_bad and NAME_good of one script, with the mistake and without it, each with a truth.json by the
script's own clock: `mean_step_ms`, until the device has done its work. Prints a table: "with" and "without" are these
steps in ms, "at best" and "at worst" the `step_if_fixed_ps` and `step_if_fixed_at_worst_ps` of the finding for the
mistake, "gain" its `gain`, and "measured" the share of the step that the script without the mistake saves.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import tb_xla_insights as xi

TITLES = ("pair", "mistake", "finding", "with", "at best", "at worst", "without", "gain", "measured")

MISTAKES = {
    "jx_augment": ("augmentation on the main thread", "host_code"),
    "jx_committed": ("batches committed to a device from some step on", "recompilation"),
    "jx_debug_print": ("`jax.debug.print` in the step", "host_callback"),
    "jx_microbatch": ("eager adds of gradients", "many_small_executions"),
    "jx_pytree": ("a new dictionary key in each step", "recompilation"),
    "jx_scan_loop": ("`jit` created again in each step", "recompilation"),
    "tx_ckpt": ("a checkpoint every fifth step, between the annotations", "host_pause"),
    "tx_gc": ("`gc.collect()` after each step", "host_code"),
    "tx_h2d_many": ("128 small `.to(device)` a step", "transfer_bound"),
    "tx_infer_cpu": ("each result is read", "sync_every_step"),
    "tx_print_tensor": ("`print(loss)` in the step", "early_sync"),
    "tx_sync_wait": ("`torch_xla.sync(wait=True)`", "sync_every_step"),
    "tx_table_index": ("a Python integer indexes a table", "recompilation"),
    "tx_train_eval": ("`eval()` for one step", "recompilation"),
}
"""The mistake of each pair, and the finding about it."""


def step_ms(folder: Path) -> float:
    return float(json.loads((folder / "truth.json").read_text())["mean_step_ms"])


def table_row(name: str, bad: Path, good: Path) -> list[str]:
    mistake, id_ = MISTAKES[name]
    with_ms, without_ms = step_ms(bad), step_ms(good)
    rows: list[Any] = [row for row in xi.load(str(bad)).report()["findings"] if row["id"] == id_]
    prediction = ["", "", "none"]
    if rows and rows[0]["step_if_fixed_ps"] is not None:
        times = (rows[0][key] / 1e9 for key in ("step_if_fixed_ps", "step_if_fixed_at_worst_ps"))
        prediction = [*(f"{time:.2f}" for time in times), f"{100 * rows[0]['gain']:.1f} %"]
    best, worst, gain = prediction
    measured = f"{100 * (1 - without_ms / with_ms):.1f} %"
    return [name, mistake, f"`{id_}`", f"{with_ms:.2f}", best, worst, f"{without_ms:.2f}", gain, measured]


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: recorded.py FOLDER")
    print(f"| {' | '.join(TITLES)} |")
    print("|" + "---|" * 3 + "--:|" * (len(TITLES) - 3))
    for name in MISTAKES:
        bad, good = (Path(sys.argv[1]) / f"{name}_{side}" for side in ("bad", "good"))
        if bad.exists() and good.exists():
            print(f"| {' | '.join(table_row(name, bad, good))} |", flush=True)


if __name__ == "__main__":
    main()
