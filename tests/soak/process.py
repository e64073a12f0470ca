"""The kernel's figures for the server's process, and whether they stay constant."""

import os
import re
from dataclasses import dataclass

GROWTH = 0.01  # of the memory: most growth of the line through the last two thirds of a flat run
LEAST_MINUTES = 15  # shorter runs show the warm-up and are not judged


@dataclass(frozen=True)
class Sample:
    seconds: float
    kib: int  # resident
    threads: int
    descriptors: int
    mappings: int

    def __str__(self):
        return (f'{self.seconds:6.0f} s  {self.kib:7,} KiB resident  {self.descriptors:6,} descriptors  '
                f'{self.threads} threads  {self.mappings} mappings')


def look(pid, seconds=0.0):
    with open(f'/proc/{pid}/status') as file:
        status = dict(re.findall(r'(VmRSS|Threads):\s+(\d+)', file.read()))
    with open(f'/proc/{pid}/maps') as file:
        mappings = sum(1 for _ in file)
    return Sample(seconds, int(status['VmRSS']), int(status['Threads']), len(os.listdir(f'/proc/{pid}/fd')), mappings)


def growth(points):
    """The growth of the line that best fits (x, y), from the first x to the last."""
    middle = sum(x for x, _ in points) / len(points)
    spread = sum((x - middle) ** 2 for x, _ in points)
    slope = sum((x - middle) * y for x, y in points) / spread
    return slope * (points[-1][0] - points[0][0])


def judged(samples):
    """The part of a run that counts: without its first third."""
    return [sample for sample in samples if sample.seconds * 3 >= samples[-1].seconds]


def grown(samples):
    """The message that the memory is not flat, or None."""
    part = judged(samples)
    kib, most = growth([(sample.seconds, sample.kib) for sample in part]), GROWTH * part[0].kib
    if kib <= most:
        return None
    return (f'the memory is not flat: over the last {part[-1].seconds - part[0].seconds:.0f} s it grows by {kib:,.0f} KiB '
            f'({part[0].kib:,} to {part[-1].kib:,}), and {100 * GROWTH:.0f} % are {most:,.0f} KiB')
