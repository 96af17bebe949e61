#!/usr/bin/env bash
# Stops the daemons that start.sh began, and removes what it wrote and mounted: with a configuration
# left behind and no controller, every later call of snakemake waits for it.
# Usage: .ci/slurm/stop.sh STATE_FOLDER
set -uo pipefail
state=$(realpath "${1:?usage: stop.sh STATE_FOLDER}")
own=false
grep -qs "^StateSaveLocation=$state/state$" /etc/slurm/slurm.conf && own=true
if $own; then timeout 5 scancel --user "$(id -un)" 2> /dev/null && sleep 2; fi # their groups go too
for name in slurmd.n1 slurmd.n2 slurmctld slurmdbd mariadbd munged; do
    [ -s "$state/run/$name.pid" ] || continue
    pid=$(cat "$state/run/$name.pid")
    kill "$pid" 2> /dev/null
    for _ in $(seq 100); do kill -0 "$pid" 2> /dev/null || break; sleep 0.1; done
done
if $own; then
    rm -f /etc/slurm/{slurm,cgroup,slurmdbd}.conf
    rmdir /etc/slurm 2> /dev/null # unless the packages keep files of their own there
    for folder in /sys/fs/cgroup/slurm_n[12] /sys/fs/cgroup/*/slurm_n[12]; do
        [ -d "$folder" ] && find "$folder" -depth -type d -exec rmdir {} \; 2> /dev/null
    done
fi
# The views of the shared folder: this machine's, and the nodes', which went with their namespaces.
for mount in $(awk -v source="$state/shared" '$1 == source {print $2}' /proc/self/mounts); do
    umount "$mount" 2> /dev/null || umount --lazy "$mount"
done
for pid in $(pgrep --exact bindfs); do
    tr '\0' '\n' < "/proc/$pid/cmdline" 2> /dev/null | grep -qx "$state/shared" && kill "$pid"
done
exit 0
