#!/usr/bin/env python3
"""What many short tasks cost, measured beside HyperQueue in one run.

    bench/hyperqueue.py HQ [--consort PATH] [--tasks 2000] [--at-once 16] [--rounds 3] [--single 40]

HQ is the path of an `hq` binary. Starts a daemon of Consort and a server and a worker of HyperQueue (with `--journal`),
each in a folder of its own and on loopback, and ends them. Both run the same work in turn, round by round:
  - an array of `/bin/true`, and
  - one `/bin/true`, submitted and waited for, again and again.

Prints, for each: wall time, processor time of a task (the daemon or server, everything below it, and the tasks
themselves), and for a single task the median latency and the processor time of the client.
"""
import argparse
import os
import pathlib
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

TICK = os.sysconf("SC_CLK_TCK")
NOISE = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def processor_s(pids):
    """Seconds of processor time of these processes and of every child that they waited for."""
    total = 0
    for pid in pids:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += sum(int(field) for field in fields[11:15])
    return total / TICK


class System:
    """A scheduler that is running, and how a client asks it to run `/bin/true`."""

    def __init__(self, name, folder):
        self.name, self.folder, self.processes = name, folder, []
        self.environment = {**os.environ, "XDG_CONFIG_HOME": str(folder / "config"), "HOME": str(folder)}

    def start(self, *command):
        log = open(self.folder / f"log-{len(self.processes)}", "wb")
        process = subprocess.Popen(command, env=self.environment, cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=log, stderr=log)
        self.processes.append(process)

    def client(self, *command, check=True):
        return subprocess.run(command, env=self.environment, cwd=self.folder, check=check, **NOISE)

    def wait_until(self, is_up):
        for _ in range(200):
            if any(process.poll() is not None for process in self.processes):
                break
            if is_up():
                return
            time.sleep(0.1)
        logs = "".join(path.read_text() for path in self.folder.glob("log-*"))
        sys.exit(f"{self.name} did not start:\n{logs}")

    def stop(self):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            process.wait()

    def array(self, tasks):
        """Wall time and processor time of a task, in seconds."""
        pids = [process.pid for process in self.processes]
        before, began = processor_s(pids), time.monotonic()
        self.client(*self.array_command(tasks))
        wall = time.monotonic() - began
        time.sleep(0.5)  # what is cleared away afterwards belongs to the bill
        return wall, (processor_s(pids) - before) / tasks

    def single(self):
        """Latency and processor time of the client, in seconds."""
        used = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
        before, began = used(), time.monotonic()
        self.client(*self.single_command())
        return time.monotonic() - began, used() - before


class Consort(System):
    def __init__(self, program, folder, at_once):
        super().__init__("consort", folder)
        self.program = program
        (folder / "devices.yaml").write_text(f"discover: []\ndevices:\n  - {{kind: slot, count: {at_once}}}\n")
        self.environment["CONSORT_LOG"] = "warn"
        self.start(program, "up", "--data-dir", str(folder / "data"), "--listen", "127.0.0.1:0",
                   "--devices", str(folder / "devices.yaml"), "--on-exit", "stop")
        self.wait_until((folder / "config/consort/server").exists)
        self.wait_until(lambda: self.client(program, "jobs", check=False).returncode == 0)

    def array_command(self, tasks):
        return [self.program, "submit", "--wait", "--devices", "1", "--export", "none", "--array", f"1-{tasks}",
                "--", "/bin/true"]

    def single_command(self):
        return [self.program, "submit", "--wait", "--devices", "1", "--export", "none", "--", "/bin/true"]


class HyperQueue(System):
    def __init__(self, program, folder, at_once):
        super().__init__("hyperqueue", folder)
        self.program = program
        self.at = ["--server-dir", str(folder / "server")]
        self.start(program, *self.at, "server", "start", "--host", "localhost", "--journal", str(folder / "journal"))
        self.wait_until(lambda: self.client(program, *self.at, "server", "info", check=False).returncode == 0)
        self.start(program, *self.at, "worker", "start", "--cpus", str(at_once))
        self.single()  # returns once the worker has joined

    def array_command(self, tasks):
        return [self.program, *self.at, "submit", "--wait", "--array", f"1-{tasks}", "--stdout", "none",
                "--stderr", "none", "--", "/bin/true"]

    def single_command(self):
        return [self.program, *self.at, "submit", "--wait", "--stdout", "none", "--stderr", "none", "--", "/bin/true"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hq", help="the path of an hq binary, or - to measure Consort alone")
    parser.add_argument("--consort", default=str(pathlib.Path(__file__).parent.parent / "target/release/consort"))
    parser.add_argument("--tasks", type=int, default=2000)
    parser.add_argument("--at-once", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--single", type=int, default=40)
    given = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="consort-bench-"))
    systems = []
    try:
        for make, program in ((Consort, given.consort), (HyperQueue, given.hq)):
            if program != "-":
                place = folder / make.__name__
                place.mkdir()
                systems.append(make(os.path.abspath(program), place, given.at_once))
        arrays = {system.name: [] for system in systems}
        singles = {system.name: [] for system in systems}
        for round_number in range(given.rounds):
            for system in systems if round_number % 2 == 0 else reversed(systems):
                arrays[system.name].append(system.array(given.tasks))
        for _ in range(given.single):
            for system in systems:
                singles[system.name].append(system.single())
        print(f"{given.tasks} x /bin/true as one array, {given.at_once} at a time, median of {given.rounds} rounds")
        walls = {}
        for system in systems:
            walls[system.name] = statistics.median(wall for wall, _ in arrays[system.name])
            cost = statistics.median(cost for _, cost in arrays[system.name])
            print(f"  {system.name:12} {walls[system.name]:7.2f} s wall   {cost * 1e3:6.2f} ms of processor time a task")
        if len(systems) == 2:
            print(f"  consort takes {walls['consort'] / walls['hyperqueue']:.2f} times the wall time of HyperQueue")
        print(f"one /bin/true, submit --wait, median of {given.single}")
        for system in systems:
            wall = statistics.median(wall for wall, _ in singles[system.name])
            cost = statistics.median(cost for _, cost in singles[system.name])
            print(f"  {system.name:12} {wall * 1e3:7.1f} ms wall  {cost * 1e3:6.2f} ms of processor time of the client")
    finally:
        for system in systems:
            system.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
