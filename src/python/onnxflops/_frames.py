"""Reports as tables of pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pandas

    from onnxflops._core import Report


def to_pandas(report: Report, by: Literal["module", "op", "node"]) -> pandas.DataFrame:
    """A row for each module, operator or node. Columns of whole numbers stay exact: int64, or objects."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_pandas() needs pandas: pip install 'onnxflops[pandas]'") from error
    return pandas.DataFrame.from_records(report.rows(by))
