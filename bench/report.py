"""Renders measurements as Markdown: how long the first contender takes as a multiple of what each other takes.

Ratios, not times: times tell about the machine, ratios of one interleaved run tell about the contenders.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import shorten

from bench.measure import Measurement

# How many characters of a refusal are shown.
REFUSAL = 300


@dataclass(frozen=True)
class Part:
    """What was measured on one table. `cannot` says of contenders that were not measured why they could not read it.

    `shows_times` where there is a time to be reached, and not only a ratio.
    """

    title: str
    measurements: Sequence[Measurement]
    contenders: Sequence[str]
    cannot: Mapping[str, str] = field(default_factory=dict)
    shows_times: bool = False


def ratio(ours: float, theirs: float) -> str:
    """`ours` as a multiple of `theirs`, with two digits that mean something: 0.052, 0.85, 1.2, 14."""
    value = ours / theirs
    if value >= 9.95:
        return f"{value:.0f}"
    if value >= 0.995:
        return f"{value:.1f}" if value >= 1.95 else f"{value:.2f}"
    return f"{value:.2g}" if value < 0.1 else f"{value:.2f}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table: the first column is text, the others are numbers."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def ratio_table(measurements: Sequence[Measurement], contenders: Sequence[str], cannot: Collection[str] = ()) -> str:
    """One row a query, one column for each contender but the first; those that cannot read the table come last."""
    first, *others = contenders
    medians: dict[str, dict[str, float]] = {}
    for measurement in measurements:
        medians.setdefault(measurement.query.title, {})[measurement.contender] = measurement.median
    rows = [
        [title, *(ratio(of_query[first], of_query[other]) for other in others), *("cannot" for _ in cannot)]
        for title, of_query in medians.items()
    ]
    return table(["query", *(f"{first} / {other}" for other in [*others, *cannot])], rows)


def spread_note(measurements: Sequence[Measurement]) -> str:
    """How far apart the rounds of the least steady measurement were."""
    worst = max(measurements, key=lambda measurement: measurement.spread)
    return (
        f"Least steady: {worst.query.title} on {worst.contender}, "
        f"its slowest round {worst.spread:.2f} times its fastest."
    )


def times(measurements: Sequence[Measurement], contender: str) -> str:
    """How long a contender took for each query."""
    medians = [
        f"{measurement.query.title} {1000 * measurement.median:.0f} ms"
        for measurement in measurements
        if measurement.contender == contender
    ]
    return f"{contender}: {', '.join(medians)}."


def refusals(cannot: Mapping[str, str]) -> str:
    """A line for each contender that cannot read the table, with the beginning of what it says."""
    return "".join(f"{name} cannot read this table: {shorten(reason, REFUSAL)}\n\n" for name, reason in cannot.items())


def report(parts: Sequence[Part], facts: Mapping[str, str]) -> str:
    """The whole report: what was measured and under what conditions, then the ratios, a heading a table."""
    text = "\n".join(f"- {name}: {value}" for name, value in facts.items()) + "\n"
    for part in parts:
        text += f"\n## {part.title}\n\n{ratio_table(part.measurements, part.contenders, part.cannot)}\n\n"
        if part.shows_times:
            text += f"{times(part.measurements, part.contenders[0])}\n\n"
        text += f"{refusals(part.cannot)}{spread_note(part.measurements)}\n"
    return text
