#!/usr/bin/env bash
# Starts a database of accounts for .ci/slurm/start.sh: MariaDB, slurmdbd before it, and one account.
# Usage: .ci/slurm/accounts.sh STATE_FOLDER
set -euo pipefail
state=${1:?usage: accounts.sh STATE_FOLDER}
small=(--no-defaults --user=root --datadir="$state/db" --innodb-buffer-pool-size=64M
    --innodb-log-file-size=8M)
mariadb-install-db "${small[@]}" --auth-root-authentication-method=normal --skip-test-db \
    --skip-name-resolve > "$state/log/mariadbd.log" 2>&1
/usr/sbin/mariadbd "${small[@]}" --socket="$state/run/db.sock" --pid-file="$state/run/mariadbd.pid" \
    --bind-address=127.0.0.1 --port=16820 --skip-grant-tables >> "$state/log/mariadbd.log" 2>&1 &
install -m 600 /dev/stdin /etc/slurm/slurmdbd.conf <<CONFIG
AuthType=auth/munge
DbdHost=localhost
DbdPort=16819
SlurmUser=root
LogFile=$state/log/slurmdbd.log
PidFile=$state/run/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=16820
StorageUser=root
StorageLoc=slurm
CONFIG
for _ in $(seq 300); do (exec 3<> /dev/tcp/127.0.0.1/16820) 2> /dev/null && break; sleep 0.1; done
/usr/sbin/slurmdbd
for _ in $(seq 300); do sacctmgr --noheader show cluster > /dev/null 2>&1 && break; sleep 0.1; done
{
    sacctmgr --immediate add cluster frugal
    sacctmgr --immediate add account tests description=tests organization=tests
    sacctmgr --immediate add user "$(id -un)" account=tests
    sacctmgr --immediate modify user "$(id -un)" set defaultaccount=tests
} > "$state/log/accounts.log"
