"""Samples to a summary, and the summary to a table. Medians with min..max and n; ratios only inside one regime."""

from statistics import median


def summarise(samples, floor):
    """One row per (depth, load, regime, implementation), in the order in which they were measured."""
    groups = {}
    for sample in samples:
        if sample['kept']:
            key = (sample['depth'], sample['load'], sample['regime'], sample['implementation'])
            groups.setdefault(key, []).append(sample)
    order = {}
    for sample in samples:
        order.setdefault(sample['implementation'], len(order))
    rows = []
    for key in sorted(groups, key=lambda each: (each[0], each[1] or 0, each[2], order[each[3]])):
        depth, load, regime, name = key
        group = groups[key]
        row = {'depth': depth, 'load': load, 'regime': regime, 'implementation': name, 'n': len(group)}
        for field in ('per_cpu_second', 'rps', 'p50_us', 'p99_us', 'p999_us', 'switches_per_request', 'client_busy'):
            row[field] = median(sample[field] for sample in group)
        perCpu = [sample['per_cpu_second'] for sample in group]
        row['least'], row['most'] = min(perCpu), max(perCpu)
        base = groups.get((depth, load, regime, floor), [])
        row['ratio'] = row['per_cpu_second'] / median(s['per_cpu_second'] for s in base) if base else None
        paired = pairedRatios(group, base)
        row['ratio_least'], row['ratio_most'] = (min(paired), max(paired)) if paired else (None, None)
        rows.append(row)
    return rows


def pairedRatios(group, base):
    """This implementation over the floor of the same round: neighbours in time."""
    floorOfRound = {sample['round']: sample['per_cpu_second'] for sample in base}
    return [sample['per_cpu_second'] / floorOfRound[sample['round']]
            for sample in group if sample['round'] in floorOfRound]


HEADINGS = ['implementation', 'req/cpu-s', 'min..max', 'n', 'ratio', 'paired', 'req/s', 'p50 us', 'p99 us', 'ctx/req',
            'client busy']


def table(rows):
    lines, group = [], []
    for row in rows:
        title = f'depth {row["depth"]}, regime {row["regime"]}'
        if row['load']:
            title += f', open loop at {row["load"]} % of its own maximum'
        if not group or group[0] != title:
            lines += align(group[1:]) if group else []
            lines += ['', title]
            group = [title, HEADINGS]
        group.append(cells(row))
    return '\n'.join(lines + (align(group[1:]) if group else []))


def cells(row):
    ratio = '-' if row['ratio'] is None else f'{row["ratio"]:.2f}'
    paired = '-' if row['ratio_least'] is None else f'{row["ratio_least"]:.2f}..{row["ratio_most"]:.2f}'
    spread = f'{short(row["least"])}..{short(row["most"])}'
    return [row['implementation'], short(row['per_cpu_second']), spread, str(row['n']), ratio, paired,
            short(row['rps']), f'{row["p50_us"]:.0f}', f'{row["p99_us"]:.0f}',
            f'{row["switches_per_request"]:.3f}', f'{row["client_busy"] * 100:.0f} %']


def align(cellRows):
    widths = [max(map(len, column)) for column in zip(*cellRows)]
    lines = []
    for first, *rest in cellRows:
        numbers = (cell.rjust(width) for cell, width in zip(rest, widths[1:]))
        lines.append('  ' + '  '.join([first.ljust(widths[0]), *numbers]))
    return lines


def short(value):
    return f'{value / 1e6:.2f}M' if value >= 1e6 else f'{value / 1e3:.1f}k' if value >= 1e3 else f'{value:.0f}'
