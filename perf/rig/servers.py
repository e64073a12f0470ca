"""Starting, pinning and stopping a server under measurement, and running the light client against it."""

import json
import os
import secrets
import signal
import socket
import subprocess
import tempfile
import time

from .failure import Failure

START_SECONDS = 30      # a server under callgrind is slow to start
STOP_SECONDS = 20


def pin(cpus):
    """A preexec function that confines the child to `cpus`, or None for no confinement."""
    return (lambda: os.sched_setaffinity(0, cpus)) if cpus else None


def children(pid):
    found = []
    try:
        for task in os.listdir(f'/proc/{pid}/task'):
            with open(f'/proc/{pid}/task/{task}/children') as file:
                found += [int(child) for child in file.read().split()]
    except OSError:
        pass
    return found


class Server:
    """A running server; use as a context manager. `wrapper` is put before its command (strace, valgrind)."""

    def __init__(self, implementation, cpus=None, wrapper=(), environment=None, wrapperForks=False,
                 backend=None):
        self.name = implementation.name
        self.wrapperForks = wrapperForks
        self.stopped = False
        command = list(implementation.command)
        self.host, self.port = '127.0.0.1', 0
        if implementation.announces:
            command += ['--listen', '127.0.0.1:0']
        else:
            self.port = freePort()
            command = [part.replace('{host}', self.host).replace('{port}', str(self.port)) for part in command]
        if backend:
            command = [part.replace('{backend}', backend.endpoint) for part in command]
        self.command = command
        self.errors = tempfile.TemporaryFile(mode='w+')
        self.output = tempfile.NamedTemporaryFile(mode='r')
        try:
            with open(self.output.name, 'w') as output:
                self.process = subprocess.Popen([*wrapper, *command], stdin=subprocess.DEVNULL, stdout=output,
                                                stderr=self.errors, preexec_fn=pin(cpus),
                                                env={**os.environ, **implementation.environment, **(environment or {})})
        except OSError as error:
            raise Failure(f'{self.name}: cannot start {command[0]}: {error.strerror}') from error
        try:
            self.awaitReady()
        except BaseException:
            self.kill()
            raise

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None and not self.stopped:
            self.stop()
        else:
            self.kill()

    @property
    def endpoint(self):
        return f'{self.host}:{self.port}'

    @property
    def pid(self):
        """The server's own process, below a wrapper that forks."""
        below = children(self.process.pid) if self.wrapperForks else []
        return below[0] if below else self.process.pid

    @property
    def pids(self):
        """The server's process and all its descendants."""
        found = [self.pid]
        for pid in found:
            found += children(pid)
        return found

    def awaitReady(self):
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                status = self.process.returncode
                raise Failure(f'{self.name}: exited with status {status} before it listened. {self.complaint()}')
            if self.isReady():
                return
            time.sleep(0.005)
        raise Failure(f'{self.name}: did not listen within {START_SECONDS} s. {self.complaint()}')

    def isReady(self):
        if self.port:
            with socket.socket() as probe:
                return probe.connect_ex((self.host, self.port)) == 0
        with open(self.output.name) as output:
            for line in output:
                if line.startswith('listening on ') and line.endswith('\n'):
                    self.host, port = line.split()[-1].rsplit(':', 1)
                    self.port = int(port)
                    return True
        return False

    def complaint(self):
        self.errors.seek(0)
        lines = self.errors.read().strip().splitlines()
        return 'It said: ' + ' | '.join(lines[-3:]) if lines else 'It said nothing.'

    def stop(self):
        """Sends SIGTERM to the server and returns its exit status (of the wrapper, if there is one)."""
        if self.process.poll() is not None:
            raise Failure(f'{self.name}: ended by itself with status {self.process.returncode}. {self.complaint()}')
        self.stopped = True
        os.kill(self.pid, signal.SIGTERM)
        try:
            return self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failure(f'{self.name}: still running {STOP_SECONDS} s after SIGTERM') from None

    def kill(self):
        if self.process.poll() is None:
            for pid in reversed(self.pids):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        self.process.wait()


class Backend(Server):
    """The running backend of perf/load, whose body a server can only know by calling it."""

    def __init__(self, build, thinkMs, cpus=None):
        self.body = secrets.token_hex(6) + '!'    # 13 bytes, as "Hello, World!"
        program = os.path.join(build, 'backend')
        super().__init__(Program('backend', [program, '--think-us', str(thinkMs * 1000), '--body', self.body]), cpus)


class Program:
    """The fields that Server needs, for a program that is no implementation of a scenario."""

    announces = True
    environment = {}

    def __init__(self, name, command):
        self.name, self.command = name, command


def freePort():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def drive(build, server, path, options, cpus=None, seconds=300, histogram=False):
    """One run of the light client: its JSON report. `path` may be None, for an echo. `options` maps flag names to values
    (True: a bare flag)."""
    command = [os.path.join(build, 'light_client'), '--connect', server.endpoint, *(['--path', path] if path else [])]
    for name, value in options.items():
        command += [f'--{name}'] if value is True else [f'--{name}', str(value)]
    with tempfile.NamedTemporaryFile(mode='r') as latencies:
        report = runClient(server, [*command, '--histogram', latencies.name] if histogram else command, cpus, seconds)
        if histogram:
            report['histogram'] = [[int(number) for number in line.split()] for line in latencies]
    return {**report, 'command': command}


def runClient(server, command, cpus, seconds):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=seconds,
                              preexec_fn=pin(cpus))
    except subprocess.TimeoutExpired:
        raise Failure(f'{server.name}: the client did not finish within {seconds} s ({" ".join(command)})') from None
    if not done.stdout.strip():
        raise Failure(f'{server.name}: {done.stderr.strip() or "the client printed nothing"}')
    report = json.loads(done.stdout)
    if done.returncode != 0:
        raise Failure(f'{server.name}: {report["errors"]} errors, {report["requests"]} requests. {done.stderr.strip()}')
    return report
