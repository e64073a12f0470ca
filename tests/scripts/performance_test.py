#!/usr/bin/env python3
"""docs/explanation/performance.md quotes perf/results/: the files that it names exist and contain the figures of its
tables, and docs/explanation/performance-history.md lists every file."""

import importlib.machinery
import importlib.util
import json
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RESULTS = os.path.join(ROOT, 'perf', 'results')
NAME = re.compile(r'`([a-z_]+(?:-aa)?-\d{8}-\d{6})(?:\.json)?`|`\.\.\.-?((?:\d{8}-)?\d{6})(?:\.json)?`')


def read(*path):
    with open(os.path.join(ROOT, *path), encoding='utf-8') as file:
        return file.read()


def script(*path):
    """A script of perf/ as a module."""
    loader = importlib.machinery.SourceFileLoader('_'.join(['perf', *path]), os.path.join(ROOT, 'perf', *path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def rows(name, **wanted):
    summary = json.loads(read('perf', 'results', name + '.json'))['summary']
    return [row for row in summary if all(row.get(key) == value for key, value in wanted.items())]


def row(name, implementation, depth=1, **shape):
    """The only row of that run's summary for these parameters, in the fast regime unless said."""
    wanted = {'load': None, 'regime': 'fast', 'implementation': implementation, 'depth': depth, **shape}
    found = rows(name, **wanted)
    assert len(found) == 1, f'{name} has {len(found)} rows of {wanted}'
    return found[0]


def ratio(*where, **shape):
    return f'{row(*where, **shape)["ratio"]:.2f}'


def ratios(prefix, implementation, depth=1, **shape):
    """The rows of every run whose name begins so, in the closed loop and the fast regime."""
    wanted = {'load': None, 'regime': 'fast', 'implementation': implementation, 'depth': depth, **shape}
    return [f'{found["ratio"]:.2f}' for name in sorted(os.listdir(RESULTS)) if name.startswith(prefix) and name.endswith('.json')
            for found in rows(name.removesuffix('.json'), **wanted)]


def ratioAndCount(*where, **shape):
    return f'{ratio(*where, **shape)} ({row(*where, **shape)["n"]})'


def thousands(value):
    return f'{value / 1e6:.2f}M' if value >= 1e6 else f'{value / 1e3:.1f}k'


def rate(*where, **shape):
    found = row(*where, **shape)
    return f'{thousands(found["per_cpu_second"])} ({thousands(found["least"])}..{thousands(found["most"])}, {found["n"]})'


def rateAndCount(*where, **shape):
    found = row(*where, **shape)
    return f'{thousands(found["per_cpu_second"])} ({found["n"]})'


def paired(*where, **shape):
    found = row(*where, **shape)
    return f'{found["ratio"]:.2f} ({found["ratio_least"]:.2f}..{found["ratio_most"]:.2f})'


def latency(*where, **shape):
    found = row(*where, **shape)
    return f'{found["p50_us"]:,.0f} / {found["p99_us"]:,.0f}'


def milliseconds(*where, **shape):
    value = row(*where, **shape)['p99_us'] / 1000
    return f'{value:.1f}' if value < 32 else f'{value:.0f}'


def switches(*where, **shape):
    return f'{row(*where, **shape)["switches_per_request"]:.2f}'


def inOneLine(text):
    return ' '.join(text.split())


def line(*cells):
    return '| ' + ' | '.join(cells) + ' |'


LATENCY = 'plaintext-20261122-161138'
PLAINTEXT = [('plaintext-20261122-133109', 1), ('plaintext-20261122-133742', 1), ('plaintext-20261122-133916', 1),
             ('plaintext-20261122-160516', 1), (LATENCY, 1), ('plaintext-20261122-133145', 16),
             ('plaintext-20261122-133443', 16), ('plaintext-20261122-160516', 16)]
OTHERS = 'plaintext-20261122-093628'
FIBERS = [('fiber_per_request-20261122-133341', 1), ('fiber_per_request-20261122-133600', 1),
          ('fiber_per_request-20261122-160650', 1), ('fiber_per_request-20261122-165024', 1),
          ('fiber_per_request-20261122-133341', 16), ('fiber_per_request-20261122-160650', 16)]
BACKEND = 'backend_call-20261126-184949'
MANY = 'backend_call-20261126-190323'  # 1,000 connections only
LOADS = (25, 50, 70, 85)
SHAPES = [{'think_ms': think, 'connections': connections} for think, connections in ((1, 64), (30, 64), (1, 1000), (30, 1000))]
MAX_BYTES = 32 << 10    # limit of a results file; a run of backend_call in both regimes has 72 rows of about 400 bytes


class Page(unittest.TestCase):
    def setUp(self):
        self.page = read('docs', 'explanation', 'performance.md')
        self.history = read('docs', 'explanation', 'performance-history.md')

    def assertQuoted(self, text):
        if inOneLine(text) not in inOneLine(self.page):
            self.fail(f'perf/results/ has these figures, docs/explanation/performance.md does not: {text}')

    def test_every_file_that_it_names_exists(self):
        present = [os.path.splitext(name)[0] for name in os.listdir(RESULTS)]
        names = NAME.findall(self.page) + NAME.findall(self.history)
        self.assertGreater(len(names), 60)
        self.assertEqual([full for full, _ in names if full and full not in present], [])
        self.assertEqual([end for _, end in names if end and not any(name.endswith(end) for name in present)], [])

    def test_its_history_lists_every_file(self):
        module = script('runs')
        self.assertIn(module.BEGIN + module.table() + module.END, self.history, 'run perf/runs --write')

    def test_its_tables_of_primitives_are_those_of_the_newest_run_on_their_processor(self):
        module = script('micro', 'run')
        shown = re.search(r'`(primitives-[-\d]+)` \(commit', self.page)[1]
        newest = module.newest(module.cpuOf(module.read(os.path.join(RESULTS, shown + '.json'))))
        self.assertIn(module.BEGIN + module.section(newest) + module.END, self.page, f'run perf/micro/run --table {newest} --write')

    def test_the_contended_primitives_that_miss_their_target(self):
        newest = re.search(r'`(primitives-[-\d]+)` \(commit', self.page)[1]
        found = [{name: times[0] for name, times in each['ns'].items()} for each in rows(newest, carriers=2)]

        def beaten(rival):
            both = [each for each in found if rival in each]
            return f'{sum(each[rival] < each["weft"] for each in both)} of {len(both)}'

        def times(each):
            return each['weft'] / min(time for name, time in each.items() if name in ('tokio', 'go'))
        worse = [times(each) for each in found if times(each) > 1.5]
        self.assertQuoted(f'Tokio is faster in {beaten("tokio")} rows, Go in {beaten("go")}; {len(worse)} rows take more than 1.5 times as '
                          f'long as the better of the two, up to {max(worse):.0f} times')
        fair = [each for each in rows(newest, row='contended_fair_mutex', carriers=2) if not each.get('yields')]
        ours, theirs = ([each['ns'][name][0] / 1000 for each in fair] for name in ('weft', 'tokio'))
        self.assertQuoted(f'FairMutex {min(ours):.1f} to {max(ours):.1f} us, Tokio {min(theirs):.2f} to {max(theirs):.2f}')

    def test_plaintext(self):
        for run, depth in PLAINTEXT:
            target = {1: '0.97', 16: '0.80'}[depth]
            self.assertQuoted(line(f'`...-{run[-6:]}`', str(depth), rate(run, 'floor_epoll', depth), rate(run, 'weft_epoll', depth),
                                   ratio(run, 'weft_epoll', depth), target))

        found = ratios('plaintext-2', 'weft_epoll')
        self.assertQuoted(f'the {len(found)} kept runs of this scenario lie between {min(found)} and {max(found)}')
        self.assertQuoted(f'at {min(found)} to {max(found)} of the rate of a hand-written epoll loop')

    def test_beside_others(self):
        for title, name in (('Asio, canned answer', 'asio'), ('libuv, canned answer', 'libuv'), ('**Weft**', 'weft_epoll'),
                            ('nginx 1.22', 'nginx'), ('Netty 4.1.48', 'netty'), ('Beast', 'beast'), ('Go 1.19 `net/http`', 'go')):
            self.assertQuoted(line(title, ratioAndCount(OTHERS, name), ratioAndCount(OTHERS, name, 16)))

    def test_headers_that_vary(self):
        runs = 'plaintext_varied-20261129-173840', 'plaintext_varied-20261129-173922', 'response_varied-20261129-174014'
        for title, name in (('**Weft**, epoll', 'weft_epoll'), ('**Weft**, io_uring', 'weft_uring'), ('Asio, canned answer', 'asio'),
                            ('nginx 1.22', 'nginx'), ('Beast', 'beast')):
            self.assertQuoted(line(title, *(paired(run, name, depth, regime='slow') if rows(run, implementation=name) else ''
                                            for run, depth in zip(runs, (1, 16, 1)))))
        self.assertQuoted(f'requests of which no two are equal, at {ratio(runs[0], "weft_epoll", regime="slow")}')
        for title, name in (('plaintext, one connection, epoll', 'plaintext-weft_epoll-connections1'),
                            ('varied requests, 100 connections, epoll', 'plaintext_varied-weft_epoll'),
                            ('varied requests, 100 connections, io_uring', 'plaintext_varied-weft_uring'),
                            ('varied answers, 64 connections, epoll', 'response_varied-weft_epoll'),
                            ('varied answers, 64 connections, io_uring', 'response_varied-weft_uring')):
            counts = json.loads(read('perf', 'thresholds', name + '.json'))['counts']
            instructions, allocations, calls = (counts[f'{kind}_per_request']['count'] for kind in ('instructions', 'allocations', 'syscalls'))
            self.assertQuoted(line(title, f'{instructions:,.0f}', f'{allocations:.2f}', f'{calls:.2f}'))

    def test_noise(self):
        found = row('plaintext-aa-20261121-150815', 'floor_epoll#b')
        self.assertQuoted(f'ratio of {found["ratio"]:.2f} (pairs {found["ratio_least"]:.2f}..{found["ratio_most"]:.2f}, n {found["n"]}')

    def test_fibers(self):
        def cells(name, cell):
            return [cell(run, name, depth) if rows(run, implementation=name, depth=depth, regime='fast') else ''
                    for run, depth in FIBERS]
        self.assertQuoted(line('floor, requests per CPU-second', *cells('floor_epoll', rateAndCount), ''))
        for title, name in (('Weft, the handler answers', 'weft_inline'), ('**Weft**, a fiber answers', 'weft'),
                            ('Weft, a fiber of a second group answers', 'weft_split'), ('Asio, one worker thread', 'asio_split_1'),
                            ('Asio, four worker threads', 'asio_split_4')):
            self.assertQuoted(line(title, *cells(name, ratioAndCount), switches(FIBERS[0][0], name)))
        ofHandler = [f'{self.ofHandler(run, depth):.2f}' for run, depth in FIBERS]
        self.assertQuoted(line('fiber / handler', *ofHandler, ''))

        missed = [each for each in ratios('fiber_per_request', 'weft', 16) if float(each) < 0.6]
        self.assertQuoted(f'{" and ".join(missed)} in two of four runs')

    @staticmethod
    def ofHandler(run, depth):
        return row(run, 'weft', depth)['per_cpu_second'] / row(run, 'weft_inline', depth)['per_cpu_second']

    @staticmethod
    def toAsio(run):
        """Weft's throughput to that of Asio's callbacks, with 1,000 connections."""
        shapes = [shape for shape in SHAPES[2:] if rows(run, implementation='asio', regime='fast', **shape)]
        ours, theirs = ([row(run, name, **shape)['per_cpu_second'] for shape in shapes] for name in ('weft', 'asio'))
        return [f'{each / other:.2f}' for each, other in zip(ours, theirs)]

    def test_a_call_to_a_backend(self):
        def each(cell, run=BACKEND, name='weft'):
            return [cell(run, name, **shape) if rows(run, implementation=name, regime='fast', **shape) else '' for shape in SHAPES]

        def both(cell):
            return [f'{ours}, {split}' for ours, split in zip(each(cell), each(cell, name='weft_split'))]

        self.assertQuoted(line('**Weft**, a fiber on the connection\'s carrier', *each(paired)))
        self.assertQuoted(line('Asio, callbacks on one thread', *each(paired, name='asio')))
        self.assertQuoted(line('p99 in ms: Weft, split', *both(milliseconds)))
        self.assertQuoted(line('context switches per request: Weft, split', *both(switches)))
        for end in ('1122-092925', '1122-093235', '1122-135702', '1122-135912', '1122-160307', '1123-045651', '1123-051906',
                    '1124-051032', '1124-100546', '1126-102254', '1126-112630', '1126-115807', '1126-120255',
                    '1126-154141', '1126-184949', '1126-190323'):
            self.assertQuoted(line(f'`...-2026{end}`', *each(ratioAndCount, f'backend_call-2026{end}')))
        for end in ('093235', '135702'):
            for title, name in (('one worker thread', 'asio_split_1'), ('four worker threads', 'asio_split_4')):
                self.assertQuoted(line(f'Asio, {title}, `...-{end}`', *each(ratioAndCount, f'backend_call-20261122-{end}', name)))
        many = ratios('backend_call', 'weft', connections=1000)
        self.assertQuoted(f'all kept runs: {min(many)} to {max(many)}')
        before = [each for end in ('102254', '112630', '115807', '120255') for each in self.toAsio(f'backend_call-20261126-{end}')]
        self.assertQuoted(', '.join(sorted(before)) + ' on 26 November')
        self.assertQuoted(' and '.join(self.toAsio(MANY)) + " times what Asio's callbacks serve")
        self.assertQuoted(' and '.join(self.toAsio(BACKEND)) + ' in the run above, '
                          + ' and '.join(self.toAsio('backend_call-20261126-154141')) + ' in `...-154141`')
        for title, name in (('**Weft**', 'weft'), ('Asio, callbacks on one thread', 'asio')):
            self.assertQuoted(line(title, *(paired(MANY, name, **shape) for shape in SHAPES[2:])))
        few = ratios('backend_call', 'weft', connections=64)
        self.assertQuoted(', '.join(each for each in sorted(few) if float(each) < 1.3) + ' in four of thirteen runs')
        rivals = ('boost_fiber', 'asio', 'weft_uring', 'weft', 'beast_spawn', 'go', 'asio_split_4', 'asio_split_1')
        self.assertQuoted(line(*(paired('backend_call-20261126-115807', each, connections=1000, think_ms=30) for each in rivals)))

    def test_asio_programs(self):
        run = 'asio_echo-20261128-154046'
        for title, name, target in (('`Context` in place of the `io_context`', 'weft_context', '0.97'), ('`ContextGroup`', 'weft_group', ''),
                                    ("Asio's own `thread_pool` of one thread", 'asio_pool', ''),
                                    ('`use_fiber`, a fiber for each connection', 'weft_use_fiber', '0.90')):
            self.assertQuoted(line(title, paired(run, name), str(row(run, name)['n']), target))
        cells = [ratioAndCount('asio_http-20261128-154200', 'weft_context', depth) for depth in (1, 16)]
        self.assertQuoted(line('`Context` in place of the `io_context`', *cells, '0.97'))

    def test_io_uring(self):
        plain, fibers = 'plaintext-20261124-100732', 'fiber_per_request-20261124-100828'
        large, before = 'echo_large-20261124-100926', 'echo_large-20261124-004849'
        calls, callsBefore = 'backend_call-20261124-100546', 'backend_call-20261124-051032'
        for depth, target in ((1, '1.04'), (16, '0.90')):
            cells = [ratioAndCount(plain, name, depth) for name in ('weft_epoll', 'weft_uring', 'floor_uring')]
            self.assertQuoted(line(f'plaintext, depth {depth}', *cells, target))
            cells = [ratioAndCount(fibers, name, depth) for name in ('weft', 'weft_uring')]
            self.assertQuoted(line(f'a fiber for each request, depth {depth}', *cells, '', 'that of epoll'))
        for title, size in (('64 KiB', 64 << 10), ('1 MiB', 1 << 20)):
            cells = [ratioAndCount(large, name, message_bytes=size) for name in ('weft', 'weft_uring')]
            self.assertQuoted(line(f'echo of {title}', *cells, '', 'that of epoll'))
        for title, connections in (('64', 64), ('1,000', 1000)):
            cells = [ratioAndCount(calls, name, connections=connections) for name in ('weft', 'weft_uring')]
            self.assertQuoted(line(f'a call to a backend of 1 ms, {title} connections', *cells, '', ''))
        other = 'plaintext-20261124-025750'
        self.assertQuoted(f'{ratio(other, "weft_uring")} beside {ratio(other, "floor_uring")} by hand in `{other}`')
        self.assertQuoted(f'{ratio("echo_large-20261124-030137", "weft_uring", message_bytes=1 << 20)} in `echo_large-20261124-030137`')
        old = ' and '.join(ratio(callsBefore, 'weft_uring', connections=connections) for connections in (64, 1000))
        self.assertIn(f'{old} in `{callsBefore}`', inOneLine(self.history))
        self.assertIn(f'{ratio(before, "weft_uring", message_bytes=64 << 10)} in `{before}`', inOneLine(self.history))

    def test_latency(self):
        for title, name in (('floor', 'floor_epoll'), ('**Weft**', 'weft_epoll'), ('Asio, canned answer', 'asio'), ('nginx', 'nginx'), ('Go', 'go')):
            self.assertQuoted(line(title, *(latency(LATENCY, name, load=load) for load in LOADS)))
        for title, name in (('**Weft**', 'weft_epoll'), ('Asio, canned answer', 'asio'), ('nginx', 'nginx'), ('Go', 'go')):
            self.assertQuoted(line(title, *(ratioAndCount(LATENCY, name, load=load) for load in (*LOADS, None))))

    def test_large_messages(self):
        def cell(name, size):
            found = row('echo_large-20261122-030502', name, message_bytes=size)
            return f'{found["per_cpu_second"] * size / 1e6:,.0f}, {found["ratio"]:.2f} ({found["n"]})'
        for title, name in (('floor', 'floor_epoll'), ('**Weft**', 'weft'), ('Asio', 'asio'), ('libuv', 'libuv')):
            self.assertQuoted(line(title, cell(name, 1 << 16), cell(name, 1 << 20)))

    def test_idle_connections(self):
        run = 'idle_connections-20261126-081959'
        for title, name in (('floor', 'floor_epoll'), ('nginx', 'nginx'), ('Beast', 'beast'), ('**Weft**', 'weft_epoll'), ('libuv', 'libuv'),
                            ('Asio', 'asio'), ('Netty', 'netty'), ('Go', 'go')):
            found, = rows(run, implementation=name)
            self.assertQuoted(line(title, f'{found["kib_per_connection"]:.1f}', str(found['n'])))

    def test_the_settings_of_a_carrier(self):
        run = 'carrier_settings-20261124-183449'
        for title, name in (('yield budget of 10 us instead of 50', 'drain_10us'), ('yield budget of 200 us', 'drain_200us'),
                            ('idle spin of 20 us', 'spin_20us'), ('idle spin of 100 us', 'spin_100us'),
                            ('flight recorder, 65,536 events', 'recorder'), ('io_uring', 'uring'),
                            ('io_uring, idle spin of 20 us', 'uring_spin_20us'), ('io_uring, idle spin of 100 us', 'uring_spin_100us')):
            self.assertQuoted(line(title, paired(run, name), str(row(run, name)['n'])))

    def test_idle_spin_at_low_load(self):
        run = 'carrier_settings-20261124-204435'

        def cell(name, load):
            return f'{latency(run, name, load=load)}, {ratioAndCount(run, name, load=load)}'
        for title, names in (('none', ('default', 'uring')), ('20 us', ('spin_20us', 'uring_spin_20us')),
                             ('100 us', ('spin_100us', 'uring_spin_100us'))):
            self.assertQuoted(line(title, *(cell(name, load) for name in names for load in (5, 25))))

    def test_the_figures_of_the_readme(self):
        alone = [self.ofHandler(run, depth) for run, depth in FIBERS if depth == 1]
        deep = [self.ofHandler(run, depth) for run, depth in FIBERS if depth == 16]
        self.assertIn(f'serves {min(alone):.2f} to {max(alone):.2f} of what the handler alone does (four runs), '
                      f'{min(deep):.2f} to {max(deep):.2f} with 16 requests pipelined (two runs)', read('README.md'))


class Results(unittest.TestCase):
    def test_a_file_is_a_compact_summary(self):
        for name in sorted(os.listdir(RESULTS)):
            if name.endswith(('.samples', '.histograms')):
                continue    # written by --keep-samples; .gitignore excludes them
            with self.subTest(name):
                text = read('perf', 'results', name)
                self.assertNotIn('samples', json.loads(text))
                self.assertLess(len(text), MAX_BYTES)
                self.assertNotRegex(text, r'[" =]/[a-z]', 'a path of the machine that measured')


if __name__ == '__main__':
    unittest.main()
