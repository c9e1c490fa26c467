"""The document of the page's view Hosts: which host holds up the others, and why.

Hosts, steps and classes are counted: `host`, `step` and `class` elsewhere in the document are indices into `hosts.name`,
`steps.number` and `classes`. Keys that end in `_us` hold whole microseconds, those in `_ps` picoseconds; -1 stands for
"not known" wherever a whole number is wanted and nothing says null.

    schema        1
    state         compared        arrivals tell who is late
                  one_host        there is none to wait for; with several cores these are compared (`cores`)
                  no_collectives  nothing ties the hosts: `late_us` is empty, `last` and `waits_us` are null
                  clocks_apart    collectives are shared, but no clocks can be related
    note          null | one sentence about that, or about hosts whose clocks are not related, for the line of warnings
    read          {hosts, of}     hosts read, and hosts of the session
    collectives   how many shared ones were compared: `last` of all hosts adds up to it
    sampled       the share of the recorded ones that is compared, 1.0 but in long captures
    kind          what most of them are: "all-reduce"; null without any
    classes       [name]          the classes of host time that occur, then `device`: the devices' own work in a step
    verdict       {text, severity: good|info|warning|critical,
                   kind: late|changing|none|unknown,   late: `hosts` hold up the others; changing: another one each time
                   hosts: [host],      those that it names, the worst first
                   core: id|null,      a core that is to blame alone
                   cause: class|null, annotation: path|null,   what takes longer on the first of them than on the median host
                   cause_us, median_cause_us,   how long that takes a step, on it and on the median host; null without cause
                   steps: [step]}      in which the first of them was last
    figures       {step_ps, waits_ps, step_if_fixed_ps}   of the mean step: its time, how long a host waits for others in it
                  (the mean of all), and its time at best if the hosts of the verdict came as the median one does; null: not known
    median_host   host | null
    steps         {number: [int|null], name: [text],
                   last: [host],       to whom most waiting of the step is charged; -1: nobody
                   clear: [bool],      that host was later than clocks can be wrong, and holds up others in more than its share
                   step_us: [int]}     the median of the hosts' times
    hosts         columns, one entry a host in the order of `hosts`:
                  name, steps, step_ps (median), collectives (shared), last (count, null), last_share (null), last_steps (of
                  steps, how many it was last in), waits_us (the others wait for it, in all; null), waited_us (it waits for
                  others, in all; null), late_us (median of how late it was in steps in which it was last; null), duty_cycle
                  (null), compiles, offset_us (clock, a float; null), residual_us (float, null), too_wide (bool: the residual is
                  above how late the host was), differs (class that differs most from the median host, null), differs_us (a
                  step), once (bool: in one step only), worst_step, named (bool: a row of its own in the heat map)
    order         [host]          the others wait for longest first, then by name
    late_us       [[int]]         per host, per step: how late after the median host's arrival, of the step's collectives
                                  the latest one; 0: not later; -1: no arrival known
    step_apart_us [[int]]         per host, per step: its time minus `steps.step_us`; null: the host has no such step
    charges       {host: [], step: [], last: [], waits_us: []}   where a host was last at all: in which step, how many times,
                                  and how long others waited for it. `last` and `waits_us` of a host add up to those in
                                  `hosts` (`waits_us` up to rounding)
    class_us      [[int]]         per host, per class: the mean step
    step_class_us {"HOST": [[int]]}   per host that is named or the median one (key: its index): per step, per class; null: no
                                  such step. Other hosts: `difference` of this module
    cores         null | [{host, id, last, late_us, device_us}]   of the hosts of the verdict and of a session of one host: how
                                  often the core was the last one of all, how late after the median core of its host (median),
                                  and its own work in the mean step
"""
