"""The memory that a request touches. The accesses of a server are divided at each receive and send, where the kernel may
evict lines from the cache. So a line that is touched before and after one counts twice.
"""

import collections
import os
import re
import subprocess
import tempfile
import threading
from dataclasses import dataclass

from .counting import tool
from .failure import Failure
from .servers import Server, drive

LINE, PAGE = 64, 4_096              # bytes
ROUNDS = 16                         # requests of each connection
WARM = 6                            # rounds left out at the beginning; the last round is left out, too
# Functions of the C library. Weft receives and sends by instructions of its own (SystemCalls), which are inlined.
OF_LIBC = re.compile(r'(recv|recvfrom|recvmsg|read|readv|send|sendto|sendmsg|write|writev)@')
OURS = re.compile(r'^\s*([0-9a-f]+):\s+syscall\s*$', re.MULTILINE)


@dataclass(frozen=True)
class Touched:
    """Means over requests."""
    instructions: float
    codeLines: float
    codePages: float
    commonLines: float   # of data, touched in more than a quarter as many stretches as there are requests
    ownLines: float      # the other lines of data


def measure(build, implementation, connections, backend=None):
    with tempfile.TemporaryDirectory() as directory:
        pipe = os.path.join(directory, 'trace')
        os.mkfifo(pipe)
        trace = Trace(pipe)
        wrapper = [tool('valgrind'), '--tool=lackey', '--trace-mem=yes', f'--log-file={pipe}']
        with Server(implementation, sorted(os.sched_getaffinity(0))[:1], wrapper, backend=backend) as server:
            trace.cutAt(callAddresses(server))
            drive(build, server, implementation.path,
                  {'connections': connections, 'depth': 1, 'requests': connections * ROUNDS, 'check': True,
                   **({'body': backend.body} if backend else {})})
            server.stop()
        return summary(trace.stretches(), connections)


def callAddresses(server):
    """The addresses of the server's functions that receive and send."""
    found, seen, library = set(), set(), False
    with open(f'/proc/{server.pid}/maps') as maps:
        for fields in map(str.split, maps):
            path = fields[-1]
            if path in seen or not path.startswith('/'):
                continue
            seen.add(path)
            base = int(fields[0].split('-')[0], 16) - int(fields[2], 16)
            if path.endswith('/libc.so.6'):
                library = True
                found |= {base + offset for offset in offsets(path, OF_LIBC)}
            elif os.path.basename(path) == os.path.basename(server.command[0]):
                found |= {base + offset for offset in systemCalls(path)}
    if not found or not library:
        raise Failure('no function that receives or sends was found; it may be linked statically or use io_uring')
    return found


def systemCalls(path):
    listed = subprocess.run([tool('objdump'), '-d', '--no-show-raw-insn', path], stdout=subprocess.PIPE, text=True, check=True)
    return [int(address, 16) for address in OURS.findall(listed.stdout)]


def offsets(path, functions):
    command = [tool('nm'), '--defined-only', '-D', path]
    listed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    for line in listed.stdout.splitlines():
        address, _, name = line.split(maxsplit=2)
        if functions.match(name):
            yield int(address, 16)


@dataclass
class Stretch:
    """The accesses from one receive or send to the next."""
    code: set
    data: set
    instructions: int = 0


class Trace:
    """Reads what valgrind writes to a pipe, on a thread of its own, so that the server never waits long."""

    def __init__(self, path):
        self.cuts = frozenset()
        self.found = []
        self.reader = threading.Thread(target=self.read, args=(path,), daemon=True)
        self.reader.start()

    def cutAt(self, addresses):
        """Divides from now on; drops everything before, which is the start of the program."""
        self.cuts = frozenset(addresses)

    def stretches(self):
        self.reader.join()
        return self.found

    def read(self, path):
        stretch = None
        with open(path, 'rb') as lines:
            while not self.cuts and lines.read(1 << 20):    # at full speed, so that the program starts as fast as valgrind allows
                pass
            for line in lines:
                if line[:1] not in b'I ':
                    continue
                address, _, size = line[3:].partition(b',')
                if line[:1] == b'I':
                    address = int(address, 16)
                    if address in self.cuts:
                        if stretch:
                            self.found.append(stretch)
                        stretch = Stretch(set(), set())
                    if stretch:
                        stretch.instructions += 1
                        stretch.code.add(address // LINE)
                elif stretch:
                    first = int(address, 16)
                    stretch.data.update(range(first // LINE, (first + int(size) - 1) // LINE + 1))


def summary(stretches, connections):
    if len(stretches) < connections * ROUNDS:
        raise Failure(f'its {len(stretches)} calls are too few for {connections * ROUNDS} requests')
    warm = stretches[len(stretches) * WARM // ROUNDS:len(stretches) * (ROUNDS - 1) // ROUNDS]
    requests = connections * (ROUNDS - 1 - WARM)
    visits = collections.Counter(line for stretch in warm for line in stretch.data)
    common = {line for line, count in visits.items() if count > requests / 4}

    def each(amount):
        return sum(map(amount, warm)) / requests
    return Touched(each(lambda stretch: stretch.instructions), each(lambda stretch: len(stretch.code)),
                   each(lambda stretch: len({line * LINE // PAGE for line in stretch.code})),
                   each(lambda stretch: len(stretch.data & common)), each(lambda stretch: len(stretch.data - common)))
