"""Runs an ONNX model over a Parquet table, in this process, on Dask or on Ray.

    batch.py score.onnx TABLE OUT --keep parcel             in this process
    batch.py score.onnx TABLE OUT --on dask --workers 8     eight processes of this machine
    batch.py score.onnx TABLE OUT --on ray --address auto   a cluster that sees the same files

The same parts and batches are computed everywhere, so the results are the same bit for bit. Run the same command
again to go on where a run stopped. scoring.py says how; doc/batch.md says what a row costs.
"""

import argparse
import os
import sys
import time
from pathlib import Path

import scoring
from scoring import BadInput, Scorer, is_done, make_plan, try_part


class Progress:
    """A line that is written over on a terminal, a line a tenth elsewhere; on standard error."""

    def __init__(self, parts, done):
        self.parts, self.rows = len(parts), sum(p.rows for p in parts)
        self.done, self.done_rows = len(done), sum(p.rows for p in done)
        self.start, self.new_rows, self.cpu, self.errors = time.perf_counter(), 0, 0.0, []
        self.told = 10 * self.done // max(self.parts, 1)
        if done:
            print(f"{self.done} of {self.parts} parts are there from before", file=sys.stderr)

    def add(self, result):
        if result["error"]:
            self.errors.append(result["error"])
            print(f"{self.clear()}failed: {result['error']}", file=sys.stderr)
            return
        self.done += 1
        self.done_rows += result["rows"]
        self.new_rows += result["rows"]
        self.cpu += result["cpu"]
        speed = self.new_rows / (time.perf_counter() - self.start)
        left = (self.rows - self.done_rows) / speed if speed else 0
        line = f"{self.done} of {self.parts} parts, {self.done_rows:,} of {self.rows:,} rows, {speed:,.0f} rows/s, {left:.0f} s to go"
        if sys.stderr.isatty():
            print(f"{self.clear()}{line}", end="", file=sys.stderr, flush=True)
        elif 10 * self.done // self.parts > self.told:
            self.told = 10 * self.done // self.parts
            print(line, file=sys.stderr, flush=True)

    def clear(self):
        return "\r\x1b[K" if sys.stderr.isatty() else ""

    def close(self):
        seconds = time.perf_counter() - self.start
        print(f"{self.clear()}{self.new_rows:,} rows in {seconds:.1f} s: {self.new_rows / seconds:,.0f} rows/s, "
              f"{1e6 * self.cpu / max(self.new_rows, 1):.2f} us of a processor a row", file=sys.stderr)  # fmt: skip
        if self.errors:
            print(f"{len(self.errors)} of {self.parts} parts failed; {self.done} are whole and stay. "
                  "Mend the cause and run the same command again", file=sys.stderr)  # fmt: skip
        return 1 if self.errors else 0


def on_one(model, parts, plan, options):
    scorer = Scorer(model)
    for part in parts:
        yield try_part(scorer, part, plan, options.retries)


def on_dask(model, parts, plan, options):
    import cloudpickle
    from dask.distributed import Client, LocalCluster, WorkerPlugin, as_completed, get_worker

    class OneSession(WorkerPlugin):
        name = "ptgc-session"

        def setup(self, worker):
            worker.scorer = Scorer(model)

    def task(part):
        return try_part(get_worker().scorer, part, plan, options.retries)

    cloudpickle.register_pickle_by_value(scoring)  # the workers need no copy of scoring.py
    cluster = options.address or LocalCluster(n_workers=options.workers, threads_per_worker=1, dashboard_address=None)
    with Client(cluster) as client:
        client.register_plugin(OneSession())
        futures = {client.submit(task, p, pure=False, retries=options.retries): p for p in parts}
        for future in as_completed(futures):  # a part whose worker died is given to another one
            if future.status == "finished":
                yield future.result()
            else:
                yield {"error": f"{futures[future].path}: {future.exception()!r}"}
    if not options.address:
        cluster.close()


def on_ray(model, parts, plan, options):
    import ray

    ray.cloudpickle.register_pickle_by_value(scoring)
    local = {} if options.address else {"num_cpus": options.workers, "object_store_memory": 100_000_000}
    ray.init(options.address, include_dashboard=False if local else None, log_to_driver=False, logging_level="error", **local)

    @ray.remote(num_cpus=1, max_restarts=options.retries, max_task_retries=options.retries)
    class Worker:
        def __init__(self, model):
            self.scorer = Scorer(model)

        def part(self, part, plan):
            return try_part(self.scorer, part, plan, options.retries)

    idle, busy, left = [Worker.remote(model) for _ in range(options.workers)], {}, list(reversed(parts))
    while left or busy:
        while left and idle:
            worker, part = idle.pop(), left.pop()
            busy[worker.part.remote(part, plan)] = worker, part
        (ready,), _ = ray.wait(list(busy), num_returns=1)
        worker, part = busy.pop(ready)
        try:
            yield ray.get(ready)
            idle.append(worker)
        except ray.exceptions.RayError as e:  # it died more often than `retries`: another one for the rest
            yield {"error": f"{part.path}: {e}"}
            idle.append(Worker.remote(model))
    ray.shutdown()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("table", type=Path, help="a Parquet file or a folder of them")
    parser.add_argument("out", type=Path, help="a folder; a part is a Parquet file in it")
    parser.add_argument("--keep", action="append", default=[], metavar="COLUMN", help="copy this column to the results")
    parser.add_argument("--on", choices=("one", "dask", "ray"), default="one", help="default: one, this process")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), metavar="N", help="processes; default: one a processor")
    parser.add_argument("--address", help="of a cluster; default: this machine")
    parser.add_argument("--batch", type=int, default=1024, metavar="ROWS", help="rows in a call of the model; default %(default)s")
    parser.add_argument("--part", type=int, default=1_000_000, metavar="ROWS", help="row groups up to so many rows are one part; default %(default)s")
    parser.add_argument("--retries", type=int, default=2, metavar="N", help="of a part when the disk, the network or a worker fails; default %(default)s")
    options = parser.parse_args()
    for name in ("workers", "batch", "part"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} is at least 1")
    try:
        model = options.model.read_bytes()
        plan, parts = make_plan(model, options.table.resolve(), options.out.resolve(), options.keep, options.batch, options.part)
        done = [p for p in parts if is_done(p)]
        progress = Progress(parts, done)
        there = set(done)
        left = [p for p in parts if p not in there]
        run = {"one": on_one, "dask": on_dask, "ray": on_ray}[options.on]
        for result in run(model, left, plan, options) if left else ():
            progress.add(result)
        if progress.done == len(parts):  # what a killed run has left
            for name in options.out.rglob(".*.tmp"):
                name.unlink(missing_ok=True)
        return progress.close()
    except (BadInput, OSError) as e:
        print(f"batch.py: {e}", file=sys.stderr)
    except KeyboardInterrupt:
        print("\nstopped; the parts that are whole stay. Run the same command again to go on", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
