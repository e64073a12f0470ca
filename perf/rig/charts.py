"""The pictures of perf/plot: bars of a summary's ratios, bars of memory, and latencies by share of the requests."""

from .drawing import Linear, Logarithmic, Picture
from .report import shapeOf, short

WIDTH = 760
OURS, FLOOR, OTHERS = '#d9480f', '#868e96', '#74a9cf'
LINES = ['#1c7ed6', '#2b8a3e', '#862e9c', '#0b7285', '#5f3dc4', '#a61e4d', '#495057']
BAR, GAP, NAMES, VALUES = 16, 6, 110, 190      # pixels: of a bar, between two, of the columns on both sides


def ratioBars(results):
    """A panel for each shape: req/cpu-s as a ratio to the floor, the range of the pairs as a whisker."""
    picture = begin(results, 'requests per second of server CPU, as a ratio; whisker: paired samples, least to most')
    rows = [row for row in results['summary'] if not row.get('load') and 'ratio' in row]
    for shape in dict.fromkeys(map(shapeOf, rows)):
        panel, regime = mostSampled([row for row in rows if shapeOf(row) == shape])
        bars(picture, f'{shape}, regime {regime}', [
            (row['implementation'], row['ratio'], pairs(row), isBase(row),
             f'{row["ratio"]:.2f}   {short(row["per_cpu_second"])}/cpu-s, n {row["n"]}') for row in panel])
    return picture if rows else None


def memoryBars(results):
    picture = begin(results, 'resident memory for each idle keep-alive connection, KiB; whisker: least to most')
    bars(picture, f'{results["summary"][0]["connections"]:,} connections', [
        (row['implementation'], row['kib_per_connection'], (row['least'], row['most']), False,
         f'{row["kib_per_connection"]:.2f} KiB, n {row["n"]}') for row in results['summary']])
    return picture


def latencyCurves(results, histograms):
    """A panel for each load: how long the fastest 50, 90, 99, 99.9 % of the requests took."""
    picture = begin(results, 'open loop: latency from when a request was due, by share of the requests')
    names = list(dict.fromkeys(each['implementation'] for each in histograms))
    legend(picture, names)
    panels = {}
    for each in histograms:
        panels.setdefault((shapeOf(each), each['load']), []).append(each)
    panels = {key: mostSampled(group, total) for key, group in panels.items()}
    times = [time for group, _ in panels.values() for each in group for _, time in quantiles(each)]
    for at, ((shape, load), (group, regime)) in enumerate(panels.items()):
        if at % 2 == 0:
            top = picture.grow(250)
        y = Logarithmic(min(times), max(times), top + 212, top + 40)    # the same for all panels
        curves(picture, at % 2 * WIDTH / 2, top, y, (f'{load} % of its own maximum, regime {regime}', shape), group, names)
    return picture


# ---- parts ----

def begin(results, what):
    picture = Picture(WIDTH)
    top = picture.grow(46)
    picture.text(12, top + 18, f'{results["scenario"]}, {results["date"][:10]}', weight='bold', size=14)
    picture.text(12, top + 36, what, fill='#555')
    return picture


def mostSampled(rows, weight=lambda row: row['n']):
    """The rows of the regime with most samples, and that regime: a panel shows one."""
    weights = {}
    for row in rows:
        weights[row['regime']] = weights.get(row['regime'], 0) + weight(row)
    regime = max(weights, key=weights.get)
    return [row for row in rows if row['regime'] == regime], regime


def pairs(row):
    return row.get('ratio_least', row['ratio']), row.get('ratio_most', row['ratio'])


def isBase(row):
    return row['ratio'] == row.get('ratio_least') == row.get('ratio_most') == 1.0


def isOurs(name):
    return name.startswith('weft') and 'split' not in name


def bars(picture, title, entries):
    """`entries`: name, value, (least, most), whether it is the base of the others, text after the bar."""
    top = picture.grow(26 + len(entries) * (BAR + GAP) + 10)
    picture.text(12, top + 16, title, weight='bold')
    most = max(max(value, ends[1]) for _, value, ends, _, _ in entries) or 1
    x = Linear(0, most, NAMES, WIDTH - VALUES)
    first = top + 26
    for at, (name, value, (low, high), base, text) in enumerate(entries):
        y = first + at * (BAR + GAP)
        picture.text(NAMES - 8, y + BAR - 4, name, anchor='end', weight='bold' if isOurs(name) else 'normal')
        picture.rect(x(0), y, x(value) - x(0), BAR, OURS if isOurs(name) else FLOOR if base else OTHERS)
        if high > low:
            picture.line(x(low), y + BAR / 2, x(high), y + BAR / 2, width=1.5)
        picture.text(WIDTH - VALUES + 10, y + BAR - 4, text)
    base = next((value for _, value, _, isBase_, _ in entries if isBase_), None)
    if base is not None:
        picture.line(x(base), first - 4, x(base), first + len(entries) * (BAR + GAP) - GAP + 4, stroke='#888')


def colourOf(name, names):
    if isOurs(name):
        return OURS
    return LINES[[each for each in names if not isOurs(each)].index(name) % len(LINES)]


def legend(picture, names):
    top, x = picture.grow(24), 12
    for name in names:
        picture.line(x, top + 10, x + 20, top + 10, stroke=colourOf(name, names), width=2.5 if isOurs(name) else 1.5)
        picture.text(x + 25, top + 14, name)
        x += 25 + 7 * len(name) + 20


def total(histogram):
    return sum(count for _, count in histogram['ns_count'])


def quantiles(histogram):
    """(1 / share of slower requests, microseconds) at each bucket, as far as 1 request in 10,000 is slower."""
    points, seen, whole = [], 0, total(histogram)
    for nanoseconds, count in histogram['ns_count']:
        slower = (whole - seen) / whole    # share of requests in this bucket or a slower one
        if slower < 1e-4:
            break
        points.append((1 / slower, max(nanoseconds, 1) / 1000))
        seen += count
    return points


def curves(picture, left, top, y, titles, group, names):
    x = Logarithmic(1, 1e4, left + 68, left + WIDTH / 2 - 26)
    picture.text(left + 12, top + 14, titles[0], weight='bold')
    picture.text(left + 12, top + 30, f'{titles[1]}; microseconds', fill='#555', size=11)
    for tick, label in zip(x.ticks(), ('0', '90 %', '99 %', '99.9 %', '99.99 %')):
        picture.line(x(tick), y.begin, x(tick), y.end, stroke='#ddd')
        picture.text(x(tick), top + 228, label, anchor='middle', size=11)
    for tick in y.ticks():
        picture.line(x.begin, y(tick), x.end, y(tick), stroke='#ddd')
        picture.text(x.begin - 6, y(tick) + 4, f'{tick:,.0f}' if tick >= 1 else f'{tick:g}', anchor='end', size=11)
    for each in group:
        name = each['implementation']
        picture.curve(thinned([(x(share), y(time)) for share, time in quantiles(each)]), colourOf(name, names),
                      2.5 if isOurs(name) else 1.5)


def thinned(points, pixels=2.5):
    """Without the points that are too close to the one before to be seen."""
    kept = points[:1]
    for point in points[1:]:
        if max(abs(point[0] - kept[-1][0]), abs(point[1] - kept[-1][1])) >= pixels:
            kept.append(point)
    return kept
