#!/usr/bin/env python3
"""perf/run fails if and only if an implementation failed: a sample that the machine disturbed is no failure. It writes
a compact summary; with --keep-samples it also writes the samples, to separate files. It measures the programs that are
built, and names the package of each one that is not."""

import importlib.machinery
import importlib.util
import json
import os
import re
import tempfile
import types
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def perfRun():
    loader = importlib.machinery.SourceFileLoader('perf_run', os.path.join(ROOT, 'perf', 'run'))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader('perf_run', loader))
    loader.exec_module(module)
    return module


class Samples(unittest.TestCase):
    def setUp(self):
        self.run_ = perfRun()
        self.options = types.SimpleNamespace(warmup_ms=1, duration_ms=1, serverCpus=[0], clientCpus=[0], threshold_ns=100, keep_samples=False)
        self.implementation = types.SimpleNamespace(warmup=0, path='/none', name='weft', bodyBytes=None)
        self.run_.machine.probe = lambda build: 50

    def take(self, server, openLoop=None):
        self.run_.Server = server
        shape = self.run_.catalog.Shape(1, 64, None, None)
        sample = self.run_.takeSample(self.options, '/none', self.implementation, shape, openLoop, None)
        return {'implementation': 'weft', **sample}

    def test_a_server_that_ends_by_a_signal_fails_the_run(self):
        def crashes(*_, **__):
            raise self.run_.Failure('weft ended by signal 11')
        sample = self.take(crashes)
        self.assertFalse(sample['kept'])
        with self.assertRaisesRegex(self.run_.Failure, '1 of 2 samples failed, of weft: weft ended by signal 11'):
            self.run_.requireNoFailure([sample, {'kept': True, 'implementation': 'floor'}])

    def test_a_sample_that_the_machine_spoilt_does_not(self):
        class Runs:
            pids = [1]
            def __init__(self, *_, **__): pass
            def __enter__(self): return self
            def __exit__(self, *_): return False
        sample = self.take(Runs, openLoop=(50, {}))  # this regime's maximum was not measured
        self.assertFalse(sample['kept'])
        self.assertIn('is not known', sample['why'])
        self.run_.requireNoFailure([sample])


class Results(unittest.TestCase):
    def setUp(self):
        self.run_ = perfRun()
        self.run_.machine.versions = lambda build: {'commit': 'abc'}
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.options = types.SimpleNamespace(scenario='plaintext', aa=None, results=directory.name, keep_samples=False,
                                             topology='pinned', serverCpus=[0], clientCpus=[1], threshold_ns=250)

    def sample(self, **more):
        client = {'histogram': [[1000, 2]]} if more.get('load') else {}
        return {'implementation': 'weft', 'depth': 1, 'connections': 64, 'think_ms': None, 'message_bytes': None, 'load': None,
                'round': 0, 'kept': True, 'regime': 'fast', 'client': client,
                **dict.fromkeys(self.run_.report.FIELDS, 123456.789), **more}

    def save(self, samples):
        weft = self.run_.catalog.Implementation('weft', ['/tmp/b/plaintext_weft', '--transport', 'epoll'], '/', [1],
                                                environment={'WEFT_TRACE_EVENTS': '1'})
        rows = self.run_.report.summarise(samples, 'weft')
        return self.run_.save(self.options, '/tmp/b', [('weft', weft)], samples, rows)

    def test_only_a_summary_is_written(self):
        path, = self.save([self.sample(), self.sample(load=50)])
        with open(path) as file:
            text = file.read()
        content = json.loads(text)
        self.assertNotIn('samples', content)
        self.assertEqual(content['implementations'], {'weft': 'WEFT_TRACE_EVENTS=1 plaintext_weft --transport epoll'})
        self.assertEqual([row['rps'] for row in content['summary']], [123460, 123460])
        self.assertEqual(sum('"regime"' in line for line in text.splitlines()), 2)  # one row per line

    def test_samples_and_histograms_are_kept_on_demand_in_files_of_their_own(self):
        self.options.keep_samples = True
        written = self.save([self.sample(), self.sample(load=50)])
        self.assertEqual([os.path.splitext(path)[1] for path in written], ['.json', '.samples', '.histograms'])
        with open(written[1]) as file:
            self.assertEqual([json.loads(line)['rps'] for line in file], [123456.789, 123456.789])
        with open(written[2]) as file:
            self.assertEqual([json.loads(line)['ns_count'] for line in file], [[[1000, 2]]])

    def test_a_figure_is_rounded_once(self):
        # Stored as 1.065, it would be shown as 1.06 or 1.07 by chance.
        self.assertEqual(self.run_.results.rounded([1.0650165, 2.0, 0.123456, 3]), [1.06502, 2, 0.12346, 3])

    def test_a_command_has_no_path_of_this_machine(self):
        self.assertEqual(self.run_.results.commandLine(['/a/b/weft', '--results=/tmp/r', '--build', 'build/perf', '{backend}']),
                         'weft --results=r --build build/perf {backend}')


class Programs(unittest.TestCase):
    """The programs of the scenarios in a build directory."""

    def setUp(self):
        self.run_ = perfRun()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.build = directory.name

    def buildProgram(self, name):
        os.close(os.open(os.path.join(self.build, name), os.O_CREAT, 0o755))

    def find(self, wanted=None):
        return self.run_.catalog.implementations('backend_call', self.build, wanted)

    def test_one_that_is_not_built_is_skipped_with_the_package_that_it_needs(self):
        self.buildProgram('backend_call_weft_split')
        self.buildProgram('backend_call_go')
        chosen, missing = self.find()
        self.assertEqual([each.name for each in chosen], ['weft_split', 'go'])
        self.assertIn('boost_fiber (apt-get install libboost-fiber1.81-dev, then configure and build)', missing)
        self.assertIn('beast_spawn', missing)    # Weft itself needs the packages of this one

    def test_one_that_is_wanted_and_not_built_fails_the_run(self):
        self.buildProgram('backend_call_weft_split')
        with self.assertRaisesRegex(self.run_.Failure, r'not built in .*: go \(apt-get install golang-go'):
            self.find(['weft_split', 'go'])

    def test_go_runs_goroutines_on_one_thread(self):
        self.buildProgram('backend_call_go')
        go, = self.find(['go'])[0]
        self.assertEqual([go.commandLine()[0], *go.command[1:]], ['GOMAXPROCS=1', '--backend', '{backend}'])

    def test_setup_installs_the_packages_that_they_need(self):
        with open(os.path.join(ROOT, 'scripts', 'packages')) as file:
            rivals = re.search(r'^\[rivals\]\n(.*?)(?:\n\[|\Z)', file.read(), re.M | re.S)[1].split()
        needed = {name for scenario in self.run_.SCENARIOS.values() for entry in scenario['implementations'].values()
                  for name in entry.get('package', '').split()}
        self.assertIn('libboost-fiber1.81-dev', needed)
        self.assertEqual(needed - set(rivals), set())

    def test_each_source_that_calls_a_backend_is_given_its_address(self):
        entries = self.run_.SCENARIOS['backend_call']['implementations']
        programs = {entry.get('program', f'backend_call_{name}') for name, entry in entries.items() if '{backend}' in entry['args']}
        sources = os.listdir(os.path.join(ROOT, 'perf', 'scenarios', 'backend_call'))
        self.assertEqual(programs, {f'backend_call_{os.path.splitext(source)[0]}' for source in sources})

    def test_the_readme_has_a_row_for_each_that_calls_a_backend(self):
        with open(os.path.join(ROOT, 'perf', 'README.md'), encoding='utf-8') as file:
            section = file.read().split('## A call to a backend')[1].split('\n## ')[0]
        rows = {name for row in re.findall(r'^\| (`.*?) \|', section, re.M) for name in re.findall(r'`(\w+)`', row)}
        self.assertEqual(rows, set(self.run_.SCENARIOS['backend_call']['implementations']))


if __name__ == '__main__':
    unittest.main()
