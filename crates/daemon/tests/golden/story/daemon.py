"""A daemon of the binary under test, started, killed and asked over HTTP."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import time
import urllib.error
import urllib.request

HOME = "/srv/consort"
BINARY = f"{HOME}/consort"
DATA = f"{HOME}/data"
CONFIG = f"{HOME}/config"
POINTS = [
    "before-commit", "after-commit", "after-answer", "before-desire", "before-spawn", "after-spawn",
    "before-go", "inside-snapshot", "before-snapshot-rename",
]


class Refused(Exception):
    pass


class Daemon:
    def __init__(self, words, points=POINTS, snapshot_every=700, seed=12):
        self.words, self.points = words, points
        self.every, self.dice = snapshot_every, random.Random(seed)
        self.child = None
        self.kills = {}

    def environment(self, aimed=None):
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": HOME, "XDG_CONFIG_HOME": CONFIG, "LANG": "C.UTF-8"}
        env["CONSORT_SNAPSHOT_EVERY"] = str(self.every)
        if aimed:
            env["CONSORT_CRASH_AT"] = aimed
        return env

    def start(self, aimed=None):
        server = f"{CONFIG}/consort/server"
        if os.path.exists(server):
            os.remove(server)
        words = [BINARY, *self.words, "--listen", "127.0.0.1:0", "--on-exit", "keep", "--data-dir", DATA]
        log = open(f"{HOME}/daemon.log", "ab")
        self.child = subprocess.Popen(words, env=self.environment(aimed), cwd=HOME, stdin=subprocess.DEVNULL,
                                      stdout=log, stderr=log)
        until = time.time() + 60
        while time.time() < until:
            if self.child.poll() is not None:
                if aimed:
                    return
                raise SystemExit(f"the daemon ended: {open(f'{HOME}/daemon.log').read()[-2000:]}")
            try:
                self.status()
                return
            except (OSError, Refused):
                time.sleep(0.01)
        raise SystemExit("the daemon does not answer")

    def kill(self):
        self.child.send_signal(signal.SIGKILL)
        self.child.wait()

    def stop(self, workers="keep"):
        self.ask("POST", "/v1/shutdown", {"workers": workers})
        self.child.wait(120)

    def crash(self):
        """Ends the daemon in one of three ways and starts the next one."""
        kind = self.dice.choice(["random", "aimed", "aimed", "aimed", "clean"])
        if kind == "random":
            self.kill()
        elif kind == "clean":
            self.stop()
        else:
            point = self.dice.choice(self.points)
            self.kill()
            self.start(aimed=f"{point}:{self.dice.randint(1, 6)}")
            until = time.time() + 2
            while self.child.poll() is None and time.time() < until:
                time.sleep(0.02)
                yield  # the caller goes on submitting meanwhile
            kind = point if self.child.poll() is not None else "random"
            if self.child.poll() is None:
                self.kill()
        self.kills[kind] = self.kills.get(kind, 0) + 1
        self.start()

    def ask(self, method, path, body=None):
        url = open(f"{CONFIG}/consort/server").read().strip()
        token = open(f"{CONFIG}/consort/token").read().strip()
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url + path, data, method=method, headers={
            "Authorization": f"Bearer {token}", "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise Refused(f"{method} {path} {body}: {error.code} {error.read().decode()}") from None

    def status(self):
        return self.ask("GET", "/v1/status")

    def submit(self, **job):
        job.setdefault("workdir", "/")
        return self.ask("POST", "/v1/jobs", job)["id"]

    def act(self, job, verb):
        return self.ask("POST", f"/v1/jobs/{job}/{verb}")

    def show(self, job):
        return self.ask("GET", f"/v1/jobs/{job}")

    def living(self):
        return self.ask("GET", "/v1/jobs?limit=1000")

    def until(self, what, look, patience=120):
        end = time.time() + patience
        while time.time() < end:
            found = look()
            if found:
                return found
            time.sleep(0.05)
        raise SystemExit(f"waited too long for {what}")

    def until_state(self, job, *states):
        return self.until(f"job {job} to be {states}", lambda: self.show(job)["state"] in states)

    def explained(self, job):
        return " ".join(self.ask("GET", f"/v1/jobs/{job}/explain")["sentences"])


def tenants(daemon, wide, narrow):
    """Three tenants and three queues; guarantees and ceilings of two kinds of device."""
    for name, quotas in {
        "red": [(wide, 4, 8)],
        "blue": [(wide, 2, 6), (narrow, 1, None)],
        "green": [(narrow, 0, 3)],
    }.items():
        quotas = [{"kind": kind, "guarantee": least, "ceiling": most} for kind, least, most in quotas]
        daemon.ask("PUT", f"/v1/tenants/{name}", {"quotas": quotas})
    for name, priority, strict, who in [("urgent", 10, True, ["red", "blue"]), ("batch", 0, False, []),
                                        ("low", -5, True, [])]:
        daemon.ask("PUT", f"/v1/queues/{name}", {"priority": priority, "strict": strict, "tenants": who})


def calm(daemon):
    """Lets everything end, what is paused too."""
    def quiet():
        for row in daemon.living():
            if row["state"] == "paused":
                daemon.act(row["id"], "resume")
        status = daemon.status()
        return status["waiting"] + status["running"] == 0
    daemon.until("everything to end", quiet, 300)


def settle_log():
    """Moves SQLite's log into the database, as SQLite does when the last connection closes."""
    connection = sqlite3.connect(f"{DATA}/journal.db")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
