"""The story of one machine: `consort up`, several thousand events, ended by kill -9."""

import os
import random
import shutil
import sys
import time
from daemon import CONFIG, DATA, Daemon, Refused, calm, settle_log, tenants

DEVICES = """discover: []
devices:
  - {kind: h200, count: %d, vendor: acme, memory: 141GiB, island: 4, mask: H200_VISIBLE_DEVICES}
  - {kind: mi300x, count: 4, vendor: other, memory: 192GiB, mask: MI300X_VISIBLE_DEVICES}
"""


def declare(h200=8):
    os.makedirs(DATA, exist_ok=True)
    with open(f"{DATA}/devices.yaml", "w") as file:
        file.write(DEVICES % h200)


def some_job(dice, known):
    """One job of a seeded mixture."""
    ms = dice.randint(5, 250)
    work = f"sleep 0.{ms:03}"
    tenant = dice.choice(["red", "blue", "green", "default"])
    job = {"name": f"load-{dice.randint(1, 9)}", "tenant": tenant, "priority": dice.choice([0, 0, 0, 1, 5, -3]),
           "qos": dice.choice(["standard", "standard", "best-effort", "guaranteed"]),
           "queue": dice.choice(["default", "default", "batch", "low"]), "run": work}
    if tenant in ("red", "blue") and dice.random() < 0.2:
        job["queue"] = "urgent"
    form = dice.randint(0, 15)
    if form == 0:
        job |= {"workers": dice.randint(2, 4), "kind": "h200", "within": "nvlink"}
    elif form == 1:
        job |= {"workers": "2-6", "kind": "h200", "estimate": "5s"}
    elif form == 2:
        job |= {"tasks": dice.randint(3, 12), "kind": dice.choice(["h200", "mi300x"]), "run": "sleep 0.02"}
    elif form == 3:
        job |= {"array": "2-8:3", "kind": ["mi300x", "h200"]}
    elif form == 4:
        job |= {"kind": "mi300x", "share": 0.5, "memory": "40GiB"}
    elif form == 5:
        job |= {"run": f"{work}; exit {dice.choice([1, 3, 7])}", "retries": dice.randint(0, 2), "backoff": "1s"}
    elif form == 6:
        job |= {"run": "[ $CONSORT_ATTEMPT -gt 1 ]", "retries": 2, "backoff": "1s"}
    elif form == 7:
        job |= {"run": "sleep 30", "time_limit": "1s", "grace": "1s"}
    elif form == 8 and known:
        after = {"job": dice.choice(known[-20:]), "when": dice.choice(["succeeded", "ended", "failed"])}
        job |= {"after": [after]}
    elif form == 9:
        stages = [{"name": "prepare", "tasks": 3, "devices": 1, "run": "true"},
                  {"name": "fit", "after": "prepare", "roles": [
                      {"name": "worker", "count": "1-3", "kind": "h200", "run": work},
                      {"name": "server", "count": 1, "kind": "mi300x", "run": work}]}]
        del job["run"]
        job |= {"stages": stages}
    elif form == 10:
        job |= {"shapes": [{"kind": "h200", "devices": 2, "within": "island"}, {"kind": "mi300x", "devices": 1}]}
    elif form == 11:
        job |= {"run": ["/no/such/program"], "retries": 1, "backoff": "1s"}
    elif form == 12:
        job |= {"env": {"GREETING": "hello"}, "inherit": {"LANG": "C.UTF-8"}, "run": "echo $GREETING",
                "deadline": "+6h", "restart_cost": "2s"}
    elif form == 13:
        job |= {"run": "kill -9 $$"}
    elif form == 14:
        job |= {"devices": dice.randint(1, 4), "kind": "h200", "prefer": "island", "run": "sleep 0.6"}
    return job


def crowd(daemon, dice, jobs, kills):
    """Submits a mixture, meddles with what is there, and kills the daemon now and then."""
    known = []
    for number in range(jobs):
        try:
            known.append(daemon.submit(**some_job(dice, known)))
            meddle(daemon, dice, known)
            while daemon.status()["waiting"] > 40:
                time.sleep(0.1)
                if dice.random() < 0.02:
                    break
        except (Refused, OSError) as error:
            if isinstance(error, Refused):
                print("refused:", str(error)[:200], file=sys.stderr)
        if number % (jobs // kills) == jobs // kills - 1:
            for _ in daemon.crash():
                try:
                    known.append(daemon.submit(**some_job(dice, known)))
                except (Refused, OSError):
                    pass  # it has just been killed
    return known


def meddle(daemon, dice, known):
    job, what = dice.choice(known[-30:]), dice.random()
    try:
        if what < 0.04:
            daemon.act(job, "cancel")
        elif what < 0.10:
            daemon.act(job, "pause")
        elif what < 0.13:
            node = daemon.ask("GET", "/v1/nodes")[0]["name"]
            daemon.ask("POST", f"/v1/nodes/{node}/drain")
            time.sleep(0.2)
            daemon.ask("POST", f"/v1/nodes/{node}/undrain")
    except Refused:
        pass
    for row in daemon.living() if what > 0.9 else []:
        if row["state"] == "paused":
            daemon.act(row["id"], "resume")


def device_lost(daemon):
    """Four devices are gone while work runs, and come back."""
    job = daemon.submit(name="through", tenant="red", kind="h200", devices=2, run="sleep 4")
    daemon.until_state(job, "running")
    daemon.kill()
    declare(h200=4)
    daemon.start()
    waits = daemon.submit(name="wide", tenant="red", kind="h200", workers=6, run="true")
    daemon.until_state(job, "succeeded")
    daemon.stop()
    declare()
    daemon.start()
    daemon.until_state(waits, "succeeded")
    for count in (6, 8):
        # Described anew while nothing runs: the node is fenced and joins again.
        daemon.stop()
        declare(count)
        daemon.start()
        job = daemon.submit(name="again", tenant="red", kind="h200", workers=count, run="true")
        daemon.until_state(job, "succeeded")


def preemptions(daemon):
    """Guarantees and priorities take devices back."""
    low = [daemon.submit(name="filler", tenant="green", qos="best-effort", kind="h200", run="sleep 2") for _ in range(8)]
    daemon.until_state(low[-1], "running", "succeeded")
    gang = daemon.submit(name="claims", tenant="red", kind="h200", workers=4, run="sleep 0.5")
    high = daemon.submit(name="high", tenant="blue", queue="urgent", priority=9, kind="h200", workers=2, run="true")
    daemon.until_state(gang, "succeeded")
    daemon.until_state(high, "succeeded")
    calm(daemon)


def services(daemon):
    job = daemon.submit(name="serve", tenant="blue", kind="mi300x", replicas=3, backoff="1s", run="sleep 1")
    daemon.until("replicas to be started again", lambda: daemon.show(job)["attempts"] > 6)
    daemon.act(job, "cancel")
    daemon.until_state(job, "cancelled")


def closing_scene(daemon):
    """Work that runs and work that waits, for every reason that can last. No waiting job may take from a running one
    by any rule: neither a priority nor a guarantee of its own, so that a change of these rules changes no reason."""
    forever = "sleep 86400"
    names = {}
    def submit(name, **job):
        if "stages" not in job:
            job.setdefault("run", forever)
        names[name] = daemon.submit(name=name, **job)
        return names[name]
    trainer = submit("trainer", tenant="red", kind="h200", workers=4, within="nvlink", qos="guaranteed")
    daemon.until_state(trainer, "running")
    serve = submit("serve", tenant="blue", kind="h200", replicas=2)
    daemon.until_state(serve, "running")
    stubborn = submit("stubborn", tenant="green", kind="h200", workers=2, qos="best-effort", grace="20h",
                      run="trap '' TERM; while :; do sleep 3600 & wait; done")
    daemon.until_state(stubborn, "running")
    time.sleep(0.5)
    submit("promised", tenant="green", kind="h200", devices=2, priority=3)
    daemon.until_state(stubborn, "stopping")
    sweep = submit("sweep", tenant="default", queue="batch", kind="mi300x", share=0.001, memory="1GiB", array="0-7",
                   run="[ $CONSORT_TASK -gt 4 ] && exit 3; exit 0", retries=5, backoff="1h")
    daemon.until("tasks to fail", lambda: "tries again" in daemon.explained(sweep), 20)
    elastic = submit("elastic", tenant="green", kind="mi300x", workers="1-4")
    daemon.until_state(elastic, "running")
    submit("ceiling", tenant="green", kind="mi300x")
    halves = [submit(f"half-{n}", kind="mi300x", share=0.5, memory="40GiB") for n in (1, 2, 3)]
    daemon.until_state(halves[1], "running")
    submit("wide", tenant="green", kind="h200", workers=8, estimate="2h")
    head = submit("head", tenant="green", queue="low", kind="h200", workers=3)
    submit("behind", tenant="green", queue="low", kind="h200")
    submit("after", tenant="red", after=[trainer, {"job": head, "when": "ended"}])
    submit("stages", tenant="default", queue="batch", stages=[
        {"name": "first", "kind": "mi300x", "devices": 2, "run": forever},
        {"name": "second", "after": "first", "devices": 1, "run": forever}])
    paused = submit("paused", queue="batch", kind="mi300x")
    daemon.act(paused, "pause")
    time.sleep(3)
    for name, job in names.items():
        print(f"{job:6} {name:10} {daemon.show(job)['state']:10} {daemon.explained(job)}")


def main():
    for path in (DATA, CONFIG):
        shutil.rmtree(path, ignore_errors=True)
    declare()
    daemon, dice = Daemon(["up"]), random.Random(7)
    daemon.start()
    tenants(daemon, "h200", "mi300x")
    sweep = daemon.submit(name="sweep", tenant="green", queue="batch", kind="h200", tasks=250, run="sleep 0.01")
    crowd(daemon, dice, int(sys.argv[1]), int(sys.argv[2]))
    calm(daemon)
    preemptions(daemon)
    device_lost(daemon)
    services(daemon)
    daemon.until_state(sweep, "succeeded")
    daemon.stop()
    settle_log()
    daemon.every = 45  # so that a snapshot falls into the middle of the scene
    daemon.start()
    closing_scene(daemon)
    print(daemon.status())
    daemon.kill()
    print("ended by", daemon.kills)


main()
