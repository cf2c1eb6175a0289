"""Intervals on a line, as pairs of numbers."""


def merge(intervals):
    """The same points as INTERVALS, in as few intervals as can be, sorted."""
    merged = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return merged


def covered(intervals):
    """How much of the line they cover."""
    return sum(end - start for start, end in merge(intervals))
