"""The files that a request walks through: those of the functions that callgrind sees executed once per request or more."""

import os
import re
import tempfile
from dataclasses import dataclass, field, replace

from .counting import tool
from .failure import Failure
from .servers import Server, drive

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHORT, LONG = 500, 2_500            # requests of one connection
PER_REQUEST = 0.9                   # executions that count as once per request: instructions of a function
NAMED = re.compile(r'^(fl|fi|fe|fn|cfl|cfi|cfn)=\((\d+)\)(?: (.*))?$')   # what is called has a c in front


@dataclass
class Walked:
    """A file of the repository, and what is executed of it per request."""
    path: str
    instructions: float = 0
    functions: list = field(default_factory=list)    # (instructions, name), the most expensive one first


def measure(build, implementation, shape, cpus):
    """[Walked], the most expensive file first."""
    short, long = (executed(build, implementation, shape, cpus, requests) for requests in (SHORT, LONG))
    files = {}
    for (path, name), instructions in long.items():
        each = (instructions - short.get((path, name), 0)) / (LONG - SHORT)
        if each >= PER_REQUEST:
            walked = files.setdefault(path, Walked(path))
            walked.instructions += each
            walked.functions.append((each, name))
    for walked in files.values():
        walked.functions.sort(reverse=True)
    if not files:
        raise Failure(f'{implementation.name}: no function has a source line; build with -g1')
    return sorted(files.values(), key=lambda walked: -walked.instructions)


def executed(build, implementation, shape, cpus, requests):
    """{(file, function): instructions}, of functions of the repository."""
    with tempfile.TemporaryDirectory() as directory:
        output = os.path.join(directory, 'callgrind.out')
        wrapper = [tool('valgrind'), '--tool=callgrind', f'--callgrind-out-file={output}']
        slowed = replace(implementation, command=[*implementation.command, *implementation.slowArgs])
        with Server(slowed, cpus[:1], wrapper, implementation.slowEnvironment) as server:
            drive(build, server, implementation.path, {**shape, 'requests': requests, 'check': True}, cpus[1:2] or cpus)
            server.stop()
            complaint = server.complaint()
        if not os.path.exists(output):
            raise Failure(f'{implementation.name}: callgrind wrote nothing. {complaint}')
        with open(output, encoding='utf-8', errors='replace') as lines:
            return costs(lines)


def costs(lines):
    """{(file, function): own cost} of callgrind's lines. Inlined code counts for the function that it is inlined into."""
    names = {}
    found = {}
    where = function = None
    ofCall = False
    for line in lines:
        if match := NAMED.match(line):
            kind, number, name = match.groups()
            key = ('fn' if kind.endswith('fn') else 'fl', number)
            if name:
                names[key] = name
            if kind == 'fl':
                where = names[key]
            elif kind == 'fn':
                function = names[key]
        elif line.startswith('calls='):
            ofCall = True    # the next line has the cost of what was called
        elif line[:1].isdigit() or line[:1] in '+-*':
            fields = line.split()
            if not ofCall and len(fields) == 2 and ours(where):
                place = (os.path.relpath(where, ROOT), function)
                found[place] = found.get(place, 0) + int(fields[1])
            ofCall = False
    return found


def ours(path):
    return path is not None and os.path.isabs(path) and path.startswith(ROOT + '/') and '/build/' not in path
