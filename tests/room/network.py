"""A network that loses, delays and reorders packets: two TUN devices and a relay between them.

It needs root and /dev/net/tun. `tc netem` would need a kernel that has it.
"""

from __future__ import annotations

import fcntl
import heapq
import os
import random
import select
import shutil
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from attrs import define, field

__all__ = ["Lossy", "lossy", "why_not"]

_TUNSETIFF, _TUN, _NO_PI = 0x400454CA, 0x0001, 0x1000
_HERE, _THERE = "10.77.12.1", "10.77.12.2"
_MTU = 2048


@define
class Lossy:
    """The link to a namespace. It counts the packets that it drops and delivers."""

    prefix: tuple[str, ...]
    """The prefix of a command that runs at the other end."""
    address: str
    loss: float
    delay: float
    jitter: float
    dropped: int = 0
    passed: int = 0
    _random: random.Random = field(factory=lambda: random.Random(1))

    def arrival(self, now: float) -> float | None:
        """When a packet that is sent now arrives. None if it is lost."""
        if self._random.random() < self.loss:
            self.dropped += 1
            return None
        self.passed += 1
        return now + self.delay + self._random.random() * self.jitter


def why_not() -> str:
    """Why this machine cannot have such a network; empty if it can."""
    if os.geteuid() != 0:
        return "a network namespace needs root"
    if not Path("/dev/net/tun").exists():
        return "there is no /dev/net/tun"
    if shutil.which("ip") is None:
        return "there is no `ip`: apt-get install iproute2"
    tried = subprocess.run(["ip", "netns", "add", _name()], capture_output=True, check=False)
    subprocess.run(["ip", "netns", "del", _name()], capture_output=True, check=False)
    return "" if tried.returncode == 0 else "network namespaces are not allowed here"


@contextmanager
def lossy(loss: float = 0.0, delay: float = 0.0, jitter: float = 0.0) -> Iterator[Lossy]:
    """A namespace behind a network.

    Args:
        loss: The share of packets that is lost, each way.
        delay: Seconds that every packet takes, each way.
        jitter: Seconds that a packet may take longer; packets overtake each other.
    """
    name = _name()
    _ip("netns", "add", name)
    here, there = _tun(f"{name}a"), _tun(f"{name}b")
    try:
        _ip("link", "set", f"{name}b", "netns", name)
        _ip("addr", "add", f"{_HERE}/30", "dev", f"{name}a")
        _ip("link", "set", f"{name}a", "up")
        inside = ("netns", "exec", name, "ip")
        _ip(*inside, "link", "set", "lo", "up")
        _ip(*inside, "addr", "add", f"{_THERE}/30", "dev", f"{name}b")
        _ip(*inside, "link", "set", f"{name}b", "up")
        # packets come from any address of this machine, and replies need a route back
        _ip(*inside, "route", "add", "default", "via", _HERE)
        network = Lossy(("ip", "netns", "exec", name), _THERE, loss, delay, jitter)
        stop = threading.Event()
        relay = threading.Thread(target=_relay, args=(network, here, there, stop), daemon=True)
        relay.start()
        try:
            yield network
        finally:
            stop.set()
            relay.join()
    finally:
        os.close(here)
        os.close(there)
        _ip("netns", "del", name)


def _name() -> str:
    return f"room{os.getpid() % 100000}"


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def _tun(name: str) -> int:
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH", name.encode(), _TUN | _NO_PI))
    return device


def _relay(network: Lossy, here: int, there: int, stop: threading.Event) -> None:
    """Carry packets between the two devices until told to stop."""
    way: list[tuple[float, int, int, bytes]] = []  # arrival, number, device, packet
    number = 0
    while not stop.is_set():
        now = time.monotonic()
        while way and way[0][0] <= now:
            _, _, device, packet = heapq.heappop(way)
            _write(device, packet)
        wait = min(0.1, way[0][0] - now) if way else 0.1
        for device in select.select([here, there], [], [], max(0.0, wait))[0]:
            packet = os.read(device, _MTU)
            arrives = network.arrival(time.monotonic())
            if arrives is not None:
                number += 1
                other = there if device == here else here
                heapq.heappush(way, (arrives, number, other, packet))


def _write(device: int, packet: bytes) -> None:
    with suppress(BlockingIOError):  # the queue of the device is full: lost
        os.write(device, packet)
