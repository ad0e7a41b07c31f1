"""The story of a Slurm cluster: `consort serve --world slurm`, ended in good order."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from daemon import CONFIG, DATA, HOME, Daemon, Refused, calm, settle_log, tenants

POINTS = ["before-submit", "after-submit", "after-note", "before-desire", "after-commit", "before-commit"]


class Cluster:
    """The fixture's cluster, and what is done to it behind the daemon's back."""

    def __init__(self):
        self.child = subprocess.Popen([f"{HOME}/cluster", "--tree"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.conf = self.child.stdout.readline().strip().removeprefix("export SLURM_CONF=")
        self.folder = os.path.dirname(os.path.dirname(self.conf))
        self.nodes = []

    def run(self, *words):
        env = os.environ | {"SLURM_CONF": self.conf}
        done = subprocess.run(words, env=env, cwd="/", capture_output=True, text=True)
        if done.returncode:
            print("slurm:", words, done.stderr, file=sys.stderr)
        return done.stdout

    def kill_node(self, node):
        os.kill(int(open(f"{self.folder}/run/slurmd-{node}.pid").read()), signal.SIGKILL)

    def start_node(self, node):
        env = os.environ | {"SLURM_CONF": self.conf}
        log = open(f"{HOME}/slurmd.log", "ab")
        self.nodes.append(subprocess.Popen(["/usr/sbin/slurmd", "-D", "-N", node], env=env, stdout=log, stderr=log))

    def ours(self):
        lines = self.run("squeue", "-h", "-t", "R", "-o", "%i %k").splitlines()
        return [line.split()[0] for line in lines if "consort:" in line]

    def end(self):
        for node in self.nodes:
            node.kill()
        self.child.stdin.close()
        self.child.wait(60)


def some_job(dice, known):
    work = f"sleep 0.{dice.randint(5, 900):03}"
    tenant = dice.choice(["red", "blue", "green", "default"])
    job = {"name": f"load-{dice.randint(1, 9)}", "tenant": tenant, "priority": dice.choice([0, 0, 0, 1, 5, -3]),
           "qos": dice.choice(["standard", "standard", "best-effort", "guaranteed"]), "kind": "a100",
           "queue": dice.choice(["default", "default", "batch", "low"]), "run": work}
    if tenant in ("red", "blue") and dice.random() < 0.2:
        job["queue"] = "urgent"
    form = dice.randint(0, 13)
    if form == 0:
        job |= {"workers": dice.randint(2, 6)}
    elif form == 1:
        job |= {"workers": "2-6", "estimate": "5s"}
    elif form == 2:
        job |= {"tasks": dice.randint(3, 6), "kind": dice.choice(["a100", "mi300"])}
    elif form == 3:
        job |= {"array": "2-8:3", "kind": ["mi300", "a100"]}
    elif form == 4:
        job |= {"kind": "mi300", "devices": 2, "within": "node"}
    elif form == 5:
        job |= {"run": f"{work}; exit {dice.choice([1, 3, 7])}", "retries": dice.randint(0, 2), "backoff": "1s"}
    elif form == 6:
        job |= {"run": "[ $CONSORT_ATTEMPT -gt 1 ]", "retries": 2, "backoff": "1s"}
    elif form == 7:
        job |= {"run": "sleep 30", "time_limit": "2s", "grace": "1s"}
    elif form == 8 and known:
        after = {"job": dice.choice(known[-20:]), "when": dice.choice(["succeeded", "ended", "failed"])}
        job |= {"after": [after]}
    elif form == 9:
        stages = [{"name": "prepare", "tasks": 2, "devices": 1, "kind": "mi300", "run": "true"},
                  {"name": "fit", "after": "prepare", "roles": [
                      {"name": "worker", "count": "1-3", "kind": "a100", "run": work}]}]
        del job["run"], job["kind"]
        job |= {"stages": stages}
    elif form == 10:
        job |= {"run": "kill -9 $$"}
    elif form == 11:
        job |= {"run": "sleep 3", "qos": "best-effort", "workers": 3}
    elif form == 12:
        job |= {"features": ["mi300"], "kind": "mi300", "limits": {"memory": "200MiB"}}
    return job


def crowd(daemon, cluster, dice, jobs, kills):
    known = []
    for number in range(jobs):
        try:
            known.append(daemon.submit(**some_job(dice, known)))
            meddle(daemon, cluster, dice, known)
            while daemon.status()["waiting"] > 12:
                time.sleep(0.2)
        except Refused as error:
            print("refused:", str(error)[:200], file=sys.stderr)
        except OSError:
            pass
        if number % (jobs // kills) == jobs // kills - 1:
            for _ in daemon.crash():
                try:
                    known.append(daemon.submit(**some_job(dice, known)))
                except (Refused, OSError):
                    pass
                time.sleep(0.3)
    return known


def meddle(daemon, cluster, dice, known):
    job, what = dice.choice(known[-20:]), dice.random()
    try:
        if what < 0.05:
            daemon.act(job, "cancel")
        elif what < 0.12:
            daemon.act(job, "pause")
        elif what < 0.15:
            daemon.ask("POST", "/v1/nodes/n1/drain")
            time.sleep(1)
            daemon.ask("POST", "/v1/nodes/n1/undrain")
        elif what < 0.20:
            cluster.run("sbatch", "--gres=gpu:a100:2", "--output=/dev/null", "--wrap=sleep 3")
        elif what < 0.25:
            for ours in cluster.ours()[:1]:
                cluster.run("scancel", ours)
        elif what < 0.28:
            for ours in cluster.ours()[:1]:
                cluster.run("scontrol", "requeue", ours)
    except Refused:
        pass
    for row in daemon.living() if what > 0.8 else []:
        if row["state"] == "paused":
            daemon.act(row["id"], "resume")


def nodes_lost(daemon, cluster):
    """A node dies under its work and returns; another is drained in Slurm and opened again."""
    job = daemon.submit(name="through", tenant="red", kind="mi300", devices=2,
                        run="[ $CONSORT_ATTEMPT -gt 1 ] || sleep 300")
    daemon.until_state(job, "running")
    time.sleep(3)  # until the worker itself is there
    node = daemon.show(job)["asks"][0]["node"]
    cluster.kill_node(node)
    cluster.run("scontrol", "update", f"nodename={node}", "state=down", "reason=dead")
    daemon.until("another attempt", lambda: daemon.show(job)["attempts"] == 2)
    cluster.start_node(node)
    cluster.run("scontrol", "update", f"nodename={node}", "state=resume")
    daemon.until_state(job, "succeeded")
    daemon.until("the node", lambda: all(n["state"] == "up" for n in daemon.ask("GET", "/v1/nodes")))
    job = daemon.submit(name="moved", tenant="red", kind="mi300", devices=2, run="[ $CONSORT_ATTEMPT -gt 1 ] || sleep 60")
    daemon.until_state(job, "running")
    node = daemon.show(job)["asks"][0]["node"]
    cluster.run("scontrol", "update", f"nodename={node}", "state=drain", "reason=bad fan")
    daemon.until_state(job, "succeeded")
    cluster.run("scontrol", "update", f"nodename={node}", "state=resume")
    daemon.until("the node", lambda: all(n["state"] == "up" for n in daemon.ask("GET", "/v1/nodes")))


def preemptions(daemon):
    low = [daemon.submit(name="filler", tenant="green", qos="best-effort", kind="a100", run="sleep 6") for _ in range(8)]
    daemon.until_state(low[-1], "running", "succeeded")
    gang = daemon.submit(name="claims", tenant="red", kind="a100", workers=4, run="sleep 1")
    high = daemon.submit(name="high", tenant="blue", queue="urgent", priority=9, kind="a100", workers=2, run="true")
    daemon.until_state(gang, "succeeded")
    daemon.until_state(high, "succeeded")
    calm(daemon)


def services(daemon):
    job = daemon.submit(name="serve", tenant="blue", kind="mi300", replicas=2, backoff="1s", run="sleep 1")
    daemon.until("replicas to be started again", lambda: daemon.show(job)["attempts"] > 4)
    daemon.act(job, "cancel")
    daemon.until_state(job, "cancelled")


def closing_scene(daemon, cluster):
    """As on one machine; and a node drained in Slurm, devices in other hands, and a start that Slurm keeps waiting."""
    forever, names = "sleep 86400", {}
    def submit(name, **job):
        job.setdefault("run", forever)
        names[name] = daemon.submit(name=name, **job)
        return names[name]
    trainer = submit("trainer", tenant="red", kind="a100", workers=4, within="node", qos="guaranteed")
    daemon.until_state(trainer, "running")
    serve = submit("serve", tenant="blue", kind="a100", replicas=2)
    daemon.until("replicas", lambda: all(ask["state"] == "running" for ask in daemon.show(serve)["asks"]))
    stubborn = submit("stubborn", tenant="green", kind="a100", workers=2, qos="best-effort", grace="20h",
                      run="trap '' TERM; while :; do sleep 3600 & wait; done")
    daemon.until_state(stubborn, "running")
    time.sleep(2)
    submit("promised", tenant="green", kind="a100", devices=2, within="node", priority=3)
    daemon.until_state(stubborn, "stopping")
    sweep = submit("sweep", queue="batch", kind="mi300", array="0-4",
                   run="[ $CONSORT_TASK -gt 2 ] && exit 3; exit 0", retries=5, backoff="1h")
    daemon.until("tasks to fail", lambda: sum(ask["attempt"] for ask in daemon.show(sweep)["asks"]) == 5 and all(
        ask["state"] in ("succeeded", "waiting") for ask in daemon.show(sweep)["asks"]))
    cluster.run("sbatch", "--gres=gpu:mi300:1", "--output=/dev/null", f"--wrap={forever}")
    daemon.until("foreign use", lambda: any(
        device["state"] == "foreign" and device["kind"] == "mi300" for device in daemon.ask("GET", "/v1/devices")), 30)
    time.sleep(3)
    elastic = submit("elastic", tenant="green", kind="mi300", workers="1-4")
    daemon.until_state(elastic, "running")
    submit("ceiling", tenant="green", kind="mi300", queue="batch")
    submit("one-more", kind="mi300", queue="batch")
    submit("wide", tenant="green", kind="a100", workers=8, estimate="2h")
    head = submit("head", tenant="green", queue="low", kind="a100", workers=3)
    submit("behind", tenant="green", queue="low", kind="a100")
    submit("after", tenant="red", kind="a100", after=[trainer, {"job": head, "when": "ended"}])
    paused = submit("paused", queue="batch", kind="mi300")
    daemon.act(paused, "pause")
    daemon.until("the foreign job to be told", lambda: "somebody else" in daemon.explained(names["one-more"]))
    # Processors are devices too. Slurm takes the job and starts nothing while its partition is down.
    cluster.run("scontrol", "update", "partitionname=main", "state=down")
    starting = submit("starting", tenant="green", kind="cpu", run=forever)
    daemon.until_state(starting, "starting")
    time.sleep(4)
    for name, job in names.items():
        print(f"{job:6} {name:10} {daemon.show(job)['state']:10} {daemon.explained(job)}")


def main():
    for path in (DATA, CONFIG):
        shutil.rmtree(path, ignore_errors=True)
    cluster = Cluster()
    try:
        words = ["serve", "--world", "slurm", "--slurm-partition", "main", "--slurm-conf", cluster.conf, "--slurm-poll", "1s"]
        daemon, dice = Daemon(words, POINTS, 150), random.Random(7)
        daemon.start()
        tenants(daemon, "a100", "mi300")
        crowd(daemon, cluster, dice, int(sys.argv[1]), int(sys.argv[2]))
        calm(daemon)
        print("calm", daemon.status()["position"], flush=True)
        preemptions(daemon)
        services(daemon)
        nodes_lost(daemon, cluster)
        calm(daemon)
        daemon.stop()
        daemon.every = 45
        daemon.start()
        closing_scene(daemon, cluster)
        print(daemon.status())
        daemon.stop()
        settle_log()
        print("ended by", daemon.kills)
    finally:
        if daemon.child.poll() is None:
            daemon.kill()
        cluster.end()


main()
