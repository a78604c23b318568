"""The samples of a row of tokens, by the positions that the model gets."""

from __future__ import annotations

from typing import NamedTuple, Optional

# What a byte says of a token: nothing is learnt from it; it is the token of the row's first place, or of the last one; labels are there.
NO_LABEL, AS_FIRST, AS_LAST, LABELLED = 1, 2, 4, 8
_TEXT_AND_AXES = 4  # planes: positions in the text, and on the three axes of an image
_FILL = 1  # of padding, in transformers
_PADDING, _SAMPLES, _UNSURE = "padding", "samples", "unsure"

_Column = tuple[int, ...]


class Row(NamedTuple):
    """A row of tokens."""

    columns: list[_Column]  # the positions of each token
    marks: Optional[list[int]]  # None where there are no numbers of tokens
    alone: bool  # it has no other row beside it

    def all_have(self, mark: int, begin: int, end: int) -> bool:
        """False without marks."""
        return self.marks is not None and all(x & mark == mark for x in self.marks[begin:end])

    @property
    def labelled(self) -> bool:
        """Whether labels tell what is learnt."""
        return self.marks is not None and self.all_have(LABELLED, 0, len(self.marks))

    def learns(self, begin: int, end: int) -> bool:
        """Whether labels tell that each of the tokens is learnt."""
        return self.labelled and self.marks is not None and not any(x & NO_LABEL for x in self.marks[begin:end])

    def is_blank(self, begin: int, end: int, edge: int) -> bool:
        """Whether labels tell that nothing is learnt from what is the same token as that of the edge."""
        return self.labelled and self.all_have(NO_LABEL | edge, begin, end)

    def begins(self, i: int, start: int) -> bool:
        """Whether a sample begins here, where the last one began at `start`."""
        x, before = self.columns[i], self.columns[i - 1]
        if len(x) == 1:
            return x[0] != before[0] + 1
        return x[0] < before[0] or x in (before, self.columns[start])  # on axes, none comes twice in a sample


def spans_of(planes: list[list[int]], marks: Optional[list[int]], alone: bool) -> tuple[list[tuple[int, int]], bool]:
    """Where each sample of a row begins and ends, and whether something at its begin is work only because nothing tells what it is."""
    columns: list[_Column] = list(zip(*(planes[:1] if len(planes) == _TEXT_AND_AXES else planes)))
    row = Row(columns, marks, alone)
    places = [i for i, x in enumerate(columns) if x[0] >= 0]  # others are padding
    if not places:
        return [], False
    first, end = places[0], places[-1] + 1
    if end - first > 1 and columns[first:end].count(columns[first]) == end - first:
        return _still(row, first, end)
    joined = first
    if end - first == len(columns):  # padding is on one side of a row
        end = _without_padding(row, first, end)
        if end == len(columns):
            first, joined = _leading(row, first, end)
    spans, start = list[tuple[int, int]](), -1
    for i in range(first, end):
        if start >= 0 and (columns[i][0] < 0 or (i >= joined and row.begins(i, start))):
            spans.append((start, i))
            start = -1
        if start < 0 <= columns[i][0]:
            start = i
    if start >= 0:
        spans.append((start, end))
    return _without_blanks(row, spans), joined > first


def _without_padding(row: Row, first: int, end: int) -> int:
    """The end of a row without what stands still there. The first of these may be the last token of a sample, or a sample."""
    run = end - 1
    while run > first and row.columns[run - 1] == row.columns[run]:
        run -= 1
    length, begins = end - run, row.begins(run, first)
    if length == 1 or (begins and row.learns(run, end) and not row.all_have(AS_LAST, run, end)):
        return end
    kept = _learnt_before_blanks(row, run, end)
    if kept is not None:
        return kept
    apart = not row.labelled and length > 2 and row.all_have(AS_LAST, run + 1, end) and not row.all_have(AS_LAST, run, run + 1)
    return run + 1 if apart or not begins else run


def _learnt_before_blanks(row: Row, begin: int, end: int) -> Optional[int]:
    """Up to where labels tell samples, where they tell that the rest is padding."""
    at = end
    while at > begin and row.is_blank(at - 1, at, AS_LAST):
        at -= 1
    same = at > begin + 1 and row.all_have(AS_LAST, begin, at)  # labels that are copies of the ids, or moved by one
    return None if at == end or same else at


def _leading(row: Row, first: int, end: int) -> tuple[int, int]:
    """Where the samples of a row begin without what stands still there, and up to where nothing begins as nothing tells what that is."""
    run = first + 1
    while run < end and row.columns[run] == row.columns[first]:
        run += 1
    own = run < end and not row.begins(run, run - 1)  # the last of these is the first token of a sample
    rest = run - 1 if own else run
    if rest == first or run == end:
        return first, first
    if run - first > 1 and row.is_blank(first, run, AS_FIRST):
        return run, run
    kind = _kind(row, first, rest, own)
    if kind == _PADDING:
        return rest, rest
    return first, run + 1 if kind == _UNSURE else first


def _kind(row: Row, first: int, rest: int, own: bool) -> str:
    """What stands still at the begin of a row: padding, samples of one token, or nobody knows."""
    one, learns = rest - first == 1, row.learns(first, rest)
    same = row.marks is None or row.all_have(AS_FIRST, first, rest)
    if learns and (one or not same):
        return _SAMPLES
    if one and own:
        return _SAMPLES if row.alone else _PADDING if row.is_blank(first, rest, AS_FIRST) else _UNSURE
    if one:  # also the end of a document
        fills = all(x == _FILL for x in row.columns[first])
        return _SAMPLES if not fills else _PADDING if row.is_blank(first, rest, AS_FIRST) else _UNSURE
    if not own:
        return _PADDING
    mixed = row.labelled and not learns and not row.all_have(NO_LABEL, first, rest)
    return _PADDING if same and not mixed else _UNSURE


def _still(row: Row, first: int, end: int) -> tuple[list[tuple[int, int]], bool]:
    """Of a row whose positions are all the same: padding, but for samples of one token at an edge."""
    if row.labelled:
        last = _learnt_before_blanks(row, first, end)
        if last is not None and last > first and row.learns(first, last):
            return [(i, i + 1) for i in range(first, last)], False
    for at, edge, others in ((first, AS_LAST, (first + 1, end)), (end - 1, AS_FIRST, (first, end - 1))):
        pads = row.is_blank(*others, edge) if row.labelled else others[1] - others[0] > 1 and row.all_have(edge, *others)
        if pads and not (row.is_blank(at, at + 1, edge) if row.labelled else row.all_have(edge, at, at + 1)):
            return [(at, at + 1)], False
    if row.marks is None or row.all_have(AS_FIRST, first, end):
        return [], False
    return [(first, end)], True


def _without_blanks(row: Row, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Without padding that has positions of its own, at both ends of a row."""
    while spans and row.is_blank(*spans[-1], AS_LAST):
        spans.pop()
    while spans and spans[0][1] - spans[0][0] > 1 and row.is_blank(*spans[0], AS_FIRST):
        spans.pop(0)
    if len(spans) > 1 and not row.labelled and spans[-1][1] - spans[-1][0] == 1:
        last = row.columns[spans[-1][0]]
        if all(x == _FILL for x in last) and last != row.columns[spans[0][0]]:
            spans.pop()
    return spans
