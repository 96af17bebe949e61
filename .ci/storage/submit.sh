#!/usr/bin/env bash
# A cluster of one machine for check_storage.py: starts a job of Snakemake as another user, in an empty
# folder of its own, with nothing of the environment but a PATH; says the job's number.
# Usage: .ci/storage/submit.sh WORKERS USER SCRIPT
#   WORKERS: a folder with env/ (what the user runs), jobs/ (hers) and ended/; USER: - is the same user
set -euo pipefail
workers=$1 user=$2 script=$3
folder=$(mktemp -d "$workers/jobs/XXXXXXXX")
job=$(basename "$folder")
install -m 0500 "$script" "$folder/job.sh"
[ "$user" = - ] || chown -R "$user:$user" "$folder"
clean=(env -i "HOME=$folder" "PATH=$workers/env/bin:/usr/local/bin:/usr/bin:/bin" LANG=C.UTF-8)
clean+=(OMP_NUM_THREADS=1 "LD_LIBRARY_PATH=$workers/python/lib")
as_user=()
[ "$user" = - ] || as_user=(setpriv --reuid "$user" --regid "$user" --clear-groups --inh-caps=-all)
{
    cd "$folder"
    status=0
    TIMEFORMAT='%U %S' # CPU seconds of its own and of the system
    { time "${as_user[@]}" "${clean[@]}" sh -c 'umask 002; exec sh ./job.sh' \
        > "$workers/ended/$job.log" 2>&1; } 2> "$workers/ended/$job.cpu" || status=$?
    echo "$status" > "$workers/ended/$job"
} < /dev/null > /dev/null 2>&1 &
echo "$job"
