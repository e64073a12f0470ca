#!/usr/bin/env python3
"""perf/micro/run: a row's programs run in turns, each round in one regime; what they print becomes medians with ranges and
ratios, and these become tables. The programs name the rows of the table and no others."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import re
import sys
import tempfile
import types
import unittest
from unittest import mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = os.path.join(ROOT, 'perf', 'micro', 'primitives')
# The list of rows in the source of each program.
LISTS = {'weft': ('weft.cpp', r'primitives = \{(.*?)\};'), 'boost_fiber': ('boost_fiber.cpp', r'primitives = \{(.*?)\};'),
         'go': ('go.go', r'var primitives = .*?\{(.*?)\n\}'), 'tokio': ('tokio/src/main.rs', r'const PRIMITIVES: .*? = \[(.*?)\];')}


def perfMicroRun():
    loader = importlib.machinery.SourceFileLoader('perf_micro_run', os.path.join(ROOT, 'perf', 'micro', 'run'))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader('perf_micro_run', loader))
    loader.exec_module(module)
    return module


RUN = perfMicroRun()
PRIMITIVES = RUN.primitives
Failure = RUN.Failure
ROWS = [row for rows in PRIMITIVES.SECTIONS.values() for row in rows]
MUTEX = next(row for row in ROWS if row.name == 'mutex')


def rowsOf(implementation):
    path, pattern = LISTS[implementation]
    with open(os.path.join(PROGRAMS, path), encoding='utf-8') as file:
        return re.findall(r'"([a-z_]+)"', re.search(pattern, file.read(), re.S)[1])


class Rows(unittest.TestCase):
    def test_no_two_have_the_same_flags(self):
        self.assertEqual(len({tuple(row.flags()) for row in ROWS}), len(ROWS))

    def test_weft_has_each(self):
        self.assertEqual(set(rowsOf('weft')), {row.name for row in ROWS})

    def test_a_program_has_no_other(self):
        self.assertEqual(set(LISTS), set(PRIMITIVES.IMPLEMENTATIONS))
        for name in LISTS:
            self.assertEqual(set(rowsOf(name)) - {row.name for row in ROWS}, set(), name)

    def test_contended_ones_have_a_form_with_and_without_a_yield_on_one_carrier_and_on_two(self):
        forms = {(row.carriers, row.fibers, row.yields) for row in ROWS if row.name == 'contended_mutex'}
        self.assertEqual(forms, {(carriers, fibers, yields) for carriers in (1, 2) for fibers in (2, 8, 64) for yields in (False, True)})

    def test_flags(self):
        row = PRIMITIVES.Row('contended_mutex', '', carriers=2, fibers=8, yields=True)
        self.assertEqual(' '.join(row.flags()), '--row contended_mutex --carriers 2 --fibers 8 --yield')


class Samples(unittest.TestCase):
    def test_is_time_per_operation(self):
        self.assertAlmostEqual(PRIMITIVES.nanosecondsOf('p', MUTEX, '{"row": "mutex", "operations": 1000, "seconds": 0.000005}\n'), 5)

    def test_anything_else_is_an_error(self):
        for text in ('', 'killed', '[]', '{}', '{"row": "yield", "operations": 1, "seconds": 1}',
                     '{"row": "mutex", "operations": 0, "seconds": 1}', '{"row": "mutex", "operations": "1", "seconds": 1}'):
            with self.subTest(text), self.assertRaisesRegex(Failure, 'primitives_go: not a sample of mutex'):
                PRIMITIVES.nanosecondsOf('primitives_go', MUTEX, text)

    def test_a_program_that_fails_ends_the_run_with_its_message(self):
        with self.assertRaisesRegex(Failure, 'sh -c echo no row >&2; exit 2: status 2: no row'):
            RUN.output(['/bin/sh', '-c', 'echo no row >&2; exit 2'], None)


class Options(unittest.TestCase):
    def read(self, *arguments):
        with mock.patch.object(sys, 'argv', ['perf/micro/run', *arguments]), contextlib.redirect_stderr(io.StringIO()) as error:
            try:
                return RUN.readOptions()
            except SystemExit:
                return error.getvalue()

    def test_all_implementations_are_measured_unless_some_are_named(self):
        self.assertEqual(self.read().impl, list(PRIMITIVES.IMPLEMENTATIONS))
        self.assertEqual(self.read('--impl', 'weft,go').impl, ['weft', 'go'])
        self.assertIn('unknown java', self.read('--impl', 'weft,java'))

    def test_a_part_of_the_rows_does_not_replace_the_tables_of_the_page(self):
        self.assertTrue(self.read('--write').write)
        self.assertIn('run without --impl and --rows', self.read('--write', '--rows', 'mutex'))
        self.assertIn('run without --impl and --rows', self.read('--write', '--impl', 'weft'))


class Turns(unittest.TestCase):
    """Two programs that print fixed times; the probe is scripted."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.log = os.path.join(directory.name, 'log')
        self.programs = {}
        for name, nanoseconds in (('weft', 5), ('go', 10)):
            path = os.path.join(directory.name, f'primitives_{name}')
            with open(path, 'w') as file:
                file.write(f'#!/bin/sh\necho {name} >>{self.log}\n'
                           f'echo \'{{"row": "mutex", "operations": 1000000000, "seconds": {nanoseconds}}}\'\n')
            os.chmod(path, 0o755)
            self.programs[name] = (path, ['mutex'])
        self.options = types.SimpleNamespace(samples=2, duration_ms=1, threshold_ns=250, build='/none')

    def measure(self, probes):
        probes = iter(probes)
        original = RUN.machine.probe
        self.addCleanup(setattr, RUN.machine, 'probe', original)
        RUN.machine.probe = lambda build: next(probes)
        return RUN.measure(self.options, MUTEX, self.programs, sorted(os.sched_getaffinity(0))[:1])

    def test_the_programs_of_a_round_run_before_the_next_round(self):
        self.assertEqual(self.measure([100, 100, 100]), [('fast', {'weft': 5, 'go': 10})] * 2)
        with open(self.log) as file:
            self.assertEqual(file.read().split(), ['weft', 'go', 'weft', 'go'])

    def test_a_round_in_which_the_regime_changed_is_repeated(self):
        self.assertEqual([regime for regime, _ in self.measure([100, 500, 500, 100, 100])], ['slow', 'fast'])

    def test_it_gives_up_after_twice_the_rounds(self):
        with self.assertRaisesRegex(Failure, 'the regime changed during each round'):
            self.measure([100, 500, 100, 500, 100])

    def test_a_program_without_the_row_is_left_out(self):
        self.programs['go'] = (self.programs['go'][0], ['yield'])
        self.assertEqual(self.measure([100, 100, 100]), [('fast', {'weft': 5})] * 2)


class Summary(unittest.TestCase):
    ROUNDS = [('fast', {'weft': 4, 'go': 12}), ('fast', {'weft': 6, 'go': 9}), ('slow', {'weft': 90, 'go': 90}),
              ('fast', {'weft': 5, 'go': 10})]

    def test_has_the_median_the_least_and_the_most_of_the_most_frequent_regime(self):
        self.assertEqual(PRIMITIVES.summarise(MUTEX, self.ROUNDS),
                         {'row': 'mutex', 'carriers': 1, 'fibers': None, 'yields': None, 'regime': 'fast', 'n': 3,
                          'ns': {'weft': [5, 4, 6], 'go': [10, 9, 12]}})

    def test_becomes_a_table_with_ratios_and_dashes(self):
        barrier = next(row for row in ROWS if row.name == 'barrier')
        summary = [PRIMITIVES.summarise(MUTEX, self.ROUNDS), PRIMITIVES.summarise(barrier, [('slow', {'weft': 1234.5})])]
        self.assertEqual(PRIMITIVES.tables({'summary': summary, 'versions': {'cpu': PRIMITIVES.TARGET_CPU}}),
                         '| One carrier, no contention | Weft | Go | n | target |\n|---|---|---|---|---|\n'
                         '| Mutex: lock and unlock | 5.0 (4.0..6.0) | 10.0 (9.0..12.0), 2.00 | 3 | 6 |\n'
                         '| Barrier of 8: one wait | 1,234 (1,234..1,234) | - | 1, slow |  |\n')

    def test_of_a_whole_run_is_a_file_of_a_few_kilobytes(self):
        times = {'weft': 98765.4321, 'tokio': 98765.4321, 'go': 98765.4321, 'boost_fiber': 98765.4321}
        with tempfile.TemporaryDirectory() as directory:
            path = RUN.results.save(directory, RUN.KIND, RUN.datetime.datetime.now(), {
                'command': ['perf/micro/run'], 'versions': {'commit': 'abc', 'cpu': 'AMD EPYC'},
                'implementations': {'weft': ['primitives_weft']},
                'summary': [PRIMITIVES.summarise(row, [('fast', times)]) for row in ROWS]})
            self.assertLess(os.path.getsize(path), 15 << 10)
            self.assertEqual(RUN.newest('AMD EPYC', directory), path)
            self.assertIsNone(RUN.newest('another one', directory))
            with open(path) as file:
                self.assertEqual(PRIMITIVES.tables(json.load(file)).count('98,765 '), 4 * len(ROWS))
            self.assertIn(f'`{os.path.basename(path)[:-5]}` (commit abc)', RUN.section(path))

    def test_on_another_processor_is_put_into_the_page_with_its_name_and_that_of_the_targets(self):
        with tempfile.TemporaryDirectory() as directory:
            path = RUN.results.save(directory, RUN.KIND, RUN.datetime.datetime.now(), {
                'command': ['perf/micro/run'], 'versions': {'commit': 'abc', 'cpu': 'another one'}, 'implementations': {},
                'summary': [PRIMITIVES.summarise(MUTEX, [('fast', {'weft': 5})])]})
            page = os.path.join(directory, 'page.md')
            with open(page, 'w') as file:
                file.write(f'before\n{RUN.BEGIN}old\n{RUN.END}after\n')
            with mock.patch.object(RUN, 'PAGE', page):
                RUN.writePage(path)
            with open(page) as file:
                text = file.read()
        self.assertIn('(commit abc), another one:\n\n| One carrier, no contention | Weft | n | target on AMD EPYC |', text)
        self.assertTrue(text.startswith('before\n') and text.endswith('after\n') and 'old' not in text)

    def test_of_a_whole_run_is_in_the_list_of_all_runs_as_geometric_means(self):
        others = [row for row in PRIMITIVES.ALONE if row.name in ('rw_read', 'rw_write')]
        summary = [PRIMITIVES.summarise(row, [('fast', {'weft': 10, 'go': time})]) for row, time in zip(others, (20, 80))]
        (section, regime, means), = PRIMITIVES.overview(summary)
        self.assertEqual((section, regime), ('One carrier, no contention', 'fast'))
        self.assertAlmostEqual(means['go'][0], 4)
        self.assertEqual(means['go'][1], 2)


if __name__ == '__main__':
    sys.dont_write_bytecode = True
    unittest.main()
