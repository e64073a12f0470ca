"""The counts per request of one server. Each function runs it under one instrument; none looks at a clock."""

import os
import shutil
import signal
import tempfile
import time

from .failure import Failure
from .servers import Server, drive

# What can be counted, and the noise that a limit must allow at least (absolute, beside the 2 %).
COUNTS = {
    'syscalls_per_request': 0.02,
    'futex_calls_per_request': 0.01,
    'instructions_per_request': 5,
    'allocations_per_request': 0.01,
    'voluntary_switches_per_request': 0.05,
}
SHORT, LONG = 4_096, 24_576       # lengths of run under strace and callgrind: multiples of 64 connections * depth 16
NATIVE = 200_000                  # length of run at full speed


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
    if 'allocations_per_request' in kinds:
        counts['allocations_per_request'] = run.allocations()
    if 'voluntary_switches_per_request' in kinds:
        counts['voluntary_switches_per_request'] = run.voluntarySwitches()
    return {kind: round(counts[kind], 4) for kind in COUNTS if kind in kinds}, details


class Counting:
    def __init__(self, build, implementation, shape):
        self.build = build
        self.implementation = implementation
        self.shape = shape
        cpus = sorted(os.sched_getaffinity(0))
        self.serverCpus, self.clientCpus = cpus[:1], cpus[1:2] or cpus

    def syscalls(self):
        """{name: calls per request}, of all threads."""
        short, long = self.tracedCalls(SHORT), self.tracedCalls(LONG)
        return {name: max(0.0, (long[name] - short.get(name, 0)) / (LONG - SHORT)) for name in long}

    def tracedCalls(self, requests):
        with tempfile.NamedTemporaryFile(mode='r') as summary:
            wrapper = [tool('strace'), '-f', '-c', '-U', 'calls,name', '-o', summary.name, '--']
            with Server(self.implementation, self.serverCpus, wrapper, wrapperForks=True) as server:
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
        return (self.instructionsOf(LONG) - self.instructionsOf(SHORT)) / (LONG - SHORT)

    def instructionsOf(self, requests):
        with tempfile.TemporaryDirectory() as directory:
            output = os.path.join(directory, 'callgrind.out')
            wrapper = [tool('valgrind'), '--tool=callgrind', f'--callgrind-out-file={output}']
            with Server(self.implementation, self.serverCpus, wrapper) as server:
                self.drive(server, requests)
                server.stop()
                complaint = server.complaint()
            if os.path.exists(output):
                with open(output) as file:
                    for line in file:
                        if line.startswith(('summary:', 'totals:')):
                            return int(line.split()[1])
        raise Failure(f'{self.implementation.name}: callgrind wrote no totals. {complaint}')

    def allocations(self):
        """malloc, calloc, realloc and aligned allocations; operator new comes by malloc."""
        library = os.path.join(self.build, 'alloc_count.so')
        if not os.path.exists(library):
            raise Failure(f'{library} is not built')
        with tempfile.NamedTemporaryFile(mode='r') as output:
            environment = {'LD_PRELOAD': library, 'ALLOC_COUNT_FILE': output.name}
            with Server(self.implementation, self.serverCpus, environment=environment) as server:
                totals = []
                for requests in (LONG, SHORT, LONG):    # the first warms pools and buffers up
                    self.drive(server, requests)
                    totals.append(self.allocationsSoFar(server, output, len(totals) + 1))
        return max(0.0, ((totals[2] - totals[1]) - (totals[1] - totals[0])) / (LONG - SHORT))

    def allocationsSoFar(self, server, output, reports):
        os.kill(server.pid, signal.SIGUSR1)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            output.seek(0)
            lines = output.read().splitlines()
            if len(lines) >= reports:
                return int(lines[reports - 1].rsplit(':', 1)[1].strip(' }'))
            time.sleep(0.01)
        raise Failure(f'{self.implementation.name}: no allocation report came (is it linked statically?)')

    def voluntarySwitches(self):
        """Of all threads, at full speed; the one count here that depends on timing."""
        with Server(self.implementation, self.serverCpus) as server:
            report = self.drive(server, NATIVE, {'server-pid': ','.join(map(str, server.pids))})
        return report['server']['voluntary_switches'] / report['requests']

    def drive(self, server, requests, more=None):
        return drive(self.build, server, self.implementation.path,
                     {**self.shape, 'requests': requests, 'check': None, **(more or {})}, self.clientCpus)


def tool(name):
    path = shutil.which(name)
    if not path:
        raise Failure(f'{name} is not installed: apt-get install {name}')
    return path
