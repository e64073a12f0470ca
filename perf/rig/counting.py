"""The counts per request of one server, what it holds for an idle connection, and the margins of their limits. Each function
runs the server under one instrument. No count is a time.
"""

import json
import os
import shutil
import signal
import tempfile
import time
from dataclasses import dataclass, replace

from . import held
from .failure import Failure
from .servers import Server, drive


@dataclass(frozen=True)
class Kind:
    margin: float       # of a limit, at least: perf/counts allows this or 2 %, whichever is more
    refuses: bool       # --check fails when it is over its limit; otherwise it only says so


# What can be counted. How many requests share a turn decides how often a server waits, sleeps and wakes, and that depends on
# the speed of both CPUs; so those counts are only reported.
COUNTS = {
    'syscalls_per_request': Kind(0.02, refuses=False),
    'futex_calls_per_request': Kind(0.01, refuses=False),
    'instructions_per_request': Kind(5, refuses=True),
    'allocations_per_request': Kind(0.01, refuses=True),
    'copied_bytes_per_request': Kind(16, refuses=True),
    'voluntary_switches_per_request': Kind(0.05, refuses=False),
    'resident_bytes_per_connection': Kind(256, refuses=True),
}
MARGIN = 1.02                     # of a limit to its count
SHORT, LONG = 4_096, 24_576       # lengths of run under strace and callgrind: multiples of 64 connections * depth 16
NATIVE = 200_000                  # length of run at full speed
STEADY = 4_096                    # least length of a run whose allocations are counted: at full speed, pools grow by chance
LARGE = 1024                      # bytes: echo messages of n * LARGE divide all lengths of run by n
HANDSHAKES = 64                   # of their kind make a 64th of the requests: each takes a million instructions
HELD = 10_000                     # idle connections
FEW = 8                           # n connections, fewer than this, make FEW / n times fewer requests: each waits for an answer


def kindsOf(implementation, shape):
    """What can be counted of it: an idle connection has had one HTTP request."""
    stays = implementation.path and 'handshakes' not in shape
    return [kind for kind in COUNTS if stays or kind != 'resident_bytes_per_connection']


def usualLimit(kind, count):
    """The limit that `count` gets."""
    return round(max(count * MARGIN, count + COUNTS[kind].margin), 3)


def measure(build, implementation, shape, kinds):
    """{kind: count per request} for `kinds`, and lines of detail to print."""
    run = Counting(build, implementation, shape)
    counts, details = {}, []
    if {'syscalls_per_request', 'futex_calls_per_request'} & set(kinds):
        calls = run.syscalls()
        counts['syscalls_per_request'] = sum(calls.values())
        counts['futex_calls_per_request'] = calls.get('futex', 0.0)
        busy = sorted(((count, name) for name, count in calls.items() if count >= 0.001), reverse=True)
        details.append('system calls: ' + ', '.join(f'{name} {count:.3f}' for count, name in busy))
    if 'instructions_per_request' in kinds:
        counts['instructions_per_request'] = run.instructions()
    if {'allocations_per_request', 'copied_bytes_per_request'} & set(kinds):
        heap = run.heap()
        counts['allocations_per_request'] = heap['total']
        counts['copied_bytes_per_request'] = heap['copied']
    if 'voluntary_switches_per_request' in kinds:
        counts['voluntary_switches_per_request'] = run.voluntarySwitches()
    if 'resident_bytes_per_connection' in kinds:
        counts['resident_bytes_per_connection'] = run.residentBytes()
    return {kind: round(counts[kind], 4) for kind in COUNTS if kind in kinds}, details


class Counting:
    def __init__(self, build, implementation, shape):
        self.build = build
        self.implementation = implementation
        self.shape = shape
        fewer = max(1, shape.get('echo', 0) // LARGE, FEW // shape['connections'])
        if 'handshakes' in shape:
            fewer *= HANDSHAKES
        self.short, self.long, self.native = (length // fewer for length in (SHORT, LONG, NATIVE))
        cpus = sorted(os.sched_getaffinity(0))
        self.serverCpus, self.clientCpus = cpus[:1], cpus[1:2] or cpus

    def syscalls(self):
        """{name: calls per request}, of all threads."""
        short, long = self.tracedCalls(self.short), self.tracedCalls(self.long)
        return {name: max(0.0, (long[name] - short.get(name, 0)) / (self.long - self.short)) for name in long}

    def tracedCalls(self, requests):
        with tempfile.NamedTemporaryFile(mode='r') as summary:
            wrapper = [tool('strace'), '-f', '-c', '-U', 'calls,name', '-o', summary.name, '--']
            with Server(self.slowed(), self.serverCpus, wrapper, self.implementation.slowEnvironment,
                        wrapperForks=True) as server:
                self.drive(server, requests)
            calls = {}
            for line in summary:
                fields = line.split()
                if len(fields) == 2 and fields[0].isdigit() and fields[1] != 'total':
                    calls[fields[1]] = calls.get(fields[1], 0) + int(fields[0])
        if not calls:
            raise Failure(f'{self.implementation.name}: strace reported nothing (is ptrace allowed here?)')
        return calls

    def instructions(self):
        """User-space instructions, of all threads."""
        return (self.instructionsOf(self.long) - self.instructionsOf(self.short)) / (self.long - self.short)

    def slowed(self):
        return replace(self.implementation, command=[*self.implementation.command, *self.implementation.slowArgs])

    def instructionsOf(self, requests):
        with tempfile.TemporaryDirectory() as directory:
            output = os.path.join(directory, 'callgrind.out')
            wrapper = [tool('valgrind'), '--tool=callgrind', f'--callgrind-out-file={output}']
            with Server(self.slowed(), self.serverCpus, wrapper, self.implementation.slowEnvironment) as server:
                self.drive(server, requests)
                server.stop()
                complaint = server.complaint()
            if os.path.exists(output):
                with open(output) as file:
                    for line in file:
                        if line.startswith(('summary:', 'totals:')):
                            return int(line.split()[1])
        raise Failure(f'{self.implementation.name}: callgrind wrote no totals. {complaint}')

    def heap(self):
        """Per request: allocations ("total": malloc, calloc, realloc and aligned; operator new calls malloc), and bytes
        copied in pieces of 512 or more ("copied")."""
        library = os.path.join(self.build, 'alloc_count.so')
        if not os.path.exists(library):
            raise Failure(f'{library} is not built')
        steady = max(self.long, STEADY)
        with tempfile.NamedTemporaryFile(mode='r') as output:
            environment = {'LD_PRELOAD': library, 'ALLOC_COUNT_FILE': output.name}
            with Server(self.implementation, self.serverCpus, environment=environment) as server:
                reports = []
                for requests in (steady, self.short, steady):    # the first one warms up pools and buffers
                    self.drive(server, requests)
                    reports.append(self.heapSoFar(server, output, len(reports) + 1))
        first, second, third = reports
        return {name: max(0.0, (third[name] - 2 * second[name] + first[name]) / (steady - self.short))
                for name in ('total', 'copied')}

    def heapSoFar(self, server, output, reports):
        os.kill(server.pid, signal.SIGUSR1)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            output.seek(0)
            lines = output.read().splitlines(keepends=True)
            if len(lines) >= reports and lines[reports - 1].endswith('\n'):
                return json.loads(lines[reports - 1])
            time.sleep(0.01)
        raise Failure(f'{self.implementation.name}: no allocation report came (is it linked statically?)')

    def voluntarySwitches(self):
        """Of all threads, at full speed; the one count here that depends on timing."""
        with Server(self.implementation, self.serverCpus) as server:
            report = self.drive(server, self.native, {'server-pid': ','.join(map(str, server.pids))})
        return report['server']['voluntary_switches'] / report['requests']

    def residentBytes(self):
        """Of an idle connection that has had one request."""
        held.allowDescriptors(HELD)
        use = '--tls' if self.implementation.tls else None
        with Server(self.implementation, self.serverCpus) as server:
            sizes = held.measure(self.build, server, self.implementation.path, use, HELD)
        return held.kibPerConnection(sizes, HELD) * 1024

    def drive(self, server, requests, more=None):
        return drive(self.build, server, self.implementation.path,
                     {**self.shape, 'requests': requests, 'check': True, **(more or {})}, self.clientCpus)


def tool(name):
    path = shutil.which(name)
    if not path:
        raise Failure(f'{name} is not installed: apt-get install {name}')
    return path
