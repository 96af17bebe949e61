#!/usr/bin/env bash
# Stops the daemons that start.sh began, and removes the configuration it wrote: with one left behind
# and no controller, every later call of snakemake waits for it.
# Usage: .ci/slurm/stop.sh STATE_FOLDER
set -uo pipefail
state=$(realpath "${1:?usage: stop.sh STATE_FOLDER}")
if grep -qs "^StateSaveLocation=$state/state$" /etc/slurm/slurm.conf; then
    timeout 5 scancel --user "$(id -un)" 2> /dev/null # jobs, and with them their control groups
    sleep 1
    rm -f /etc/slurm/{slurm,cgroup,slurmdbd}.conf
    rmdir /etc/slurm 2> /dev/null
fi
for name in slurmd.n1 slurmd.n2 slurmctld slurmdbd mariadbd munged; do
    [ -s "$state/run/$name.pid" ] || continue
    pid=$(cat "$state/run/$name.pid")
    kill "$pid" 2> /dev/null
    for _ in $(seq 100); do kill -0 "$pid" 2> /dev/null || break; sleep 0.1; done
done
for folder in /sys/fs/cgroup/slurm_n[12] /sys/fs/cgroup/*/slurm_n[12]; do
    [ -d "$folder" ] && find "$folder" -depth -type d -exec rmdir {} \; 2> /dev/null
done
exit 0
