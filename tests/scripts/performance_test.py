#!/usr/bin/env python3
"""docs/performance.md tells what perf/results/ holds: the files that it names exist, every run is on the page, and the figures
of its main tables are those of the files."""

import importlib.machinery
import importlib.util
import json
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RESULTS = os.path.join(ROOT, 'perf', 'results')
NAME = re.compile(r'([a-z_]+(?:-aa)?-\d{8}-\d{6}\.(?:json|histograms))|\.\.\.-?(?:\d{8}-)?(\d{6}\.json)')


def read(*path):
    with open(os.path.join(ROOT, *path), encoding='utf-8') as file:
        return file.read()


def runs():
    loader = importlib.machinery.SourceFileLoader('perf_runs', os.path.join(ROOT, 'perf', 'runs'))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader('perf_runs', loader))
    loader.exec_module(module)
    return module


def row(name, implementation, depth=1, **shape):
    """The one line of the summary of that run, in the fast regime."""
    wanted = {'load': None, 'regime': 'fast', 'implementation': implementation, 'depth': depth, **shape}
    summary = json.loads(read('perf', 'results', name + '.json'))['summary']
    found = [line for line in summary if all(line.get(key) == value for key, value in wanted.items())]
    assert len(found) == 1, f'{name} has {len(found)} lines of {wanted}'
    return found[0]


def ratio(*where, **shape):
    return f'{row(*where, **shape)["ratio"]:.2f}'


def ratioAndCount(*where, **shape):
    return f'{ratio(*where, **shape)} ({row(*where, **shape)["n"]})'


def thousands(value):
    return f'{value / 1e6:.2f}M' if value >= 1e6 else f'{value / 1e3:.1f}k'


def rate(*where, **shape):
    found = row(*where, **shape)
    return f'{thousands(found["per_cpu_second"])} ({thousands(found["least"])}..{thousands(found["most"])}, {found["n"]})'


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


PLAINTEXT = ['plaintext-20261122-133109', 'plaintext-20261122-133742', 'plaintext-20261122-133916']
DEEP = ['plaintext-20261122-133145', 'plaintext-20261122-133443']
OTHERS = 'plaintext-20261122-093628'
FIBERS = ['fiber_per_request-20261122-133341', 'fiber_per_request-20261122-133600']
BACKEND = 'backend_call-20261122-160307'
LATENCY = 'plaintext-20261122-161138'
LOADS = (25, 50, 70, 85)


class Page(unittest.TestCase):
    def setUp(self):
        self.page = read('docs', 'performance.md')

    def assertQuoted(self, text):
        self.assertIn(text, self.page, 'the files in perf/results/ say this, docs/performance.md does not')

    def test_every_file_that_it_names_exists(self):
        present = set(os.listdir(RESULTS))
        times = {name[-11:] for name in present}
        names = NAME.findall(self.page)
        self.assertGreater(len(names), 20)
        self.assertEqual([full for full, _ in names if full and full not in present], [])
        self.assertEqual([time for _, time in names if time and time not in times], [])

    def test_every_run_is_on_it(self):
        module = runs()
        self.assertIn(module.BEGIN + module.table() + module.END, self.page, 'run perf/runs --write')

    def test_plaintext(self):
        rates = ', '.join(rate(run, 'weft_epoll') for run in PLAINTEXT)
        ratios = ', '.join(ratio(run, 'weft_epoll') for run in PLAINTEXT)
        self.assertQuoted(f'depth 1 | {rates} | {ratios} | 0.97 |')
        rates = ', '.join(rate(run, 'weft_epoll', 16) for run in DEEP)
        ratios = ', '.join(ratio(run, 'weft_epoll', 16) for run in DEEP)
        self.assertQuoted(f'depth 16 | {rates} | {ratios} | 0.80 |')

        for depth, runs, title in ((1, PLAINTEXT, '(floor), depth 1, three runs'), (16, DEEP, 'floor, depth 16, two runs')):
            self.assertQuoted(f'{title} | {", ".join(rate(run, "floor_epoll", depth) for run in runs)} | 1.00 |')

    def test_beside_others(self):
        for title, name in (('Asio, canned answer', 'asio'), ('libuv, canned answer', 'libuv'), ('**Weft**', 'weft_epoll'),
                            ('nginx 1.22', 'nginx'), ('Netty 4.1.48', 'netty'), ('Beast', 'beast'), ('Go 1.19 `net/http`', 'go')):
            self.assertQuoted(f'| {title} | {ratioAndCount(OTHERS, name)} | {ratioAndCount(OTHERS, name, 16)} |')

    def test_fibers(self):
        for name in ('weft_inline', 'weft'):
            rates = ', '.join(rate(run, name) for run in FIBERS)
            ratios = ', '.join(ratio(run, name) for run in FIBERS)
            self.assertQuoted(f'| {rates} | {ratios} |')
        self.assertQuoted(f'floor, depth 1, two runs | {", ".join(rate(run, "floor_epoll") for run in FIBERS)} | 1.00 |')
        self.assertQuoted(f'(our own split) | {rate(FIBERS[0], "weft_split")} | {ratio(FIBERS[0], "weft_split")} | 0.441 |')
        self.assertQuoted(f'one worker thread | {", ".join(rate(run, "asio_split_1") for run in FIBERS)} | '
                          f'{", ".join(ratio(run, "asio_split_1") for run in FIBERS)} | {switches(FIBERS[0], "asio_split_1")} |')
        self.assertQuoted(f'four workers | {rate(FIBERS[0], "asio_split_4")} | {ratio(FIBERS[0], "asio_split_4")} | '
                          f'{switches(FIBERS[0], "asio_split_4")} |')
        deep = [row(FIBERS[0], name, 16) for name in ('weft_inline', 'weft', 'weft_split', 'asio_split_1', 'asio_split_4')]
        rates = [f'{line["per_cpu_second"] / 1e3:.0f}k' if line is deep[2] or line is deep[4] else
                 thousands(line['per_cpu_second']) for line in deep]
        self.assertQuoted(' / '.join(rates) + ' | ' + ' / '.join(f'{line["ratio"]:.2f}' for line in deep) + ' |')
        late = 'fiber_per_request-20261122-160650'
        self.assertQuoted(f'says {ratio(late, "weft", 16)} for a fiber and {ratio(late, "weft_inline", 16)} for the handler')

    def test_a_call_to_a_backend(self):
        shapes = [(1, 64), (30, 64), (1, 1000), (30, 1000)]

        def each(cell, run=BACKEND, name='weft'):
            return [cell(run, name, think_ms=think, connections=connections) for think, connections in shapes]

        def besides(cell):
            return ' | '.join(f'{ours}, {others}' for ours, others in zip(each(cell), each(cell, name='weft_split'))) + ' |'

        self.assertQuoted('| **Weft**, a fiber where the connection lives | ' + ' | '.join(each(paired)) + ' |')
        self.assertQuoted('| Asio, callbacks on one thread, HTTP by hand | ' + ' | '.join(each(paired, name='asio')) + ' |')
        self.assertQuoted('| p99, beside that of the split, ms | ' + besides(milliseconds))
        self.assertQuoted("| context switches per request, beside the split's | " + besides(switches))
        before = each(ratio, 'backend_call-20261122-135702')[:2] + [
            ratio('backend_call-20261122-135912', 'weft', think_ms=think, connections=connections) for think, connections in shapes[2:]]
        self.assertQuoted('`...-135912.json`, n 7): Weft | ' + ' | '.join(before) + ' |')
        morning = ['backend_call-20261122-093235', 'backend_call-20261122-092925']
        cells = [', '.join(pair) for pair in zip(*(each(ratio, run) for run in morning))]
        self.assertQuoted('(`...-093235.json`, `...-092925.json`): Weft | ' + ' | '.join(cells) + ' |')
        cells = [' / '.join(pair) for pair in zip(*(each(ratio, morning[0], name) for name in ('asio_split_1', 'asio_split_4')))]
        self.assertQuoted('one worker that blocks / four | ' + ' | '.join(cells) + ' |')
        checked = ['backend_call-20261123-045651', 'backend_call-20261123-051906']
        for title, name in (('n 2 to 5): Weft', 'weft'), ('... Asio, callbacks', 'asio')):
            cells = [', '.join(pair) for pair in zip(*(each(ratio, run, name) for run in checked))]
            self.assertQuoted(f'{title} | ' + ' | '.join(cells) + ' |')

    def test_asio_programs(self):
        for title, name in (('`Context`, the context exchanged and nothing else', 'weft_context'), ('`ContextGroup`', 'weft_group'),
                            ('... with the executor of its `io_context`', 'weft_context_plain'),
                            ("Asio's own `thread_pool` of one thread", 'asio_pool'),
                            ('`use_fiber`, a fiber for each connection', 'weft_use_fiber')):
            self.assertQuoted(f'| {title} | {paired("asio_echo-20261123-205311", name)} |')

    def test_io_uring(self):
        plain, fibers = 'plaintext-20261124-100732', 'fiber_per_request-20261124-100828'
        large, before = 'echo_large-20261124-100926', 'echo_large-20261124-004849'
        calls, callsBefore = 'backend_call-20261124-100546', 'backend_call-20261124-051032'
        for depth, target in ((1, '1.04'), (16, '0.90')):
            cells = ' | '.join(ratioAndCount(plain, name, depth) for name in ('weft_epoll', 'weft_uring', 'floor_uring'))
            self.assertQuoted(f'| plaintext, depth {depth} | {cells} | {target}')
            cells = ' | '.join(ratioAndCount(fibers, name, depth) for name in ('weft', 'weft_uring'))
            self.assertQuoted(f'| a fiber for each request, depth {depth} | {cells} |')
        for title, size in (('64 KiB', 64 << 10), ('1 MiB', 1 << 20)):
            cells = ' | '.join(ratioAndCount(large, name, message_bytes=size) for name in ('weft', 'weft_uring'))
            self.assertQuoted(f'| echo of {title} | {cells} |')
        for title, connections in (('64', 64), ('1,000', 1000)):
            cells = ' | '.join(ratioAndCount(calls, name, connections=connections) for name in ('weft', 'weft_uring'))
            self.assertQuoted(f'| {title} connections | {cells} |')
        old = ' and '.join(ratio(callsBefore, 'weft_uring', connections=connections) for connections in (64, 1000))
        self.assertQuoted(f'({old} in `{callsBefore}.json`)')
        self.assertQuoted(f'was at {ratio(before, "weft_uring", message_bytes=64 << 10)} (`{before}.json`)')

    def test_latency(self):
        for title, name in (('floor', 'floor_epoll'), ('**Weft**', 'weft_epoll'), ('Asio, canned answer', 'asio'), ('nginx', 'nginx'), ('Go', 'go')):
            cells = [latency(LATENCY, name, load=load) for load in LOADS]
            self.assertQuoted(f'| {title} | ' + ' | '.join(cells) + ' |')
        weft = [ratio(LATENCY, 'weft_epoll', load=load) for load in LOADS]
        self.assertQuoted(f'Weft {", ".join(weft[:3])} and {weft[3]}')
        self.assertQuoted(f'The closed loop of that run: Weft {ratio(LATENCY, "weft_epoll")} of the floor')
        self.assertQuoted(f'Asio {ratio(LATENCY, "asio")} (n {row(LATENCY, "asio")["n"]}), nginx {ratio(LATENCY, "nginx")}, '
                          f'Go {ratio(LATENCY, "go")}.')

    def test_large_messages(self):
        def cell(name, size):
            found = row('echo_large-20261122-030502', name, message_bytes=size)
            spread = f' ({found["ratio_least"]:.2f}..{found["ratio_most"]:.2f})' if name in ('weft', 'asio') else ''
            rest = '' if name == 'floor_epoll' else f', {found["ratio"]:.2f}{spread}'
            return f'{found["per_cpu_second"] * size / 1e6:,.0f}{rest}'
        for title, name in (('floor', 'floor_epoll'), ('**Weft**', 'weft'), ('Asio', 'asio'), ('libuv', 'libuv')):
            self.assertQuoted(f'| {title} | {cell(name, 1 << 16)} | {cell(name, 1 << 20)} |')

    def test_idle_connections(self):
        held = {line['implementation']: f'{line["kib_per_connection"]:.1f}'
                for line in json.loads(read('perf', 'results', 'idle_connections-20261122-093702.json'))['summary']}
        self.assertQuoted(f'floor {held["floor_epoll"]}, nginx {held["nginx"]}, Beast {held["beast"]}, **Weft**\n{held["weft_epoll"]}, '
                          f'libuv {held["libuv"]}, Asio {held["asio"]}, Netty {held["netty"]}, Go {held["go"]}.')

    def test_the_figures_of_the_readme(self):
        def ofHandler(run, depth):
            return row(run, 'weft', depth)['per_cpu_second'] / row(run, 'weft_inline', depth)['per_cpu_second']
        alone = [ofHandler(run, 1) for run in FIBERS + ['fiber_per_request-20261122-160650', 'fiber_per_request-20261122-165024']]
        deep = [ofHandler(run, 16) for run in (FIBERS[0], 'fiber_per_request-20261122-160650')]
        self.assertIn(f'serves {min(alone):.2f} to {max(alone):.2f} of what the handler alone does (four runs), '
                      f'{min(deep):.2f} to {max(deep):.2f} with 16 requests pipelined (two runs)', read('README.md'))

    def test_the_number_of_samples_of_plaintext(self):
        counts, pairs = {'floor_epoll': 0, 'weft': 0}, 0
        for run in PLAINTEXT + FIBERS:
            samples = [sample for sample in json.loads(read('perf', 'results', run + '.json'))['samples']
                       if sample['kept'] and sample['depth'] == 1 and sample['regime'] == 'fast']
            rounds = {}
            for sample in samples:
                name = {'weft_epoll': 'weft', 'weft_inline': 'weft', 'floor_epoll': 'floor_epoll'}.get(sample['implementation'])
                if name:
                    counts[name] += 1
                    rounds.setdefault(name, set()).add(sample['round'])
            pairs += len(rounds['weft'] & rounds['floor_epoll'])
        self.assertQuoted(f'All {counts["weft"]} samples of Weft and {counts["floor_epoll"]} of the floor of these five runs')
        self.assertQuoted(f'the median of the {pairs}\npairs')


if __name__ == '__main__':
    unittest.main()
