#!/bin/sh
# Records every scenario of train.py below /opt/xla-demo/logs, as root, under the host name demo-host.
# The neutral path and host name keep the machine's own names out of the files. README.md lists what to install first.
set -eu
home=/opt/xla-demo
cp "$(dirname "$0")/train.py" "$home/train.py"
mkdir -p "$home/logs" "$home/tmp"
cd "$home"
for scenario in baseline early_item slow_input dynamic_shapes dynamo dynamo_graph_break; do
    run="logs/torch_xla_$scenario"
    rm -rf "$run"
    mkdir "$run"
    debug_level=0
    [ "$scenario" = dynamic_shapes ] && debug_level=2
    unshare --uts sh -c 'hostname demo-host && exec "$@"' - \
        env -i PATH="$home/venv/bin:/usr/bin:/bin" HOME="$home" USER=demo LOGNAME=demo TMPDIR="$home/tmp" \
        PJRT_DEVICE=CPU XLA_HLO_DEBUG=1 XLA_IR_DEBUG=1 PT_XLA_DEBUG_LEVEL="$debug_level" \
        python train.py "$scenario" "$run" 2> "$run/stderr.txt"
    [ -s "$run/stderr.txt" ] || rm "$run/stderr.txt"
    find "$run" -name '*.trace.json.gz' -delete
done
