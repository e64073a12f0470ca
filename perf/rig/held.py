"""Connections that a client holds, and the memory that a server holds for them."""

import os
import resource
import subprocess
import time

from .failure import Failure

OWN_DESCRIPTORS = 100       # of a server, besides its connections: nginx, Go and the JVM keep some
SETTLED_KIB = 64            # a smaller change within STEP seconds counts as settled
STEP, PATIENCE = 0.1, 3.0   # seconds


def allowDescriptors(connections):
    """Raises the limit of this process, which the servers inherit."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + OWN_DESCRIPTORS
    if most != resource.RLIM_INFINITY and wanted > most:
        raise Failure(f'{connections} connections: a server needs {wanted} descriptors for them, but may have {most}: '
                      f'ask for at most {most - OWN_DESCRIPTORS}, or raise the limit (ulimit -Hn)')
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted if most == resource.RLIM_INFINITY else most, most))


def measure(build, server, path, use, connections):
    """Resident KiB at the start, with a tenth of the connections, with all, and after they have closed. `use`: None, --tls or
    --half-open of the client."""
    sizes = {'start_kib': residentKiB(server)}
    with Holder(build, server, path, use) as holder:
        holder.hold(connections // 10)
        sizes['tenth_kib'] = residentKiB(server)
        holder.hold(connections)
        sizes['all_kib'] = residentKiB(server)
        holder.hold(connections)    # checks that none was closed meanwhile
    sizes['gone_kib'] = residentKiB(server)
    return sizes


def kibPerConnection(sizes, connections):
    """Of what `measure` found, without what the server holds from its start."""
    return (sizes['all_kib'] - sizes['tenth_kib']) / (connections - connections // 10)


class Holder:
    """The client process."""

    def __init__(self, build, server, path, use):
        self.name = server.name
        command = [os.path.join(build, 'idle_client'), '--connect', server.endpoint, '--path', path, *([use] if use else [])]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def hold(self, connections):
        try:
            self.process.stdin.write(f'{connections}\n')
            self.process.stdin.flush()
        except BrokenPipeError:
            pass    # it has ended; its stderr has the reason
        if self.process.stdout.readline() != f'holding {connections}\n':
            raise Failure(f'{self.name}: {self.process.stderr.read().strip() or "the client ended"}')


def residentKiB(server):
    """Waits until it has settled, at most PATIENCE seconds."""
    deadline = time.monotonic() + PATIENCE
    last = readResident(server)
    while True:
        time.sleep(STEP)
        size = readResident(server)
        if abs(size - last) < SETTLED_KIB or time.monotonic() > deadline:
            return size
        last = size


def readResident(server):
    total = 0
    for pid in server.pids:
        with open(f'/proc/{pid}/status') as status:
            total += next((int(line.split()[1]) for line in status if line.startswith('VmRSS:')), 0)
    return total
