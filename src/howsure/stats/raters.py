"""Several raters without a known truth: how reliable each is, and which answer is right, and how surely (Dawid and
Skene 1979). Each answer has one true class; each rater says each class with its own chances, given the truth, and
raters err independently. For ordered classes a rater has two parameters only: how far it leans, and how widely it
scatters.

Fitted by expectation and maximisation; a few pseudo-ratings (`prior`) keep small samples from certainty."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.stats import beta, chi2

from howsure.stats.intervals import Interval

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

MISSING = -1
PRIOR = 0.5
"""Pseudo-ratings of each class for each true class; a right one counts twice. For ordered classes only neighbours get
them: a 5 for a 1 would weigh as much as sixteen errors by one step."""
STEPS = 2000
MOST_PATTERNS = 100_000
CLOSE = 1e-9


class RaterModel(Struct, frozen=True, kw_only=True):
    """`shares` of the true classes; `confusion[rater, true, said]`; `answers[item, class]`, the chance of each class.
    `leans` and `spreads` are those of ordered classes, in steps of the scale."""

    shares: Floats
    confusion: Floats
    answers: Floats
    leans: Floats | None = None
    spreads: Floats | None = None


def dawid_skene(ratings: Whole, classes: int, *, ordered: bool = False, prior: float = PRIOR) -> RaterModel:
    """Ratings by item and rater, as places of classes; `MISSING` where a rater said nothing. A model starts from what
    most raters say, so that classes keep their names."""
    said = (ratings[:, :, None] == np.arange(classes)).astype(np.float64)  # item, rater, class
    imagined = _imagined(classes, prior, ordered=ordered)
    answers = _normalized(said.sum(axis=1) + 1e-9)
    shares, confusion = np.ones(classes), said
    shape = np.tile(np.array([[-1.0], [0.0]]), (1, ratings.shape[1]))
    for _ in range(STEPS):
        counts = np.einsum("ik,irl->rkl", answers, said) + imagined
        shares = _normalized(answers.sum(axis=0) + prior)
        shape, confusion = _ordered(counts, shape) if ordered else (shape, _normalized(counts))
        before, answers = answers, _expect(said, shares, confusion)
        if np.max(np.abs(answers - before)) < CLOSE:
            break
    leans, spreads = (shape[1] / (-2 * shape[0]), np.sqrt(-0.5 / shape[0])) if ordered else (None, None)
    return RaterModel(shares=shares, confusion=confusion, answers=answers, leans=leans, spreads=spreads)


def _imagined(classes: int, prior: float, *, ordered: bool) -> Floats:
    square, _ = _statistics(classes)
    found: Floats = prior * ((square <= (1 if ordered else np.inf)) + np.eye(classes))
    return found


def _normalized(weights: Floats) -> Floats:
    """Scaled to a sum of 1 over the last axis."""
    chances: Floats = weights / weights.sum(axis=-1, keepdims=True)
    return chances


def _expect(said: Floats, shares: Floats, confusion: Floats) -> Floats:
    """The probability of each class for each item, given its ratings."""
    logs = np.log(np.maximum(shares, 1e-300)) + np.einsum("irl,rkl->ik", said, np.log(np.maximum(confusion, 1e-300)))
    return _normalized(np.exp(logs - logs.max(axis=1, keepdims=True)))


def _statistics(classes: int) -> Floats:
    """The rating minus the true class, and its square: by statistic (square, difference), true, said."""
    apart = np.arange(classes)[None, :] - np.arange(classes)[:, None]
    return np.array([apart**2, apart], dtype=np.float64)


def _ordered(counts: Floats, shape: Floats) -> tuple[Floats, Floats]:
    """The chances exp(shape · statistics), fitted to counts by Newton's method; the square has a negative weight."""
    statistics = _statistics(counts.shape[1])
    shape = shape.copy()
    for rater, own in enumerate(counts):
        for _ in range(50):
            chances = _chances(shape[:, rater], statistics)
            expected = np.einsum("skl,kl->sk", statistics, chances)
            apart = statistics - expected[:, :, None]
            weights = own.sum(axis=1)
            score = np.einsum("skl,kl->s", statistics, own) - expected @ weights
            step = np.linalg.lstsq(np.einsum("skl,tkl,kl,k->st", apart, apart, chances, weights), score, rcond=None)[0]
            while shape[0, rater] + step[0] >= -1e-3:
                step = step / 2
            shape[:, rater] += step
            if np.max(np.abs(step)) < CLOSE:
                break
    return shape, np.array([_chances(each, statistics) for each in shape.T])


def _chances(shape: Floats, statistics: Floats) -> Floats:
    weights = np.einsum("s,skl->kl", shape, statistics)
    return _normalized(np.exp(weights - weights.max(axis=1, keepdims=True)))


def accuracies(
    model: RaterModel, ratings: Whole, *, prior: float = PRIOR, confidence: float = 0.95
) -> list[tuple[float, Interval]]:
    """How often each rater says the true class, with an interval: from the information that single items carry about
    all parameters together."""
    classes, raters = len(model.shares), len(model.confusion)
    places = [_directions(model, rater) for rater in range(raters)]
    imagined = _imagined(classes, prior, ordered=model.leans is not None)
    said = (ratings[:, :, None] == np.arange(classes)).astype(np.float64)
    blocks = [model.answers - model.shares]
    blocks += [np.einsum("ik,pkl,il->ip", model.answers, own, said[:, place]) for place, own in enumerate(places)]
    scores = np.hstack(blocks)
    information = scores.T @ scores
    start, slices = classes, []
    for own in places:
        mine = slice(start, start + len(own))
        information[mine, mine] += np.einsum("pkl,qkl,kl->pq", own, own, imagined)
        slices.append(mine)
        start = mine.stop
    covariance = np.linalg.pinv(information, hermitian=True)
    tail, found = (1 - confidence) / 2, []
    for place, own in enumerate(places):
        right = np.diag(model.confusion[place])
        value = float(model.shares @ right)
        slope = np.zeros(len(information))
        slope[:classes] = model.shares * (right - value)
        slope[slices[place]] = np.einsum("k,k,pkk->p", model.shares, right, own)
        # As many known answers as would leave the same doubt, with the exact interval of a rate.
        n = value * (1 - value) / max(float(slope @ covariance @ slope), 1e-12)
        low, high = beta.ppf(tail, value * n, (1 - value) * n + 1), beta.ppf(1 - tail, value * n + 1, (1 - value) * n)
        found.append((value, (float(low), float(high))))
    return found


def _directions(model: RaterModel, rater: int) -> Floats:
    """The derivative of the log of a rater's chances by each of its parameters: parameter, true, said."""
    own, classes = model.confusion[rater], len(model.shares)
    one = np.eye(classes)
    found: Floats
    if model.leans is not None:
        statistics = _statistics(classes)
        found = statistics - np.einsum("skl,kl->sk", statistics, own)[:, :, None]
    else:
        found = np.einsum("kt,ls->tskl", one, one) - np.einsum("kt,ks->tsk", one, own)[..., None]
        found = found.reshape(classes * classes, classes, classes)
    return found


def misfit(model: RaterModel, ratings: Whole) -> float | None:
    """The p-value of independent errors: do the patterns of ratings come as often as the model expects (Pearson's
    test, rare patterns together)? None with three raters of two classes or fewer, when every pattern fits, or with too
    many patterns to count."""
    whole = ratings[(ratings != MISSING).all(axis=1)]
    classes, raters = len(model.shares), ratings.shape[1]
    free = classes - 1 + raters * (2 if model.leans is not None else classes * (classes - 1))
    if classes**raters - 1 <= free or classes**raters > MOST_PATTERNS or not len(whole):
        return None
    chances = model.shares[:, None]
    for own in model.confusion:
        chances = np.einsum("kp,kl->kpl", chances, own).reshape(classes, -1)
    expected = len(whole) * chances.sum(axis=0)
    seen = np.bincount(whole @ classes ** np.arange(raters)[::-1], minlength=classes**raters)
    common = expected >= 1
    rest = np.array([expected[~common].sum(), seen[~common].sum()])
    terms = np.append((seen - expected)[common] ** 2 / expected[common], (rest[1] - rest[0]) ** 2 / max(rest[0], 1.0))
    freedom = int(common.sum()) - free
    return float(chi2.sf(terms.sum(), freedom)) if freedom > 0 else None
