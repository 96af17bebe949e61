#!/usr/bin/env bash
# Writes /etc/slurm/slurm.conf and cgroup.conf for .ci/slurm/start.sh: jobs run without SLURM_CONF, so
# the configuration must lie where Slurm looks by itself.
# Usage: .ci/slurm/configure.sh STATE_FOLDER ACCOUNTS
set -euo pipefail
state=${1:?usage: configure.sh STATE_FOLDER ACCOUNTS} accounts=${2:?usage: as above}
host=$(hostname -s)
memory_mb=$(awk '/MemTotal/ {print int($2 / 1024 * 0.45)}' /proc/meminfo) # of each node

# Control groups of version 1 need no systemd; those of version 2 do without it for tests.
groups=none
if [ "$(stat -f -c %T /sys/fs/cgroup 2> /dev/null)" = cgroup2fs ]; then
    if mkdir /sys/fs/cgroup/frugal_try 2> /dev/null; then
        grep -qw memory /sys/fs/cgroup/frugal_try/cgroup.controllers && groups=v2
        rmdir /sys/fs/cgroup/frugal_try
    fi
elif mkdir /sys/fs/cgroup/memory/frugal_try 2> /dev/null; then
    rmdir /sys/fs/cgroup/memory/frugal_try
    groups=v1
fi
if [ "${SLURM_WITHOUT_GROUPS:-}" ] || [ "$groups" = none ]; then
    echo "memory is watched every second; not shown: control groups"
    limits="ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherParams=OverMemoryKill"
    echo "CgroupPlugin=cgroup/v1" > /etc/slurm/cgroup.conf
else
    echo "memory is held by control groups ($groups)"
    limits="ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup
JobAcctGatherType=jobacct_gather/cgroup"
    printf 'CgroupPlugin=cgroup/%s\nConstrainCores=no\nConstrainRAMSpace=yes\n' "$groups" \
        > /etc/slurm/cgroup.conf
    if [ "$groups" = v2 ]; then
        printf 'IgnoreSystemd=yes\nEnableControllers=yes\n' >> /etc/slurm/cgroup.conf
    fi
fi
store="AccountingStorageType=accounting_storage/none"
if [ "$accounts" = database ]; then
    store="AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort=16819
AccountingStorageEnforce=associations,limits"
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
MinJobAge=${SLURM_FORGETS_AFTER_S:-300}
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
