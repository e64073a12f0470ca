"""The table of perf/scenarios.py, joined with the programs that a build directory has."""

import os
import shutil
from dataclasses import dataclass, field

from scenarios import SCENARIOS

from .failure import Failure

PERF = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@dataclass(frozen=True)
class Shape:
    """The parameters that all compared implementations share."""
    depth: int
    connections: int
    think_ms: int = None        # of the backend; None: there is none
    message_bytes: int = None   # of an echo; None: requests and answers are HTTP
    varied: bool = None         # True: requests with a browser's headers, a cookie per client and an id per request
    tls: bool = None            # True: over TLS
    handshakes: str = None      # 'full' or 'resumed': over TLS, each request on a connection of its own

    def __str__(self):
        text = f'depth {self.depth}, {self.connections} connections'
        if self.think_ms is not None:
            text += f', backend thinks {self.think_ms} ms'
        if self.message_bytes is not None:
            text += f', messages of {inUnits(self.message_bytes)}'
        if self.varied:
            text += ', varied headers'
        if self.handshakes:
            text += f', {self.handshakes} handshakes'
        elif self.tls:
            text += ', over TLS'
        return text

    def clientFlags(self):
        """The flags of the load generator for this shape."""
        flags = {'connections': self.connections, 'depth': self.depth}
        if self.varied:
            flags['varied'] = True
        if self.handshakes:
            flags['handshakes'] = self.handshakes
        elif self.tls:
            flags['tls'] = True
        return flags if self.message_bytes is None else {**flags, 'echo': self.message_bytes}


def inUnits(size):
    for unit, name in ((1 << 20, 'MiB'), (1 << 10, 'KiB')):
        if size % unit == 0:
            return f'{size // unit} {name}'
    return f'{size} bytes'


@dataclass
class Implementation:
    name: str
    command: list
    path: str                   # None: the server echoes
    depths: list
    canned: bool = False
    announces: bool = True      # prints "listening on ADDR:PORT"; otherwise it is given a free port
    warmup: int = 0             # ms, at least this long before a sample
    environment: dict = field(default_factory=dict)
    # Further arguments and variables under strace or valgrind, which slow the program down.
    slowArgs: list = field(default_factory=list)
    slowEnvironment: dict = field(default_factory=dict)
    targets: dict = field(default_factory=dict)
    differing: str = None       # a header whose value differs in each answer
    tls: bool = False           # it is asked over TLS
    bodyBytes: int = None       # of its answer; None: "Hello, World!"

    def commandLine(self):
        """Its command, preceded by its variables, in the syntax of a shell."""
        return [*(f'{name}={value}' for name, value in self.environment.items()), *self.command]


def findBuild(given):
    """The directory with the programs: DIR/perf or DIR itself; by default the usual build directories."""
    root = os.path.dirname(PERF)
    candidates = [given] if given else [os.path.join(root, 'build', 'perf'), os.path.join(root, 'build', 'release'),
                                        os.path.join(root, 'build')]
    for candidate in candidates:
        for directory in (os.path.join(candidate, 'perf'), candidate):
            if os.access(os.path.join(directory, 'light_client'), os.X_OK):
                return os.path.abspath(directory)
    raise Failure(f'no light_client under {" or ".join(candidates)}: build with -DWEFT_PERF=ON and pass --build DIR')


def scenario(name):
    if name not in SCENARIOS:
        raise Failure(f'unknown scenario {name}: there are {", ".join(SCENARIOS)}')
    return SCENARIOS[name]


def programOf(scenarioName, name, entry):
    return entry.get('program', f'{scenarioName}_{name}')


def implementations(scenarioName, build, wanted=None):
    """The runnable implementations in table order, the floor first. `wanted` names the ones that must be there."""
    table = scenario(scenarioName)
    entries = dict(table['implementations'])
    mentioned = {programOf(scenarioName, name, entry) for name, entry in entries.items()}
    prefix = scenarioName + '_'
    for program in sorted(os.listdir(build)):
        if program.startswith(prefix) and program not in mentioned and shutil.which(os.path.join(build, program)):
            entries[program[len(prefix):]] = {'program': program}
    for name in wanted or []:
        if name not in entries:
            raise Failure(f'{scenarioName} has no implementation {name}: there are {", ".join(entries)}')
    chosen, missing = [], []
    for name, entry in entries.items():
        if wanted and name not in wanted:
            continue
        own = [os.path.join(build, programOf(scenarioName, name, entry)), *entry.get('args', []), *table.get('args', [])]
        command = entry.get('command', own)
        if not shutil.which(command[0]):
            missing.append(name + (f' (apt-get install {entry["package"]}, then configure and build)' if 'package' in entry else ''))
            continue
        chosen.append(Implementation(name, command, entry.get('path', table.get('path')),
                                     entry.get('depths', table['depths']), entry.get('canned', False),
                                     entry.get('announces', 'command' not in entry), entry.get('warmup', 0),
                                     entry.get('environment', {}), entry.get('slow_args', []), entry.get('slow_environment', {}),
                                     entry.get('targets', {}), table.get('differing'), table.get('tls', False),
                                     table.get('body_bytes')))
    if wanted and missing:
        raise Failure(f'not built in {build}: {", ".join(missing)}')
    if not chosen:
        raise Failure(f'no implementation of {scenarioName} is built in {build}')
    return sorted(chosen, key=lambda each: each.name != table['floor']), missing
