#!/usr/bin/env bash
# Starts a Slurm of two nodes on this machine, for tests: root, no systemd. Debian 12:
#   apt-get install -y --no-install-recommends slurm-wlm munge slurmdbd mariadb-server-core \
#       mariadb-client-core bindfs
# Usage: .ci/slurm/start.sh STATE_FOLDER [ACCOUNTS [SHARED_FOLDER SECONDS]]
#   ACCOUNTS: `database` (slurmdbd over MariaDB; who submits needs an account), or `none`.
#   SHARED_FOLDER: made, and seen by each node and by this machine through a cache of its own, so that
#     a file which one has made shows to another that had looked for it only SECONDS later.
# Memory is held by control groups where this machine lets them be made, else watched every second;
# a line says which. Stop it with .ci/slurm/stop.sh STATE_FOLDER.
set -euo pipefail
state=${1:?usage: start.sh STATE_FOLDER [ACCOUNTS [SHARED_FOLDER SECONDS]]}
accounts=${2:-none} shared=${3:-} seconds=${4:-0}
here=$(dirname "$(realpath "$0")")

for program in slurmctld slurmd munged; do
    [ -x "/usr/sbin/$program" ] || { echo "$program is not installed" >&2; exit 1; }
done
if [ -e /etc/slurm/slurm.conf ]; then
    echo "/etc/slurm/slurm.conf is there already; this script would replace it" >&2
    exit 1
fi
mkdir -p "$state"/{state,spool/n1,spool/n2,log,run,db,shared} /etc/slurm
state=$(realpath "$state")

"$here/configure.sh" "$state" "$accounts"

answers() { munge -n 2> /dev/null | unmunge > /dev/null 2>&1; }
if ! answers; then
    install -d -o munge -g munge /run/munge /var/log/munge /var/lib/munge
    setpriv --reuid munge --regid munge --clear-groups /usr/sbin/munged --force
    cp /run/munge/munged.pid "$state/run/munged.pid"
fi
for _ in $(seq 50); do answers && break; sleep 0.1; done
answers || { echo "munged does not answer" >&2; exit 1; }

if [ "$accounts" = database ]; then "$here/accounts.sh" "$state"; fi

# A view of the shared folder that remembers for SECONDS which files are not there. This machine, as
# one that only submits, also remembers what files looked like; a node, which reads what another has
# replaced, does not: a network file system asks anew when a file is opened.
if [ -n "$shared" ]; then
    mkdir -p "$shared"
    shared=$(realpath "$shared")
    late="negative_timeout=$seconds"
    bindfs --multithreaded -o "$late,entry_timeout=$seconds,attr_timeout=$seconds" \
        "$state/shared" "$shared"
    view=(bindfs --multithreaded -o "$late,entry_timeout=0,attr_timeout=0" "$state/shared" "$shared")
fi
/usr/sbin/slurmctld
for node in n1 n2; do
    if [ -n "$shared" ]; then
        # shellcheck disable=SC2016  # the inner shell expands it
        unshare --mount --propagation private bash -c '"${@:2}" && /usr/sbin/slurmd -N "$1"' \
            node "$node" "${view[@]}"
    else
        /usr/sbin/slurmd -N "$node"
    fi
done
for _ in $(seq 100); do
    [ "$(sinfo --noheader --Node --format %T 2> /dev/null | sort -u)" = idle ] && exec sinfo --Node
    sleep 0.2
done
echo "the nodes did not become idle; see $state/log" >&2
exit 1
