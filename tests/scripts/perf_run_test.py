#!/usr/bin/env python3
"""perf/run must fail when an implementation failed, and only then: a sample that the machine spoilt is no failure."""

import importlib.machinery
import importlib.util
import os
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
        self.options = types.SimpleNamespace(warmup_ms=1, duration_ms=1, serverCpus=[0], clientCpus=[0], threshold_ns=100)
        self.implementation = types.SimpleNamespace(warmup=0, path='/none', name='weft')
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
        sample = self.take(Runs, openLoop=(50, {}))  # the maximum of this regime was not measured
        self.assertFalse(sample['kept'])
        self.assertIn('is not known', sample['why'])
        self.run_.requireNoFailure([sample])


if __name__ == '__main__':
    unittest.main()
