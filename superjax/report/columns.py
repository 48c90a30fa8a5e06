"""The columns of the commands' tables: titles, units, formats, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from superjax.report.section import Cell, Column

_LAWS = (
    "jl_proven: proven by random projection; jl_random: of the best of 1000 random draws; jl, jl_optimised, ratio, "
    "full: fitted to optimised packings; quantile: no fitted constant; *: extrapolated"
)
_COLUMNS = (
    Column("model"),
    Column("matrix", meaning="which matrix of the model"),
    Column("tensor", meaning="its name in the file"),
    Column("dtype"),
    Column("vocab", "rows", format=",.0f", meaning="rows of the matrix"),
    Column("rows_used", "used", format=",.0f", meaning="rows that are finite and not zero"),
    Column("rows_duplicate", "duplicates", format=",.0f", meaning="rows equal to an earlier one"),
    Column("pairs", format=",.0f", meaning="pairs of rows, each once"),
    Column("dim", "d", format=".0f", meaning="dimension"),
    Column("mean", unit="cosine", format=".5f", meaning="of the cosine over all pairs"),
    Column("std", unit="cosine", format=".5f", meaning="of the cosine over all pairs"),
    Column("epsilon", unit="cosine", format=".5f", meaning="mean + 2 std, the accepted deviation"),
    Column("class", format=".0f", meaning="1: epsilon > 0.2; 2: epsilon < 0.1"),
    Column("capacity", unit="directions", format=".3g", meaning="by the full law; none for class 1"),
    Column("mean_sq_overlap_times_d", "d · mean cos²", format=".3g", meaning="1 for random directions"),
    Column("min_cosine", unit="cosine", format=".4f"),
    Column("max_cosine", unit="cosine", format=".4f"),
    Column("n", format=",.0f", meaning="features of a toy model; rows used by a fit"),
    Column("m", format=".0f", meaning="hidden dimensions"),
    Column("distribution", "law of data"),
    Column("alpha", format=".3g", meaning="exponent of the features' frequencies"),
    Column("density", format=".3g", meaning="active features a sample, on average"),
    Column("decay", "decay γ", format="+.3g", meaning="weight decay above 0, growth towards unit rows below"),
    Column("importance", format=".3g", meaning="r of the loss's weights r^i"),
    Column("lr", "learning rate", format=".3g"),
    Column("seed", format=".0f"),
    Column("loss", format=".4g", meaning="squared error summed over features, on fresh data"),
    Column("loss_stderr", "± loss", format=".2g", meaning="standard error of the loss"),
    Column("phi_half", "φ½", format=".3f", meaning="share of features with a row longer than 1/2"),
    Column("phi_one", "φ₁", format=".3f", meaning="share of features with a row longer than 1"),
    Column("mean_sq_overlap", "mean cos²", format=".4g", meaning="over all pairs of rows"),
    Column("welch", "Welch κ²", format=".4g", meaning="the least mean cos² that is possible"),
    Column("one_over_m", "1/m", format=".4g", meaning="mean cos² of random directions"),
    Column("status"),
    Column("objective"),
    Column("k", format=",.0f", meaning="number of vectors"),
    Column("d", format=".6g", meaning="dimension"),
    Column("value", format=".6f", meaning="of the objective, reached"),
    Column("coherence", unit="cosine", format=".6f", meaning="largest |cosine| of two"),
    Column("lower_bound", "proven bound", unit="cosine", format=".6f", meaning="no packing is below"),
    Column("bound_name", "bound by"),
    Column("random_mean", "random", unit="cosine", format=".4f", meaning="mean coherence of random vectors"),
    Column("published", unit="cosine", format=".4f", meaning="published optimum of the same size"),
    Column("construction", "built", unit="cosine", format=".4f", meaning="best explicit construction"),
    Column("construction_name", "construction"),
    Column("restarts", format=".0f"),
    Column("steps", format=",.0f"),
    Column("seconds", unit="s", format=".1f"),
    Column("shown", "law", meaning=_LAWS),
    Column("kind"),
    Column("law"),
    Column("low_k", "k ≤ d", meaning="what was done with rows of k ≤ d"),
    Column("C", format=".5g"),
    Column("a", format=".5g"),
    Column("b", format=".5g"),
    Column("c", format=".5g"),
    Column("s", format=".5g"),
    Column("r2", "R²", format=".5f"),
    Column("mape", "mean error", unit="%", format=".3f"),
    Column("median_ape", "median error", unit="%", format=".3f"),
    Column("leave_one_d_out", "left-out d", unit="%", format=".3f", meaning="error at a d left out of the fit"),
    Column("aic", "AIC", format=".1f"),
    Column("directions"),
    Column("log10_k", "log₁₀ k", format=".2f", meaning="within what is possible"),
    Column("formula", meaning="what the law's formula says by itself"),
    Column("covariance_log10_k", "95 % covariance", unit="log₁₀ k", meaning="none where the answer is held at a limit"),
    Column("bootstrap_log10_k", "95 % bootstrap", unit="log₁₀ k"),
    Column("covariance", "95 % covariance", unit="of the answer", meaning="none where the answer is held at a limit"),
    Column("bootstrap", "95 % bootstrap", unit="of the answer"),
    Column("reads", "answer"),
    Column("from", "by"),
    Column("extrapolated", meaning="outside the range the law was fitted on"),
    Column("group"),
    Column("exponent", format=".3f"),
    Column("exponent_stderr", "± exponent", format=".3f"),
    Column("stderr", "± exponent", format=".3f"),
    Column("interval_low", "95 % low", format=".4f"),
    Column("interval_high", "95 % high", format=".4f"),
    Column("width_exponent", "exponent of width", format=".3f"),
    Column("scale", format=".4g"),
    Column("offset", "B", format=".4f"),
)
_BY_KEY = {column.key: column for column in _COLUMNS}


def columns_of(keys: Sequence[str]) -> list[Column]:
    """A column for every key; keys nobody knows are their own title."""
    return [_BY_KEY.get(key, Column(key)) for key in keys]


def typed(rows: Sequence[Mapping[str, str]]) -> list[dict[str, Cell]]:
    """The rows with numbers as numbers, truth values as such and empty cells as None, column by column.

    A column is of numbers where every cell that is not empty is one.

    Example:
        >>> typed([{"d": "4", "name": "8"}, {"d": "", "name": "x"}])
        [{'d': 4.0, 'name': '8'}, {'d': None, 'name': 'x'}]
    """
    keys = list(rows[0]) if rows else []
    columns = {key: _typed_column([row[key] for row in rows]) for key in keys}
    return [{key: columns[key][place] for key in keys} for place in range(len(rows))]


def _typed_column(cells: Sequence[str]) -> list[Cell]:
    filled = [cell for cell in cells if cell != ""]
    if filled and set(filled) <= {"True", "False"}:
        return [None if cell == "" else cell == "True" for cell in cells]
    numbers = [_finite(cell) for cell in cells]
    if all(number is not None for number, cell in zip(numbers, cells, strict=True) if cell != ""):
        return list(numbers)
    return [cell or None for cell in cells]


def _finite(cell: str) -> float | None:
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if number - number == 0 else None
