"""The table of primitives that perf/micro/run measures: its rows, the reading of a sample, the summary, and the summary as
Markdown. A row is one primitive with one number of carriers and fibers; each implementation is a program
primitives_<name> that takes the row's flags and prints one line of JSON.
"""

import json
import math
from dataclasses import dataclass
from statistics import median

from .failure import Failure

IMPLEMENTATIONS = {'weft': 'Weft', 'tokio': 'Tokio', 'go': 'Go', 'boost_fiber': 'Boost.Fiber'}   # the first is the base
MISSING = '-'   # in a table: the implementation has no such primitive
TARGET_CPU = 'AMD EPYC'     # the processor for which the targets were set


@dataclass(frozen=True)
class Row:
    name: str               # as the programs know it
    title: str
    carriers: int = 1
    fibers: int = 1
    yields: bool = False
    target: float = None    # nanoseconds, for Weft on TARGET_CPU

    def flags(self):
        return ['--row', self.name, '--carriers', str(self.carriers), '--fibers', str(self.fibers),
                *(['--yield'] if self.yields else [])]


ALONE = [
    Row('spawn_join', 'spawn and join', target=45),
    Row('yield', 'yield among 64 fibers', fibers=64, target=15),
    Row('park_wake', 'park, and wake another fiber'),
    Row('mutex', 'Mutex: lock and unlock', target=6),
    Row('fair_mutex', 'FairMutex: lock and unlock'),
    Row('rw_read', 'RwLock: read lock and unlock'),
    Row('rw_write', 'RwLock: write lock and unlock'),
    Row('semaphore', 'Semaphore: acquire and release', target=8),
    Row('condition', 'Condition: pass control'),
    Row('notify', 'Notify: pass control'),
    Row('barrier', 'Barrier of 8: one wait', fibers=8),
    Row('once_get', 'OnceCell: get'),
    Row('wait_group', 'WaitGroup: add, done, wait'),
    Row('bounded_queue', 'BoundedQueue: send and receive', target=12),
    Row('unbounded_queue', 'UnboundedQueue: send and receive'),
    Row('oneshot', 'Oneshot: create, send, receive'),
    Row('broadcast', 'Broadcast: send and receive'),
    Row('watch', 'Watch: send and next'),
    Row('select', 'select of two ready queues, and a send'),
]


def contended(carriers):
    rows = []
    for name, what in (('mutex', 'Mutex'), ('fair_mutex', 'FairMutex'), ('semaphore', 'Semaphore')):
        for yields in (False, True):
            rows += [Row('contended_' + name, f'{what}, {fibers} fibers{", a yield inside" if yields else ""}', carriers, fibers, yields)
                     for fibers in (2, 8, 64)]
    rows.append(Row('contended_queue', 'BoundedQueue, a producer and a consumer', carriers, 1))
    rows += [Row('contended_queue', f'BoundedQueue, {fibers} producers and {fibers} consumers', carriers, fibers) for fibers in (8, 64)]
    return rows


SECTIONS = {'One carrier, no contention': ALONE, 'One carrier, contended': contended(1), 'Two carriers, contended': contended(2)}


def nanosecondsOf(program, row, output):
    """Nanoseconds per operation, from what `program` printed for `row`."""
    try:
        sample = json.loads(output)
        if sample['row'] == row.name and sample['operations'] > 0 and sample['seconds'] > 0:
            return sample['seconds'] / sample['operations'] * 1e9
    except (ValueError, KeyError, TypeError):
        pass
    raise Failure(f'{program}: not a sample of {row.name}: {output.strip()[:200]!r}')


def summarise(row, rounds):
    """One row of the results. `rounds` has (regime, {implementation: nanoseconds}) for each kept round. Only the regime
    with most rounds counts; of two with as many, the first."""
    regimes = [regime for regime, _ in rounds]
    regime = max(dict.fromkeys(regimes), key=regimes.count)
    kept = [times for each, times in rounds if each == regime]
    names = [name for name in IMPLEMENTATIONS if name in kept[0]]
    figures = {name: [of(times[name] for times in kept) for of in (median, min, max)] for name in names}
    return {'row': row.name, 'carriers': row.carriers, 'fibers': row.fibers if row.fibers > 1 else None,
            'yields': row.yields or None, 'regime': regime, 'n': len(kept), 'ns': figures}


def ratios(summary):
    """{implementation: its median divided by that of the base}, for one row of the results."""
    base = summary['ns'].get(next(iter(IMPLEMENTATIONS)))
    return {name: figures[0] / base[0] for name, figures in summary['ns'].items()} if base else {}


def tables(results):
    """The summary of a results file as Markdown: one table for each section."""
    known = {keyOf(each): each for each in results['summary']}
    names = [name for name in IMPLEMENTATIONS if any(name in each['ns'] for each in known.values())]
    ofTarget = 'target' if results['versions'].get('cpu') == TARGET_CPU else f'target on {TARGET_CPU}'
    parts = []
    for section, rows in SECTIONS.items():
        present = [row for row in rows if key(row) in known]
        if not present:
            continue
        parts.append(line([section, *(IMPLEMENTATIONS[name] for name in names), 'n', ofTarget]) + '|' + '---|' * (len(names) + 3) + '\n')
        for row in present:
            found = known[key(row)]
            target = '' if row.target is None else f'{row.target:g}'
            count = f'{found["n"]}' + ('' if found['regime'] in ('fast', 'single') else f', {found["regime"]}')
            parts[-1] += line([row.title, *cells(found, names), count, target])
    return '\n'.join(parts)


def cells(summary, names):
    """For each implementation its median, the range in parentheses, and for a rival the ratio to the base."""
    ratio = ratios(summary)
    base = next(iter(IMPLEMENTATIONS))
    for name in names:
        if name not in summary['ns']:
            yield MISSING
            continue
        middle, least, most = map(figure, summary['ns'][name])
        yield f'{middle} ({least}..{most})' + (f', {ratio[name]:.2f}' if name != base and name in ratio else '')


def figure(nanoseconds):
    return f'{nanoseconds:.1f}' if nanoseconds < 99.95 else f'{nanoseconds:,.0f}'


def line(texts):
    return '| ' + ' | '.join(texts) + ' |\n'


def key(row):
    return row.name, row.carriers, row.fibers, row.yields


def keyOf(summary):
    return summary['row'], summary['carriers'], summary.get('fibers') or 1, bool(summary.get('yields'))


def overview(summary):
    """[(section, regime, {rival: (geometric mean of its ratios, number of rows)})], for the list of all runs."""
    known = {keyOf(each): each for each in summary}
    found = []
    for section, rows in SECTIONS.items():
        groups = {}
        for each in (known[key(row)] for row in rows if key(row) in known):
            means = groups.setdefault(each['regime'], {})
            for name, ratio in ratios(each).items():
                means.setdefault(name, []).append(math.log(ratio))
        found += [(section, regime, {name: (math.exp(sum(logs) / len(logs)), len(logs)) for name, logs in means.items()})
                  for regime, means in groups.items()]
    return found
