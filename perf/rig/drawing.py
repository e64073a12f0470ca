"""Small pictures as SVG text: rectangles, lines, texts, and the scales that map values to pixels."""

import math
from xml.sax.saxutils import escape

FONT = 'font-family="sans-serif" font-size="12"'


class Picture:
    """Coordinates in pixels, from the upper left corner."""

    def __init__(self, width):
        self.width, self.height = width, 0
        self.parts = []

    def grow(self, height):
        """Room for `height` more pixels below; returns where it begins."""
        top, self.height = self.height, self.height + height
        return top

    def rect(self, x, y, width, height, fill):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"/>')

    def line(self, x1, y1, x2, y2, stroke='#333', width=1.0):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}" '
                          f'stroke-width="{width}"/>')

    def curve(self, points, stroke, width):
        text = ' '.join(f'{x:.1f},{y:.1f}' for x, y in points)
        self.parts.append(f'<polyline points="{text}" fill="none" stroke="{stroke}" stroke-width="{width}"/>')

    def text(self, x, y, text, anchor='start', weight='normal', fill='#222', size=12):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}" fill="{fill}" '
                          f'font-size="{size}">{escape(text)}</text>')

    def __str__(self):
        return '\n'.join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
                          f'viewBox="0 0 {self.width} {self.height}" {FONT}>',
                          f'<rect width="{self.width}" height="{self.height}" fill="#ffffff"/>',
                          *self.parts, '</svg>']) + '\n'


class Linear:
    def __init__(self, least, most, begin, end):
        self.least, self.most, self.begin, self.end = least, most, begin, end

    def __call__(self, value):
        return self.begin + (value - self.least) / (self.most - self.least) * (self.end - self.begin)


class Logarithmic:
    """Of positive values; the ends are moved out to powers of ten."""

    def __init__(self, least, most, begin, end):
        self.lowest = math.floor(math.log10(least))
        self.highest = max(math.ceil(math.log10(most)), self.lowest + 1)
        self.begin, self.end = begin, end

    def __call__(self, value):
        share = (math.log10(value) - self.lowest) / (self.highest - self.lowest)
        return self.begin + share * (self.end - self.begin)

    def ticks(self):
        return [10.0 ** power for power in range(self.lowest, self.highest + 1)]
