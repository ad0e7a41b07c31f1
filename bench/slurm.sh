#!/usr/bin/env bash
# What Consort adds to a Slurm, measured beside the same Slurm without it, in one run.
#
#   bench/slurm.sh [JOBS] [SECONDS]     500 one-device jobs that take no time, unless said otherwise
#
# Starts a cluster of its own (four nodes, two kinds of devices) and a daemon, and ends both. Prints
#   - how long an array of one-device jobs takes, submitted to Slurm directly and through Consort, in turn, and the ratio
#   - how long a gang of two nodes takes from its submission until its last worker is up, both ways, and the difference
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
jobs=${1:-500} seconds=${2:-0} rounds=${ROUNDS:-2}

cargo build --release --quiet -p consort
cargo build --quiet -p consort-slurm-fixture --example cluster
consort=$PWD/target/release/consort
folder=$(mktemp -d)
mkfifo "$folder/hold"
target/debug/examples/cluster < "$folder/hold" > "$folder/cluster" 2> "$folder/cluster.err" &
cluster=$!
exec 9> "$folder/hold" # as long as it is open the cluster stays
daemon=
leave() {
    [[ -n $daemon ]] && kill "$daemon" 2>/dev/null && wait "$daemon" 2>/dev/null || true
    exec 9>&-
    wait "$cluster" 2>/dev/null || true
    rm -rf "$folder"
}
trap leave EXIT
until grep -q SLURM_CONF "$folder/cluster" 2>/dev/null; do
    kill -0 "$cluster" 2>/dev/null || { cat "$folder/cluster.err" >&2; exit 3; }
    sleep 0.1
done
eval "$(grep SLURM_CONF "$folder/cluster")"
export SLURM_CONF XDG_CONFIG_HOME=$folder/config CONSORT_LOG=warn
"$consort" serve --world slurm --slurm-partition main --data-dir "$folder/data" --listen 127.0.0.1:0 --on-exit stop \
    > "$folder/daemon" 2>&1 &
daemon=$!
until [[ -s $folder/config/consort/server ]]; do
    kill -0 "$daemon" 2>/dev/null || { cat "$folder/daemon" >&2; exit 3; }
    sleep 0.1
done

now() { date +%s.%N; }
since() { awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.2f", b - a }'; }

directly() {
    local began; began=$(now)
    sbatch --parsable --array="1-$jobs" --gres=gpu:1 --output=/dev/null --chdir=/ --wrap "srun sleep $seconds" > /dev/null
    while [[ -n $(squeue --noheader --states=PD,R,CG,CF) ]]; do sleep 0.05; done
    since "$began"
}

by_consort() {
    cat > "$folder/array.yaml" <<YAML
name: array
array: 1-$jobs
devices: 1
workdir: /
run: [sleep, "$seconds"]
YAML
    local began id; began=$(now)
    id=$("$consort" submit --json "$folder/array.yaml" | sed -n 's/.*"id": *\([0-9]*\).*/\1/p' | head -n 1)
    "$consort" wait "$id" > /dev/null
    while [[ -n $(squeue --noheader --states=PD,R,CG,CF) ]]; do sleep 0.05; done
    since "$began"
}

gang_directly() {
    rm -f "$folder"/up.*
    local began; began=$(now)
    sbatch --parsable --nodes=2 --ntasks-per-node=4 --gres=gpu:a100:4 --output=/dev/null --chdir=/ \
        --wrap "srun sh -c 'date +%s.%N > $folder/up.\$SLURM_PROCID; sleep 1'" > /dev/null
    last_up "$began"
}

gang_by_consort() {
    rm -f "$folder"/up.*
    local began; began=$(now)
    "$consort" run --workers 8 --devices-per-worker 1 --kind a100 -- \
        sh -c "date +%s.%N > $folder/up.\$RANK; sleep 1" > /dev/null 2>&1 &
    local run=$!
    last_up "$began"
    wait "$run"
}

last_up() {
    until [[ $(cat "$folder"/up.* 2>/dev/null | wc -l) == 8 ]]; do sleep 0.01; done
    cat "$folder"/up.* | sort -n | tail -n 1 | awk -v a="$1" '{ printf "%.2f", $1 - a }'
    while [[ -n $(squeue --noheader --states=PD,R,CG,CF) ]]; do sleep 0.05; done
}

echo "gang of 8 on 2 nodes, seconds until the last worker is up (directly, through Consort)"
worst=0
for _ in $(seq 5); do
    one=$(gang_directly) other=$(gang_by_consort)
    echo "  $one  $other"
    worst=$(awk -v w="$worst" -v a="$one" -v b="$other" 'BEGIN { d = b - a; print (d > w) ? d : w }')
done
echo "  Consort adds at most $worst s (bar: 1.00)"
echo "$jobs one-device jobs of $seconds s on 12 devices, seconds (directly, through Consort)"
for _ in $(seq "$rounds"); do
    one=$(directly) other=$(by_consort)
    echo "  $one  $other  ratio $(awk -v a="$one" -v b="$other" 'BEGIN { printf "%.2f", b / a }') (bar: 1.25)"
done
