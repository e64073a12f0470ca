"""The machine: its present speed regime, and the versions that belong to every figure."""

import json
import os
import platform
import re
import subprocess

from .failure import Failure

THRESHOLD_NS = 250      # between the two regimes seen: about 100 ns and about 500 ns per cache-line round trip
# The packages of the rivals; those that are not installed are left out.
PACKAGES = ('libboost1.81-dev', 'libboost-fiber1.81-dev', 'libuv1', 'nginx-light', 'golang-go', 'libnetty-java',
            'default-jdk-headless', 'librust-tokio-dev', 'rustc')


def probe(build, milliseconds=20):
    """Nanoseconds per cross-core round trip, or None on a machine where one process has a single CPU."""
    if len(os.sched_getaffinity(0)) < 2:
        return None
    done = subprocess.run([os.path.join(build, 'regime_probe'), '--ms', str(milliseconds)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60)
    if done.returncode != 0:
        raise Failure(f'regime_probe: {done.stderr.strip()}')
    return json.loads(done.stdout)['ns_per_round_trip']


def regimeOf(nanoseconds, threshold):
    if nanoseconds is None:
        return 'single'
    return 'fast' if nanoseconds < threshold else 'slow'


def versions(build):
    cache = readText(os.path.join(build, os.pardir, 'CMakeCache.txt'))
    compiler = (re.search(r'^CMAKE_CXX_COMPILER:\w+=(.*)$', cache, re.M) or [None, 'c++'])[1]
    buildType = (re.search(r'^CMAKE_BUILD_TYPE:\w+=(.*)$', cache, re.M) or [None, 'unknown'])[1]
    cpu = re.search(r'^model name\s*:\s*(.*)$', readText('/proc/cpuinfo'), re.M)
    here = os.path.dirname(os.path.abspath(__file__))
    return {
        'kernel': platform.release(),
        'cpu': cpu[1] if cpu else platform.machine(),
        'cpus': sorted(os.sched_getaffinity(0)),
        'compiler': firstLine([compiler, '--version']),
        'build_type': buildType,
        'commit': firstLine(['git', '-C', here, 'rev-parse', '--short', 'HEAD']),
        'uncommitted_files': len(allLines(['git', '-C', here, 'status', '--porcelain'])),
        'python': platform.python_version(),
        'packages': allLines(['dpkg-query', '-W', '-f', '${Package} ${Version}\n', *PACKAGES]),
    }


def readText(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ''


def allLines(command):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.splitlines()


def firstLine(command):
    return (allLines(command) or ['unknown'])[0]
