#!/usr/bin/env bash
# Starts a Slurm of one node on this machine, for tests: root, no systemd, no accounting database.
# Debian 12: apt-get install -y --no-install-recommends slurm-wlm munge
# Usage: .ci/slurm/start.sh STATE_FOLDER      (stop it with .ci/slurm/stop.sh STATE_FOLDER)
set -euo pipefail
state=${1:?usage: start.sh STATE_FOLDER}
node=$(hostname -s)
memory_mb=$(awk '/MemTotal/ {print int($2 / 1024 * 0.9)}' /proc/meminfo)

for program in slurmctld slurmd munged; do
    [ -x "/usr/sbin/$program" ] || { echo "$program is not installed" >&2; exit 1; }
done
if [ -e /etc/slurm/slurm.conf ]; then
    echo "/etc/slurm/slurm.conf is there already; this script would replace it" >&2
    exit 1
fi

mkdir -p "$state"/{state,spool,log,run} /etc/slurm
# Jobs run without SLURM_CONF, so the configuration must lie where Slurm looks by itself. Without a
# database, finished jobs are asked of the controller, which must remember them (MinJobAge). Memory
# is watched every second and a job that takes more than it asked for is killed.
cat > /etc/slurm/slurm.conf <<CONFIG
ClusterName=frugal
SlurmctldHost=$node
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CryptoType=crypto/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmdParameters=config_overrides
DefMemPerCPU=100
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
JobCompType=jobcomp/filetxt
JobCompLoc=$state/log/finished.txt
MpiDefault=none
SwitchType=switch/none
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1
ReturnToService=2
MinJobAge=600
KillWait=2
SlurmctldPort=16817
SlurmdPort=16818
SlurmctldPidFile=$state/run/slurmctld.pid
SlurmdPidFile=$state/run/slurmd.pid
SlurmctldLogFile=$state/log/slurmctld.log
SlurmdLogFile=$state/log/slurmd.log
StateSaveLocation=$state/state
SlurmdSpoolDir=$state/spool
NodeName=$node NodeAddr=127.0.0.1 CPUs=${SLURM_CPUS:-$(nproc)} RealMemory=$memory_mb State=UNKNOWN
PartitionName=main Nodes=$node Default=YES MaxTime=1-00:00:00 DefaultTime=00:10:00 State=UP
CONFIG
echo 'CgroupPlugin=cgroup/v1' > /etc/slurm/cgroup.conf

answers() { munge -n 2> /dev/null | unmunge > /dev/null 2>&1; }
if ! answers; then
    install -d -o munge -g munge /run/munge /var/log/munge /var/lib/munge
    setpriv --reuid munge --regid munge --clear-groups /usr/sbin/munged --force
    cp /run/munge/munged.pid "$state/run/munged.pid"
fi
for _ in $(seq 50); do answers && break; sleep 0.1; done
answers || { echo "munged does not answer" >&2; exit 1; }

/usr/sbin/slurmctld
/usr/sbin/slurmd
for _ in $(seq 100); do
    [ "$(sinfo --noheader --format %T 2> /dev/null)" = idle ] && exec sinfo
    sleep 0.2
done
echo "the node did not become idle; see $state/log" >&2
exit 1
