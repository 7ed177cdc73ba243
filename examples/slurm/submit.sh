#!/bin/bash
# Plans shards here, writes their parts as an array of jobs, and sums them up when all of them are done.
#
#     TASKS=64 examples/slurm/submit.sh /shared/out -t /shared/tok.json --eos "</s>" "/shared/corpus/*.jsonl"
#
# All machines must see the corpus and the folder of the shards. The same command again goes on where it was: parts that
# are done take no time.
set -eu

out=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
tasks=${TASKS:-64}

bbpe shard -o "$out" "$@" --plan-only
mkdir -p logs
# when all tasks have ended, well or not: what is missing is in the log of the last job
array=$(sbatch --parsable --array="0-$((tasks - 1))" "$here/shard.sbatch" "$out")
sbatch --dependency="afterany:${array%%;*}" "$here/finish.sbatch" "$out"
echo "bbpe shards status $out --watch"
