#!/usr/bin/env bash
# Starts a Slurm of two nodes on this machine, for tests: root, no systemd. Debian 12:
#   apt-get install -y --no-install-recommends slurm-wlm munge slurmdbd mariadb-server-core bindfs
# Usage: .ci/slurm/start.sh STATE_FOLDER [ACCOUNTING [SHARED_FOLDER SECONDS]]
#   ACCOUNTING: `database` (slurmdbd over MariaDB, jobs need an account), or `none`.
#   SHARED_FOLDER: an empty folder that the nodes and this machine see through caches of their own, so
#     that a file which one has made shows to the others after SECONDS.
# Memory is held by control groups where this machine lets them be made, else watched every second;
# a line says which. Stop it with .ci/slurm/stop.sh STATE_FOLDER.
set -euo pipefail
state=${1:?usage: start.sh STATE_FOLDER [ACCOUNTING [SHARED_FOLDER SECONDS]]}
accounting=${2:-none} shared=${3:-} seconds=${4:-0}
host=$(hostname -s)
nodes=(n1 n2)
memory_mb=$(awk '/MemTotal/ {print int($2 / 1024 * 0.45)}' /proc/meminfo) # of each node
here=$(dirname "$(realpath "$0")")

for program in slurmctld slurmd munged; do
    [ -x "/usr/sbin/$program" ] || { echo "$program is not installed" >&2; exit 1; }
done
if [ -e /etc/slurm/slurm.conf ]; then
    echo "/etc/slurm/slurm.conf is there already; this script would replace it" >&2
    exit 1
fi
mkdir -p "$state"/{state,spool,log,run,db} /etc/slurm
state=$(realpath "$state")

# Control groups of version 1 need no systemd; those of version 2 do without it for tests.
groups=none
if [ "$(stat -f -c %T /sys/fs/cgroup 2> /dev/null)" = cgroup2fs ]; then
    mkdir /sys/fs/cgroup/frugal_try 2> /dev/null && rmdir /sys/fs/cgroup/frugal_try && groups=v2
elif mkdir /sys/fs/cgroup/memory/frugal_try 2> /dev/null; then
    rmdir /sys/fs/cgroup/memory/frugal_try && groups=v1
fi
if [ "$groups" = none ]; then
    echo "no control groups can be made here: Slurm watches memory every second instead"
    limits="ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherParams=OverMemoryKill"
    echo 'CgroupPlugin=cgroup/v1' > /etc/slurm/cgroup.conf
else
    echo "memory is held by control groups ($groups)"
    limits="ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup
JobAcctGatherType=jobacct_gather/cgroup"
    cat > /etc/slurm/cgroup.conf <<CONFIG
CgroupPlugin=cgroup/$groups
ConstrainCores=no
ConstrainRAMSpace=yes
$([ "$groups" = v1 ] && echo CgroupAutomount=no || printf 'IgnoreSystemd=yes\nEnableControllers=yes\n')
CONFIG
fi

# Jobs run without SLURM_CONF, so the configuration must lie where Slurm looks by itself.
if [ "$accounting" = database ]; then
    store="AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort=16819
AccountingStorageEnforce=associations,limits"
else
    store="AccountingStorageType=accounting_storage/none"
fi
cat > /etc/slurm/slurm.conf <<CONFIG
ClusterName=frugal
SlurmctldHost=$host
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CryptoType=crypto/munge
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmdParameters=config_overrides
DefMemPerCPU=100
$limits
JobAcctGatherFrequency=task=1
$store
JobCompType=jobcomp/filetxt
JobCompLoc=$state/log/finished.txt
MpiDefault=none
SwitchType=switch/none
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1
ReturnToService=2
MinJobAge=${SLURM_MIN_JOB_AGE:-300}
KillWait=2
SlurmctldPort=16817
SlurmctldPidFile=$state/run/slurmctld.pid
SlurmdPidFile=$state/run/slurmd.%n.pid
SlurmctldLogFile=$state/log/slurmctld.log
SlurmdLogFile=$state/log/slurmd.%n.log
StateSaveLocation=$state/state
SlurmdSpoolDir=$state/spool/%n
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=16821 CPUs=2 RealMemory=$memory_mb State=UNKNOWN
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=16822 CPUs=2 RealMemory=$memory_mb State=UNKNOWN
PartitionName=main Nodes=n1,n2 Default=YES MaxTime=1-00:00:00 DefaultTime=00:10:00 State=UP
CONFIG

answers() { munge -n 2> /dev/null | unmunge > /dev/null 2>&1; }
if ! answers; then
    install -d -o munge -g munge /run/munge /var/log/munge /var/lib/munge
    setpriv --reuid munge --regid munge --clear-groups /usr/sbin/munged --force
    cp /run/munge/munged.pid "$state/run/munged.pid"
fi
for _ in $(seq 50); do answers && break; sleep 0.1; done
answers || { echo "munged does not answer" >&2; exit 1; }

[ "$accounting" = database ] && "$here/accounting.sh" "$state"
/usr/sbin/slurmctld
for node in "${nodes[@]}"; do
    mkdir -p "$state/spool/$node"
    /usr/sbin/slurmd -N "$node"
done
for _ in $(seq 100); do
    [ "$(sinfo --noheader --Node --format %T 2> /dev/null | sort -u)" = idle ] && exec sinfo --Node
    sleep 0.2
done
echo "the nodes did not become idle; see $state/log" >&2
exit 1
