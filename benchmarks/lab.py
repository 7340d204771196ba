"""The lab under load: 200 clients on Build and Bound, each at a human rate, and all of them at the same instant.

    python benchmarks/lab.py --clients 200 --T 64

Starts `sparsehead lab` itself. Clients are plain sockets, which cost a tenth of what an HTTP library costs: they share
the machine with the server. Twenty different heads and bounds are asked for; the first time each is computed.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


class Connection(asyncio.Protocol):
    """One kept connection; `ask` sends a request that is bytes already and waits for the whole answer."""

    def __init__(self) -> None:
        self.transport: Any = None
        self.answer: asyncio.Future[int] | None = None
        self.seen = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.seen += data
        head, ended, body = self.seen.partition(b"\r\n\r\n")
        if not ended or self.answer is None:
            return
        lines = (line.partition(b":") for line in head.lower().split(b"\r\n"))
        length = next(int(value) for name, _, value in lines if name == b"content-length")
        if len(body) >= length:
            self.seen = b""
            self.answer.set_result(int(head[9:12]))

    def connection_lost(self, error: Exception | None) -> None:
        if self.answer is not None and not self.answer.done():
            self.answer.set_exception(ConnectionError("the server hung up"))

    async def ask(self, request: bytes) -> int:
        """The status of the answer."""
        self.answer = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return await self.answer


def request(address: str, token: str, path: str, body: dict[str, Any]) -> bytes:
    """A POST as it goes over the wire."""
    content = json.dumps(body).encode()
    host = urlsplit(address).netloc
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode() + content


async def load(
    address: str, requests: list[bytes], *, clients: int, each: int, pause: float
) -> tuple[list[float], list[int]]:
    """Seconds and statuses of `each` requests of `clients` clients, begun `pause` seconds apart; 0: all at once."""
    where = urlsplit(address)
    loop = asyncio.get_running_loop()
    opened = [await loop.create_connection(Connection, where.hostname, where.port) for _ in range(clients)]
    times: list[float] = []
    statuses: list[int] = []
    begin = loop.time()

    async def one(i: int, connection: Connection) -> None:
        for j in range(each):
            due = begin + pause * (j + i / clients)
            await asyncio.sleep(max(0.0, due - loop.time()))
            start = time.perf_counter()
            statuses.append(await connection.ask(requests[(i + j) % len(requests)]))
            times.append(time.perf_counter() - start)

    await asyncio.gather(*(one(i, connection) for i, (_, connection) in enumerate(opened)))
    for transport, _ in opened:
        transport.close()
    return times, statuses


def bodies(T: int) -> dict[str, list[dict[str, Any]]]:
    """Twenty requests to each endpoint."""
    heads = [{"function": f"x{i} & x{i + 9} & x{i + 30}", "T": T} for i in range(20)]
    bounds = [{"V21": 1.0 + i / 10, "V": 1.0, "QK": 9.4, "BX": 1.42, "T": 100, "m": 1000} for i in range(20)]
    return {"/api/build": heads, "/api/bound": bounds}


def milliseconds(times: list[float]) -> str:
    ordered = sorted(times)
    return f"median {1e3 * statistics.median(ordered):.1f} ms, 99 % {1e3 * ordered[-1 - len(ordered) // 100]:.1f} ms"


def processor_seconds(pid: int) -> float:
    """Processor time that a process has used; Linux."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(
    address: str, token: str, pid: int, *, clients: int, T: int, each: int
) -> dict[str, dict[str, list[float]]]:
    """Times by endpoint and way of asking; an answer that is not 200 is an error."""
    found: dict[str, dict[str, list[float]]] = {}
    for path, asked in bodies(T).items():
        made = [request(address, token, path, body) for body in asked]
        ways = {
            "first time, one client": {"clients": 1, "each": len(made), "pause": 0.0},
            f"{clients} clients, one request a second each": {"clients": clients, "each": each, "pause": 1.0},
            f"{clients} clients at the same instant": {"clients": clients, "each": 1, "pause": 0.0},
            f"{clients} clients without a pause": {"clients": clients, "each": each, "pause": 0.0},
        }
        found[path] = {}
        for name, how in ways.items():
            start, used = time.perf_counter(), processor_seconds(pid)
            times, statuses = asyncio.run(load(address, made, **how))  # type: ignore[arg-type]
            assert set(statuses) == {200}, (path, name, set(statuses))
            found[path][name] = times
            rate = len(times) / (time.perf_counter() - start)
            used = 1e3 * (processor_seconds(pid) - used) / len(times)
            said = f"{milliseconds(times)}, {rate:.0f}/s, processor {used:.2f} ms each"
            print(f"{path}, {name}: {len(times)} answers, {said}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--T", type=int, default=64)
    parser.add_argument("--each", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "sparsehead", "lab", "--no-browser", "--port", "0"]
        server = subprocess.Popen(
            [*command, "--db", str(Path(folder) / "results.db")], stdout=subprocess.PIPE, text=True
        )
        assert server.stdout is not None
        address, _, token = server.stdout.readline().strip().partition("/?token=")
        try:
            measure(address, token, server.pid, clients=given.clients, T=given.T, each=given.each)
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
