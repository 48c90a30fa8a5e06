"""What each figure shows, and what to look for in it."""

from __future__ import annotations

from typing import NamedTuple


class Caption(NamedTuple):
    """A figure in words: what it shows (its alternative text too), and what to look for."""

    shows: str
    look_for: str


_CAPTIONS = {
    ("embed", "distribution"): Caption(
        "Distribution of the cosines of all pairs of rows, beside random vectors of the same dimension",
        "How far the peak lies from 0 (a common direction) and how much wider it is than the dotted curve of random "
        "vectors. epsilon, mean + 2 std, is the deviation from orthogonality the model accepts.",
    ),
    ("embed", "norms"): Caption(
        "Distribution of the lengths of the rows",
        "A second peak or a tail of very short rows: tokens that were hardly trained, or rows that only pad the "
        "vocabulary.",
    ),
    ("embed", "hubs"): Caption(
        "Rows that are most often another row's nearest neighbour",
        "A few rows that are near to thousands of others: often unused tokens that share one direction.",
    ),
    ("embed", "partners"): Caption(
        "Cosine of each token's input vector with its own output vector",
        "A mean near 0: the two matrices use different directions, so both claim their share of the space.",
    ),
    ("embed", "dimension_against_epsilon"): Caption(
        "Dimension against epsilon, a point for each matrix",
        "The gap between 0.1 and 0.2: models lie above it (class 1, a common direction) or below it (class 2).",
    ),
    ("embed", "overlap_against_dimension"): Caption(
        "Mean squared cosine against dimension, a point for each matrix",
        "How far the points lie above 1/d of random directions: rows with a common direction, or in fewer dimensions.",
    ),
    ("train", "loss"): Caption(
        "Test loss against hidden dimension m, a curve for each decay, or for seven of them",
        "The slope: growth (γ < 0) follows 1/m whatever the data, decay (γ > 0) keeps the most frequent features only "
        "and follows their tail.",
    ),
    ("train", "exponents"): Caption(
        "Exponent of loss against m, over the features' exponent and the decay",
        "An even field near 1 on the left (strong superposition); on the right it follows the data.",
    ),
    ("train", "exponent_curves"): Caption(
        "Exponent of loss against m, over the features' exponent, a curve for each decay",
        "Curves of growth lie near 1 and rise beyond an exponent of 1.5; those of decay follow the dashed line of the "
        "first m features kept.",
    ),
    ("train", "loss_against_density"): Caption(
        "Test loss against activation density, a line for each m",
        "Straight lines: more active features raise the loss in proportion, and leave the exponent alone.",
    ),
    ("train", "loss_against_theory"): Caption(
        "Test loss under decay against the loss of exactly the features that a model does not represent",
        "Points on the diagonal keep the most frequent features and ignore the rest; those above pay for overlaps.",
    ),
    ("train", "strongly_represented"): Caption(
        "Share of features with a row longer than 1 under growth, against m",
        "Shares that grow with m towards 1. The dotted line, where m²/2 rows would be long, is a guide and no bound: "
        "shares may lie on either side of it.",
    ),
    ("train", "dimensionality"): Caption(
        "Dimensions each feature has to itself against sparsity, beside those of simple polytopes",
        "Plateaus, at 1/2 above all: features that share a dimension in antipodal pairs.",
    ),
    ("train", "represented"): Caption(
        "Share of features with a row longer than 1/2",
        "The jump between γ < 0, where nearly all features are represented, and γ > 0, where about m are.",
    ),
    ("train", "geometry"): Caption(
        "Lengths of rows, cosines of pairs of long rows, and mean and variance of the squared cosine against m",
        "Above: lengths pile up at 0 and 1 under decay. Below: points on the full lines are no better than "
        "random; the dotted guide is the least mean that min(n, m²/2) rows can have, which fewer long rows pass.",
    ),
    ("train", "gram"): Caption(
        "W Wᵀ of some of the smallest models",
        "A diagonal block alone means orthogonal features; colour off the diagonal is interference.",
    ),
    ("pack", "steps"): Caption(
        "The objective over the steps of the search, beside what is proven, published and constructed",
        "Whether the curve has levelled off, and how far above the proven bound.",
    ),
    ("pack", "gram"): Caption(
        "Distribution of the cosines of all pairs, before and after",
        "Walls at ± the coherence: a good packing pushes many pairs onto the same largest |cosine|.",
    ),
    ("pack", "picture"): Caption(
        "The points on the sphere, of lines both ends, and segments between the nearest pairs; faint: behind",
        "Symmetry: the best packings of few points are the vertices of polyhedra, the segments their edges.",
    ),
    ("pack", "coherence"): Caption(
        "Coherence or largest cosine against k, a colour or panel for each dimension, beside bounds and constructions",
        "Points between random and bound; a construction below the points is a set the search did not find.",
    ),
    ("fit", "surfaces"): Caption(
        "The fitted laws over k and d, with the table's points",
        "Where the surface leaves the points: usually at the smallest k/d.",
    ),
    ("fit", "curves"): Caption(
        "The fitted laws against k, a curve for each dimension, with the table's points",
        "Curves that miss the points at one end: the law has the wrong form there.",
    ),
    ("fit", "residuals"): Caption(
        "Error of each law at each point",
        "A trend instead of a band around 0: the form of the law, not its constants, is wrong there.",
    ),
    ("fit", "power"): Caption(
        "The fitted power law and its points",
        "Points that bend away at either end: they are no power law, and a window helps.",
    ),
    ("fit", "offset"): Caption(
        "Loss less its group's offset, against width",
        "All groups on one line: the offset alone tells them apart.",
    ),
    ("capacity", "epsilon"): Caption(
        "Largest |cosine| of k directions against k: built, expected by the laws, random, impossible",
        "Crosses, the published optima, lie between the bound and random directions; a construction below them is what "
        "their optimiser did not find.",
    ),
    ("capacity", "bracket"): Caption(
        "Number of directions against epsilon: what can be built, what the laws expect, what is impossible",
        "The gap between the curves. A law below the constructed line describes what optimisers find, not what fits.",
    ),
}


def caption_of(command: str, figure: str) -> Caption:
    """The caption of a figure: of the longest name known that the figure's name begins with.

    Args:
        command: the command that drew it.
        figure: its name, such as "distribution_0".

    Example:
        >>> caption_of("embed", "distribution_0").shows[:12]
        'Distribution'
        >>> caption_of("other", "some_curve").shows
        'some curve'
    """
    known = [name for of, name in _CAPTIONS if of == command and figure.startswith(name)]
    if not known:
        return Caption(figure.replace("_", " ").replace("-", " "), "")
    return _CAPTIONS[command, max(known, key=len)]
