"""What is done to sweeps. Each scenario takes the ground and a seeded generator, and returns its figures by name.

A scenario raises `Failed` when something was lost, doubled, wrong without a word, or left behind.
"""

import os
import random
import resource
import signal
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cluster import available, cluster_kills, cut_network, own_cluster
from ground import Client, Failed, Ground, Rows, full_disk, no_stray, one_line, until

from sparsehead._base.errors import StoreError
from sparsehead.store.repair import check, repair

Figures = dict[str, object]
KILLS, ON_CLUSTER = 205, 45  # of a full run; the second is part of the first
MOST_WORKERS_KILLED = 8  # of one client, before it is killed itself or may finish


def kills(ground: Ground, rng: random.Random, number: int, *, lanes: int = 3) -> Figures:
    """kill -9 of clients and of workers at random moments, `number` in all, sweep after sweep.

    Several sweeps, each with a store of its own, suffer at the same time.
    """
    shares = [number // lanes + (lane < number % lanes) for lane in range(lanes)]
    seeds = [rng.randrange(2**30) for _ in shares]
    with ThreadPoolExecutor(lanes) as pool:
        parts = [
            pool.submit(_kill_in_lane, ground, lane, random.Random(seed), share)
            for lane, (seed, share) in enumerate(zip(seeds, shares))
            if share
        ]
        total = sum((part.result() for part in parts), Counter[str]())
    return {"kills": total["of workers"] + total["of clients"], **total}


def _kill_in_lane(ground: Ground, lane: int, rng: random.Random, number: int) -> Counter[str]:
    """One sweep after the other, until `number` kills are done; each is completed afterwards."""
    killed: Counter[str] = Counter()
    while _kills(killed) < number:
        killed["sweeps"] += 1
        db = ground.folder / f"kills-{lane}-{killed['sweeps']}.db"
        rows: Rows = {}
        while _kills(killed) < number and len(rows) < ground.number:
            client = ground.start(db)
            _disturb(client, rng, killed, number)
            code = client.wait()
            no_stray(db)
            rows = ground.check_part(db, rows)
            if code == 2:
                one_line(client.said())
            if len(rows) < client.done:
                raise Failed(f"{client.done} outcomes were announced, {len(rows)} are there")
            killed["checks after a client ended"] += 1
        ground.finish(db, rows)
    return killed


def _kills(killed: Counter[str]) -> int:
    return killed["of workers"] + killed["of clients"]


def _disturb(client: Client, rng: random.Random, killed: Counter[str], number: int) -> None:
    """Kill workers of a client, some of them, and then perhaps the client."""
    for _ in range(rng.randrange(MOST_WORKERS_KILLED + 1)):
        if _kills(killed) >= number or not _at_random_moment(client, rng):
            return
        workers = client.workers()
        if workers and _kill(rng.choice(workers)):
            killed["of workers"] += 1
    if _kills(killed) < number and _at_random_moment(client, rng):
        client.kill()
        killed["of clients"] += 1


def _at_random_moment(client: Client, rng: random.Random) -> bool:
    """Wait for a random moment of the sweep: while it starts, or around its next outcomes; False once it has ended."""
    if rng.random() < 0.2:
        deadline = time.monotonic() + rng.random() * 1.5
        until(lambda: time.monotonic() > deadline or not client.running, "a moment")
    else:
        goal = client.done + rng.randrange(1, 12)
        until(lambda: client.done >= goal or not client.running, "outcomes come")
        time.sleep(rng.random() * 0.05)
    return client.running


def _kill(process: int) -> bool:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def signals(ground: Ground, rng: random.Random) -> Figures:
    """SIGTERM, SIGHUP, Ctrl-C and two of them in a row, each to a running sweep."""
    for name, sent in {
        "SIGTERM": [signal.SIGTERM],
        "SIGHUP": [signal.SIGHUP],
        "Ctrl-C": [signal.SIGINT],
        "double Ctrl-C": [signal.SIGINT, signal.SIGINT],
    }.items():
        db = ground.folder / f"{name.replace(' ', '-')}.db"
        client = ground.start(db)
        goal = rng.randrange(2, 20)
        until(lambda c=client, g=goal: c.done >= g or not c.running, "outcomes come")
        for number in sent:
            client.kill(number)
            time.sleep(rng.random() * 0.1)
        code = client.wait()
        no_stray(db)
        if "Traceback" in client.said() and name == "Ctrl-C":
            raise Failed(f"{name}: {client.said()[-300:]}")
        if code == 0:
            raise Failed(f"{name} came too late to disturb anything")
        rows = ground.check_part(db)
        if len(rows) < client.done:
            raise Failed(f"{name}: an announced outcome is lost")
        ground.finish(db, rows)
    return {"signals": 4}


def disk_full(ground: Ground, rng: random.Random) -> Figures:
    """The store's disk fills up under a sweep: a sentence, nothing damaged, and once there is room it goes on."""
    folder = ground.folder / "small"
    try:
        with full_disk(folder, 96 * 1024) as make_room:
            db = folder / "s.db"
            client = ground.start(db)
            if client.wait() != 2 or "disk is full" not in one_line(client.said()):
                raise Failed(f"a full disk ends a sweep with a sentence and 2, not: {client.said()[-300:]}")
            no_stray(db)
            rows = ground.check_part(db)
            make_room()
            ground.finish(db, rows)
        return {"how": "a tmpfs of 96 KB", "outcomes before it was full": len(rows)}
    except OSError:
        return _file_limit(ground)


def _file_limit(ground: Ground) -> Figures:
    """Without root: no file of the sweep may exceed a limit."""
    db = ground.folder / "limited.db"

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (80_000, 80_000))

    client = ground.start(db, preexec_fn=limit)
    if client.wait() != 2:
        raise Failed(f"a limit on the file's size ends a sweep with 2, not: {client.said()[-300:]}")
    one_line(client.said())
    no_stray(db)
    rows = ground.check_part(db)
    ground.finish(db, rows)
    return {"how": "RLIMIT_FSIZE of 80 KB (not root)", "outcomes before it was full": len(rows)}


def deleted(ground: Ground, rng: random.Random) -> Figures:
    """The store is deleted under a running sweep: it ends with a sentence; repeated, it starts afresh."""
    db = ground.folder / "deleted.db"
    client = ground.start(db)
    until(lambda: client.done >= 5 or not client.running, "outcomes come")
    db.unlink()
    if client.wait() != 2 or "removed or replaced" not in one_line(client.said()):
        raise Failed(f"a deleted store is noticed, but: {client.said()[-300:]}")
    no_stray(db)
    ground.finish(db)
    return {"sweeps": 1}


def damaged(ground: Ground, rng: random.Random, *, flips: int, under: int) -> Figures:
    """Flipped bytes and truncation, between sweeps (`flips` of each) and under a running one (`under` of each).

    Whatever is read afterwards without a word is what an undisturbed sweep has; everything else is named, and `repair`
    saves the rest, from which the sweep completes.
    """
    full = (ground.folder / "undisturbed.db").read_bytes()
    figures: Counter[str] = Counter()
    for i in range(2 * flips):
        db = ground.folder / f"damaged-{i}.db"
        db.write_bytes(_broken(full, rng, truncate=i % 2 == 1))
        _judge(ground, db, figures)
    for i in range(2 * under):
        db = ground.folder / f"under-{i}.db"
        client = ground.start(db)
        goal = rng.randrange(3, 20)
        until(lambda c=client, g=goal: c.done >= g or not c.running, "outcomes come")
        _break_in_place(db, rng, truncate=i % 2 == 1)
        code = client.wait()
        no_stray(db)
        if code == 2:
            one_line(client.said())
        elif code != 0:
            raise Failed(f"damage under a sweep ends it with {code}: {client.said()[-300:]}")
        figures[f"sweeps that {'ended with a sentence' if code else 'finished'} on a damaged store"] += 1
        _judge(ground, db, figures)
        if i < 2:
            new = db.with_suffix(".new.db")
            try:
                repair(db, new)
            except StoreError:
                figures["stores that could not be repaired"] += 1
                new.unlink(missing_ok=True)
            ground.finish(new)
            figures["sweeps completed from what was repaired"] += 1
    return {"damaged files": 2 * (flips + under), **figures}


def _broken(content: bytes, rng: random.Random, *, truncate: bool) -> bytes:
    if truncate:
        return content[: rng.randrange(1, len(content))]
    place = rng.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << rng.randrange(8)]) + content[place + 1 :]


def _break_in_place(db: Path, rng: random.Random, *, truncate: bool) -> None:
    size = db.stat().st_size
    with db.open("r+b") as file:
        if truncate:
            file.truncate(rng.randrange(1, size))
        else:
            place = rng.randrange(size)
            file.seek(place)
            old = file.read(1) or b"\0"
            file.seek(place)
            file.write(bytes([old[0] ^ 1 << rng.randrange(8)]))


def _judge(ground: Ground, db: Path, figures: Counter[str]) -> None:
    """Damage is named, or there is none to be seen."""
    try:
        found = check(db)
    except StoreError:
        figures["named when opened"] += 1
        return
    if found.damage:
        figures["named row by row"] += 1
        return
    ground.check_part(db)
    figures["without effect on any row"] += 1


def clock(ground: Ground, rng: random.Random) -> Figures:
    """time.time jumps by up to decades, back and forth, at every tenth call, in client and workers.

    By a sitecustomize module that replaces it; time.monotonic is not touched, since no clock change reaches it.
    """
    folder = ground.folder / "clock"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "import random, time\n"
        f"_rng, _calls, _offset, _real = random.Random({rng.randrange(2**30)}), [0], [0.0], time.time\n"
        "def _jumping():\n"
        "    _calls[0] += 1\n"
        "    if _calls[0] % 10 == 1:\n"
        "        _offset[0] = _rng.uniform(-1.5e9, 6e9)\n"
        "    return _real() + _offset[0]\n"
        "time.time = _jumping\n"
    )
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    rows = ground.finish(folder / "s.db", env={"PYTHONPATH": path})
    dates = sorted(row[3] for row in rows.values())
    if dates[-1] - dates[0] < 1e9:
        raise Failed("the clock did not jump")
    return {"years between first and last date": round((dates[-1] - dates[0]) / 3.156e7)}


def two_clients(ground: Ground, rng: random.Random) -> Figures:
    """Two clients run the same sweep into one store at once; then twice more, one of the two killed half-way."""
    db = ground.folder / "two.db"
    both = [ground.start(db) for _ in range(2)]
    codes = [client.wait() for client in both]
    if codes != [0, 0]:
        raise Failed(f"two clients ended with {codes}: {both[0].said()[-200:]} {both[1].said()[-200:]}")
    rows = ground.check_part(db)
    if len(rows) != ground.number:
        raise Failed(f"{len(rows)} outcomes instead of {ground.number}")
    for i in range(2):
        db = ground.folder / f"two-{i}.db"
        first, second = (ground.start(db) for _ in range(2))
        until(lambda a=first: a.done >= 5 or not a.running, "outcomes come")
        first.kill()
        first.wait()
        if second.wait() != 0:
            raise Failed(f"the surviving client failed: {second.said()[-300:]}")
        if len(ground.check_part(db)) != ground.number:
            raise Failed("the surviving client did not complete the sweep")
        no_stray(db)
    return {"pairs": 3, "killed half-way": 2}


Scenario = Callable[[Ground, random.Random], Figures]


def plan(share: float) -> dict[str, Scenario]:
    """The scenarios by name; `share` of the kills and damages of a full run."""
    on_cluster = max(1, round(ON_CLUSTER * share)) if available() else 0
    number, flips, under = max(3, round(KILLS * share)), max(2, round(100 * share)), max(1, round(5 * share))
    found: dict[str, Scenario] = {
        "signals": signals,
        "disk full": disk_full,
        "store deleted": deleted,
        "store damaged": lambda ground, rng: damaged(ground, rng, flips=flips, under=under),
        "clock jumps": clock,
        "two clients": two_clients,
        "kill -9": lambda ground, rng: kills(ground, rng, number - on_cluster),
    }
    if on_cluster:
        found["kill -9 on Dask"] = lambda ground, rng: cluster_kills(ground, rng, on_cluster)
        found["own Dask cluster"] = own_cluster
        found["cut network"] = cut_network
    return found
