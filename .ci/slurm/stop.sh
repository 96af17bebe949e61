#!/usr/bin/env bash
# Stops the daemons that start.sh began, and removes the configuration it wrote: with one left behind
# and no controller, every later call of snakemake waits for it.
# Usage: .ci/slurm/stop.sh STATE_FOLDER
set -uo pipefail
state=${1:?usage: stop.sh STATE_FOLDER}
if grep -qs "^StateSaveLocation=$state/state$" /etc/slurm/slurm.conf; then
    rm -f /etc/slurm/slurm.conf /etc/slurm/cgroup.conf
fi
for name in slurmd slurmctld munged; do
    [ -s "$state/run/$name.pid" ] || continue
    pid=$(cat "$state/run/$name.pid")
    kill "$pid" 2> /dev/null
    for _ in $(seq 50); do kill -0 "$pid" 2> /dev/null || break; sleep 0.1; done
done
exit 0
