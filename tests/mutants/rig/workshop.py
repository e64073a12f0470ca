"""Compiles, links and runs seeded defects in build/dev/mutants/, beside the programs of the preset dev."""

import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import verdict
from .catalog import ROOT, Failure

BUILD = ROOT / 'build' / 'dev'
MEMORY = 8 << 20  # KiB of address space; a defect may make it allocate without end
CPU_TIME = 4 * verdict.PATIENCE  # seconds; ends a test that spins after this script itself has been killed
TOGETHER = 600  # seconds for all tests of one program that are run together
WAITING = 6  # tests with a defect that may run beside the compilers, since they seem to wait for ever
PASSED = re.compile(r'^\[       OK \] (\S+)(?:, where .*)? \((\d+) ms\)$', re.M)


class Workshop:
    def __init__(self, rounds, mutants):
        """`rounds`: of --repeat; None: a test that misses its defect is looked at again."""
        self.rounds = rounds
        with open(BUILD / 'compile_commands.json', encoding='utf-8') as file:
            self.compilations = {entry['file']: entry['command'] for entry in json.load(file)}
        if re.search(r'^CMAKE_UNITY_BUILD:\w+=(ON|TRUE|1)$', (BUILD / 'CMakeCache.txt').read_text(), re.M):
            raise Failure(f'{BUILD} is a unity build, in which no source file can be exchanged; first: '
                          'cmake --preset strict && cmake --build --preset strict')
        self.links = {}
        self.linker = ' -fuse-ld=lld' if shutil.which('ld.lld') else ''
        self.processors = threading.BoundedSemaphore(os.cpu_count())
        self.workers = ThreadPoolExecutor(os.cpu_count() + WAITING)
        (BUILD / 'mutants').mkdir(exist_ok=True)
        tests = {}
        for mutant in mutants:
            tests.setdefault((mutant.program, transportOf(mutant)), set()).add(mutant.test)
        self.baselines = {place: Baseline(*place, sorted(tests[place])) for place in sorted(tests)}
        with ThreadPoolExecutor(os.cpu_count()) as processors:
            list(processors.map(Baseline.passTogether, self.baselines.values()))

    def outcomes(self, mutants, deadline=None):
        """Yields the (verdict, output) of each, in order; None for those that would have begun after the deadline."""
        return self.workers.map(lambda numbered: self.outcome(*numbered, deadline), enumerate(mutants))

    def outcome(self, number, mutant, deadline):
        place = BUILD / 'mutants' / str(number)
        program = place / os.path.basename(mutant.program)
        try:
            with self.processors:
                if deadline and time.monotonic() > deadline:
                    return None
                place.mkdir(parents=True, exist_ok=True)
                seconds = self.demandPass(mutant)
                self.link(mutant, self.compile(mutant, place), program)
                first = run(program, mutant.test, verdict.limitFor(seconds), transportOf(mutant))
            look = lambda: run(program, mutant.test, verdict.secondLimitFor(seconds), transportOf(mutant))
            return verdict.ofRounds(first, look, self.rounds) if self.rounds else verdict.ofLooks(first, look)
        except Failure as failure:
            return 'SURVIVES', str(failure)
        finally:
            program.unlink(missing_ok=True)

    def demandPass(self, mutant):
        """Returns the seconds that the test takes without the defect; raises Failure if it does not pass."""
        baseline = self.baselines[mutant.program, transportOf(mutant)]
        for _ in range((self.rounds or 1) - 1):
            baseline.alone(mutant.test)
        return baseline.seconds(mutant.test)

    # -w: a defect may cause warnings. The command includes the room's precompiled header.
    def compile(self, mutant, place):
        unit = ROOT / mutant.unit
        whole = self.compiledIn(unit)
        compiler = re.sub(r' -o \S+ -c \S+$', '', self.compilations[str(whole)])
        made = place / f'{whole.name}.o'
        if whole != unit:
            source = unity(mutant, whole, unit.parent, place)
        else:
            source = place / unit.name    # a copy, because a quoted include looks beside its file first
            source.write_text(mutant.planted() if mutant.unit == mutant.file else unit.read_text())
        if mutant.unit != mutant.file:
            headers = shadow(mutant, place)
            compiler = f'{shadowing(compiler, headers)} -iquote {headers}'
        self.made(f'{compiler} -w -iquote {unit.parent} -o {made} -c {source}')
        return made

    def compiledIn(self, unit):
        """The file that the build compiles for a source file: itself, or the one of a unity room that includes it."""
        if str(unit) in self.compilations:
            return unit
        for file in map(Path, self.compilations):
            if file.parent.name == 'Unity' and f'#include "{unit}"' in file.read_text():
                return file
        raise Failure(f'{unit} is not compiled in {BUILD}; first: cmake --build --preset dev')

    def objectOf(self, mutant):
        """Where the build has put the unit's object without the defect."""
        return re.search(r' -o (\S+) -c \S+$', self.compilations[str(self.compiledIn(ROOT / mutant.unit))])[1]

    # The defective object comes before the library with the correct one, so that the linker does not take that. The
    # object of a test source replaces the test's own.
    def link(self, mutant, made, program):
        target = mutant.program
        if target not in self.links:
            commands = self.made(f'ninja -t commands -s {target}')
            self.links[target] = next(part for part in commands.split(' && ') if f' -o {target}' in part)
        command = self.links[target].replace(f' {self.objectOf(mutant)} ', ' ')
        folder, name = os.path.split(target)
        first = command.index(f'{folder}/CMakeFiles/{name}.dir/')
        self.made(f'{command[:first]}{made} {command[first:]}'.replace(f' -o {target}', f' -o {program}') + f' -Wl,-S{self.linker}')

    def made(self, command):
        ended = subprocess.run(command, shell=True, cwd=BUILD, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               check=False)
        if ended.returncode != 0:
            raise Failure(f'this does not work:\n{command}\n{ended.stdout}')
        return ended.stdout


class Baseline:
    """The tests of a program that must notice defects on a transport, without a defect: all in one run; one that does
    not pass there runs once more, alone."""

    def __init__(self, program, transport, tests):
        self.program = BUILD / program
        self.transport = transport
        self.tests = tests
        self.passed = {}

    def passTogether(self):
        if len(self.tests) > 1:
            _, said = run(self.program, ':'.join(self.tests), TOGETHER, self.transport)
            self.passed = {test: int(milliseconds) / 1000 for test, milliseconds in PASSED.findall(said)}

    def seconds(self, test):
        """How long the test takes; raises Failure if it does not pass."""
        if test not in self.passed:
            self.passed[test] = self.alone(test)
        return self.passed[test]

    def alone(self, test):
        _, said = run(self.program, test, verdict.PATIENCE, self.transport)
        passed = re.search(r'^\[  PASSED  \] 1 test\.$', said, re.M)
        if not passed:
            raise Failure('there is no such test' if not verdict.begun(test, said)
                          else f'the test does not pass without the defect:\n{said}')
        return int(re.search(r'ran\. \((\d+) ms total\)', said)[1]) / 1000


def unity(mutant, whole, folder, place):
    """Writes a copy of the folder's sources with the defect, and of the file that includes them."""
    copies = place / folder.name
    shutil.copytree(folder, copies, dirs_exist_ok=True)
    if (ROOT / mutant.file).parent == folder:
        (copies / Path(mutant.file).name).write_text(mutant.planted())
    source = place / whole.name
    source.write_text(whole.read_text().replace(f'"{folder}/', f'"{copies}/'))
    return source


# Writes a copy of the header with the defect, under the name by which sources include it; of a private one also copies of
# its neighbours, because a quoted include in one of those looks beside it first.
def shadow(mutant, place):
    name = re.sub(r'^\w+/(?:(?:asio|http)/)?(?:include|src)/', '', mutant.file)
    header = place / 'include' / name
    header.parent.mkdir(parents=True, exist_ok=True)
    if '/src/' in mutant.file:
        for neighbour in (ROOT / mutant.file).parent.glob('*.hpp'):
            shutil.copy(neighbour, header.parent)
    header.write_text(mutant.planted())
    return place / 'include'


def shadowing(compiler, headers):
    """The command that searches `headers` first, without the precompiled header, which contains the original."""
    return re.sub(r' (-Winvalid-pch|-include \S*/cmake_pch\.hxx)(?= |$)', '', compiler).replace(' -I', f' -I{headers} -I', 1)


def transportOf(mutant):
    return 'io_uring' if '/uring/' in mutant.unit else 'epoll'


def run(program, test, limit, transport):
    """(verdict, output) of a program's run with this test alone, on this transport unless the test selects one."""
    command = ['sh', '-c', f'ulimit -v {MEMORY}; ulimit -t {CPU_TIME}; exec "$0"', program]
    environment = {**os.environ, 'WEFT_TRANSPORT': transport, 'GTEST_FILTER': test}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors='replace', env=environment,
                          start_new_session=True) as began:
        try:
            said, _ = began.communicate(timeout=limit)
            status = began.returncode
        except subprocess.TimeoutExpired as expired:
            said, status = (expired.stdout or b'').decode(errors='replace'), None
        finally:
            endAll(began.pid)
    return verdict.of(test, status, said, limit), said


def endAll(leader):
    """Ends what is left of a test's processes; a death test that hangs leaves one."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        pass
