"""Summarises samples into rows (median, min..max and n), and prints rows as a table. Ratios compare samples of one regime
(speed of the machine, see perf/README.md) only.
"""

from dataclasses import asdict
from statistics import median

from .catalog import Shape

FIELDS = ('per_cpu_second', 'rps', 'p50_us', 'p90_us', 'p99_us', 'p999_us', 'switches_per_request', 'client_busy',
          'backend_busy')


def shapeOf(entry):
    """The shape of a sample or of a row of a summary; old files have the depth only."""
    return Shape(entry['depth'], entry.get('connections', 64), entry.get('think_ms'), entry.get('message_bytes'), entry.get('varied'),
                 entry.get('tls'), entry.get('handshakes'))


def summarise(samples, floor):
    """One row per (shape, load, regime, implementation), sorted by these; shapes and implementations in the order in which
    they were measured. `floor` is the implementation to which the ratios refer."""
    groups = {}
    for sample in samples:
        if sample['kept']:
            key = (shapeOf(sample), sample['load'], sample['regime'], sample['implementation'])
            groups.setdefault(key, []).append(sample)
    order = {}
    for sample in samples:
        order.setdefault(shapeOf(sample), len(order))
        order.setdefault(sample['implementation'], len(order))
    rows = []
    for key in sorted(groups, key=lambda each: (order[each[0]], each[1] or 0, each[2], order[each[3]])):
        shape, load, regime, name = key
        group = groups[key]
        row = {**asdict(shape), 'load': load, 'regime': regime, 'implementation': name, 'n': len(group)}
        for field in FIELDS:
            row[field] = median(sample[field] for sample in group)
        perCpu = [sample['per_cpu_second'] for sample in group]
        row['least'], row['most'] = min(perCpu), max(perCpu)
        base = groups.get((shape, load, regime, floor), [])
        row['ratio'] = row['per_cpu_second'] / median(s['per_cpu_second'] for s in base) if base else None
        paired = pairedRatios(group, base)
        row['ratio_least'], row['ratio_most'] = (min(paired), max(paired)) if paired else (None, None)
        rows.append(row)
    return rows


def histograms(samples):
    """Removes the histograms from all samples and merges those of kept ones: one entry per row of the summary. A pair
    [ns, count] counts the requests that took at most `ns`, and longer than the pair before."""
    merged = {}
    for sample in samples:
        counts = sample.get('client', {}).pop('histogram', None)
        if counts and sample['kept']:
            sums = merged.setdefault((shapeOf(sample), sample['load'], sample['regime'], sample['implementation']), {})
            for nanoseconds, count in counts:
                sums[nanoseconds] = sums.get(nanoseconds, 0) + count
    return [{**asdict(shape), 'load': load, 'regime': regime, 'implementation': name, 'ns_count': sorted(sums.items())}
            for (shape, load, regime, name), sums in merged.items()]


def pairedRatios(group, base):
    """Ratios to the floor's sample of the same round, which is close in time."""
    floorOfRound = {sample['round']: sample['per_cpu_second'] for sample in base}
    return [sample['per_cpu_second'] / floorOfRound[sample['round']]
            for sample in group if sample['round'] in floorOfRound]


HEADINGS = ['implementation', 'req/cpu-s', 'min..max', 'n', 'ratio', 'paired', 'req/s', 'p50 us', 'p90 us', 'p99 us',
            'p99.9 us', 'ctx/req', 'client busy']


def table(rows):
    lines, group = [], []
    for row in rows:
        shape = shapeOf(row)
        title = f'{shape}, regime {row["regime"]}'
        if row['load']:
            title += f', open loop at {row["load"]} % of its own maximum'
        if not group or group[0] != title:
            lines += align(group[1:]) if group else []
            lines += ['', title]
            group = [title, HEADINGS + [heading for heading, _ in ownColumns(shape)]]
        group.append(cells(row) + [cell(row) for _, cell in ownColumns(shape)])
    return '\n'.join(lines + (align(group[1:]) if group else []))


def cells(row):
    ratio = '-' if row['ratio'] is None else f'{row["ratio"]:.2f}'
    paired = '-' if row['ratio_least'] is None else f'{row["ratio_least"]:.2f}..{row["ratio_most"]:.2f}'
    spread = f'{short(row["least"])}..{short(row["most"])}'
    times = [f'{row[field]:.0f}' for field in ('p50_us', 'p90_us', 'p99_us', 'p999_us')]
    return [row['implementation'], short(row['per_cpu_second']), spread, str(row['n']), ratio, paired,
            short(row['rps']), *times, f'{row["switches_per_request"]:.3f}', f'{row["client_busy"] * 100:.0f} %']


def ownColumns(shape):
    """Heading and cell of the columns that only scenarios with a backend, or with messages, have."""
    if shape.think_ms is not None:
        yield 'backend busy', lambda row: f'{row["backend_busy"] * 100:.0f} %'
    if shape.message_bytes is not None:
        yield 'MB/s', lambda row: f'{row["rps"] * row["message_bytes"] / 1e6:.0f}'
        yield 'MB/cpu-s', lambda row: f'{row["per_cpu_second"] * row["message_bytes"] / 1e6:.0f}'


def align(cellRows):
    widths = [max(map(len, column)) for column in zip(*cellRows)]
    lines = []
    for first, *rest in cellRows:
        numbers = (cell.rjust(width) for cell, width in zip(rest, widths[1:]))
        lines.append('  ' + '  '.join([first.ljust(widths[0]), *numbers]))
    return lines


def short(value):
    return f'{value / 1e6:.2f}M' if value >= 1e6 else f'{value / 1e3:.1f}k' if value >= 1e3 else f'{value:.0f}'
