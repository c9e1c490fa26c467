"""The text of the finding about building graphs."""

from __future__ import annotations

from loops import STEP, findings, loop


def test_phases_are_left_out_if_the_idle_time_elsewhere_has_four_parts() -> None:
    """JAX traces in the warm-up and in a recompilation, before the first run, and while a run waits in the queue."""
    tpu = loop(8, device=450, first=0)
    for at in (STEP, 6 * STEP):
        tpu.on_main("PjitFunction(f)", at + 270, 400)
        tpu.on_main("trace_to_jaxpr", at + 270, 300)
        tpu.on_main("backend_compile", at + 570, 100)
    for number in (2, 3, 4, 5, 7):
        for index, name in enumerate(("embed", "layers", "head", "loss")):
            tpu.on_main(name, number * STEP + 280 + index * 60, 50)
    for at in (3 * STEP, 5 * STEP):
        tpu.launch(at + 5, (at + 10, 10), (at + 600, 30))
    detail = findings(tpu.trace())["tracing_bound"].detail
    assert detail.replace("\u202f", " ").endswith(
        "besides 0.038 ms in the warm-up, 0.038 ms in other findings, 0.093 ms before or after all runs and 0.100 ms "
        "in gaps that are not starved."
    )
