"""Small plots as plain SVG: lines over time, readable on light and dark pages, without a library for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor, log10

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 720, 260, 64, 34, 16, 36
COLOURS = ("#2a7ab9", "#c4632d", "#4b8f4b")
GREY = "#888888"
_TICKS = 5
# About as wide as one is.
LETTER = 7
_FONT = f'font-family="sans-serif" font-size="12" fill="{GREY}"'

Points = Sequence[tuple[float, float]]


def plot(title: str, x_name: str, lines: Mapping[str, Points], marked: float | None = None) -> str:
    """An SVG of lines from zero up; a dashed line stands where `marked` is."""
    across = max(x for points in lines.values() for x, _ in points) or 1.0
    step = _step(max(y for points in lines.values() for _, y in points) or 1.0)
    up = step * _TICKS

    def place(x: float, y: float) -> tuple[float, float]:
        return LEFT + x / across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - y / up * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" {_FONT}>',
        f"<title>{escape(title)}</title>",
        _text(LEFT, 18, title, "start"),
        _text(WIDTH - RIGHT, HEIGHT - 6, x_name, "end"),
    ]
    for tick in range(_TICKS + 1):
        x, y = place(0, tick * step)
        parts += [_line(x, y, WIDTH - RIGHT, y, 0.3), _text(x - 6, y + 4, f"{tick * step:g}", "end")]
        x, y = place(across * tick / _TICKS, 0)
        parts.append(_text(x, y + 16, f"{across * tick / _TICKS:.0f}", "middle"))
    if marked is not None:
        x = place(marked, 0)[0]
        parts.append(_line(x, TOP, x, HEIGHT - BOTTOM, 1.0, dashed=True))
    end = float(WIDTH - RIGHT)
    for number, (name, points) in reversed([*enumerate(lines.items())]):
        colour = COLOURS[number % len(COLOURS)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in points))
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.6" points="{path}"/>')
        parts.append(_text(end, 18, name, "end", colour))
        end -= LETTER * len(name) + 2 * LETTER
    return "\n".join([*parts, "</svg>\n"])


def _step(most: float) -> float:
    """A round distance of ticks, so that five of them hold the most."""
    rough = most / _TICKS
    size = 10.0 ** floor(log10(rough))
    return next(size * nice for nice in (1, 2, 2.5, 5, 10) if size * nice * _TICKS >= most or nice == 10)


def _text(x: float, y: float, text: str, anchor: str, colour: str = GREY) -> str:
    return f'<text x="{x:.1f}" y="{ceil(y)}" text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'


def _line(x: float, y: float, to_x: float, to_y: float, strength: float, *, dashed: bool = False) -> str:
    dashes = ' stroke-dasharray="4 4"' if dashed else ""
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" stroke="{GREY}"'
        f' stroke-opacity="{strength}"{dashes}/>'
    )
