"""The weights against the textbook: the same value and gradient, and what must hold whatever the batch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from stablerule.errors import InputError, OptionError
from stablerule.learning import decorrelation
from stablerule.learning.decorrelation import BodyWeights, compute_effective_share, draw_random_weights
from stablerule.learning.dependence import FeatureForm, GramForm, standardise_dimensions
from stablerule.learning.options import Decorrelation

FORMS = ("feature", "gram")
ORDERS = (1, 2, 3)


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Small matrices gain nothing from threads, and lose much on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def make_embeddings(bodies: int = 60, size: int = 5, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    """Skewed dimensions that depend on each other, with the small deviation and the offset of LSTM states."""
    g = generator(seed)
    mixed = torch.randn(bodies, size, generator=g, dtype=torch.float64) @ torch.randn(
        size, size, generator=g, dtype=torch.float64
    )
    return (0.1 * (mixed + 0.3 * mixed.flip(1).square()) + 0.2).tanh().to(dtype)


def make_counts(bodies: int = 60, seed: int = 1) -> Tensor:
    return torch.randint(1, 6, (bodies,), generator=generator(seed))


def make_mass(counts: Tensor, seed: int = 2) -> Tensor:
    p = counts * torch.rand(len(counts), generator=generator(seed), dtype=torch.float64).add(0.1)
    return p / p.sum()


def equal_mass(counts: Tensor) -> Tensor:
    return counts.double() / counts.sum()


def plain_standardise(Z: Tensor, counts: Tensor) -> Tensor:
    rows = Z.double().repeat_interleave(counts, 0)
    return ((Z.double() - rows.mean(0)) / rows.std(0, correction=0)).clamp(-4, 4)


def textbook(features: list[Tensor], p: Tensor) -> Tensor:
    """The formula as it is written: each order with each, each dimension with all others; features (U, d)."""
    total = torch.zeros((), dtype=torch.float64)
    for fa in features:
        for fb in features:
            for i in range(fa.shape[1]):
                others = [j for j in range(fb.shape[1]) if j != i]
                together = (p * fa[:, i]) @ fb[:, others]
                total = total + (together - (p @ fa[:, i]) * (p @ fb[:, others])).square().sum()
    return total


def textbook_moments(Z: Tensor, p: Tensor, order: int) -> Tensor:
    return textbook([Z.double() ** a for a in range(1, order + 1)], p)


def make_form(kind: str, Z: Tensor, p: Tensor, order: int) -> FeatureForm | GramForm:
    """Z (U, d) -> the form asked for, whatever its cost."""
    powers = torch.stack([Z.T**a for a in range(1, 2 * order + 1)])
    if kind == "feature":
        return FeatureForm(powers[:order], p)
    return GramForm(powers, [[a + b + 1 for b in range(order)] for a in range(order)], p)


def learn(Z: Tensor, counts: Tensor, **options: Any) -> decorrelation.Weighting:
    return BodyWeights(len(Z), Decorrelation(**options)).update(torch.arange(len(Z)), Z, counts)


# --- The value and the gradient


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
@pytest.mark.parametrize(
    ("kind", "bodies", "size"),  # few dimensions always take the feature form; the other has two ways to go
    [("feature", 8, 5), ("feature", 60, 5), ("feature", 100, 64), ("gram", 40, 64), ("gram", 400, 64)],
)
def test_value_is_the_textbook_value(
    bodies: int, size: int, dtype: torch.dtype, tolerance: float, kind: str, order: int
) -> None:
    counts = make_counts(bodies)
    Z = plain_standardise(make_embeddings(bodies, size), counts).to(dtype)
    form = make_form(kind, Z, equal_mass(counts), order)
    for p in (equal_mass(counts), make_mass(counts)):
        expected = textbook_moments(Z, p, order).item()
        assert form.compute_value(p) == pytest.approx(expected, rel=tolerance)
        assert form.compute_gradient(p)[0] == pytest.approx(expected, rel=tolerance)
    assert isinstance(form, FeatureForm) or (form.S is None) == (bodies > 2 * order * size)


@pytest.mark.parametrize("kind", FORMS)
def test_single_precision_holds_at_real_sizes(kind: str) -> None:
    counts = make_counts(400)
    Z = plain_standardise(make_embeddings(400, 100), counts)
    for order in ORDERS:
        exact, p = make_form(kind, Z, equal_mass(counts), order), make_mass(counts)
        value, gradient = exact.compute_gradient(p)
        value32, gradient32 = make_form(kind, Z.float(), equal_mass(counts), order).compute_gradient(p)
        assert value32 == pytest.approx(value, rel=1e-5)
        assert float((gradient32 - gradient).abs().max() / gradient.abs().max()) < 1e-4


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("bodies", [8, 40])
def test_gradient_is_that_of_autograd_and_of_small_differences(bodies: int, kind: str, order: int) -> None:
    counts = make_counts(bodies)
    Z = plain_standardise(make_embeddings(bodies, 4), counts)
    form, p = make_form(kind, Z, equal_mass(counts), order), make_mass(counts)
    gradient = form.compute_gradient(p)[1]

    leaf = p.clone().requires_grad_()
    (expected,) = torch.autograd.grad(textbook_moments(Z, leaf / leaf.sum(), order), leaf)
    torch.testing.assert_close(gradient - p @ gradient, expected, rtol=1e-9, atol=1e-9)

    direction = torch.randn(bodies, generator=generator(3), dtype=torch.float64) * p
    direction -= direction.mean()  # sum(p) stays 1
    step = 1e-5
    difference = (form.compute_value(p + step * direction) - form.compute_value(p - step * direction)) / (2 * step)
    assert float(gradient @ direction) == pytest.approx(difference, rel=1e-6)


@pytest.mark.parametrize("cheaper", [False, True])
def test_fourier_features_have_the_textbook_value_too(cheaper: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decorrelation, "is_gram_cheaper", lambda *_: cheaper)
    Z, counts = make_embeddings(30, 4), make_counts(30)
    weights = BodyWeights(30, Decorrelation(features="rff", fourier_count=3))
    plain = plain_standardise(Z, counts)
    features = [math.sqrt(2) * torch.cos(f * plain + phase) for f, phase in weights.fourier.T]
    form, p = weights.form(Z, equal_mass(counts)), make_mass(counts)
    assert isinstance(form, GramForm if cheaper else FeatureForm)
    value, gradient = form.compute_gradient(p)
    assert value == pytest.approx(textbook(features, p).item(), rel=1e-10)
    leaf = p.clone().requires_grad_()
    (expected,) = torch.autograd.grad(textbook(features, leaf / leaf.sum()), leaf)
    torch.testing.assert_close(gradient - p @ gradient, expected, rtol=1e-9, atol=1e-9)


def test_the_form_is_chosen_by_cost() -> None:
    table = BodyWeights(500)
    p = torch.full((500,), 1 / 500, dtype=torch.float64)
    assert isinstance(table.form(make_embeddings(500, 10), p), FeatureForm)
    assert isinstance(table.form(make_embeddings(500, 300), p), GramForm)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_standardised_dimensions_have_mean_0_and_deviation_1(dtype: torch.dtype) -> None:
    Z, counts = make_embeddings(200, 6, dtype=dtype), make_counts(200)
    Z[:, 2] = 0.1  # not a number that binary fractions can write: its deviation is rounding, not 0
    Z[0, 3] = 100.0
    z = standardise_dimensions(Z.T, equal_mass(counts)).T
    kept = [0, 1, 4, 5]
    expected = plain_standardise(Z, counts).to(dtype)
    torch.testing.assert_close(z[:, kept], expected[:, kept], rtol=1e-4, atol=1e-5)
    assert not z[:, 2].any()
    assert float(z[0, 3]) == 4.0


# --- The way to the weights


def test_records_are_true() -> None:
    Z, counts = make_embeddings(), make_counts()
    result = learn(Z, counts, weight_steps=10)
    w, plain, m = result.weights, plain_standardise(Z, counts), counts.double()
    last = result.steps[-1]
    base = textbook_moments(plain, m / m.sum(), 2).item()
    assert len(result.steps) == 11
    assert result.steps[0] == pytest.approx((1.0, 1.0, 1.0))
    assert last.dependence == pytest.approx(textbook_moments(plain, m * w / m.sum(), 2).item() / base, rel=1e-9)
    assert last.share == pytest.approx(float((m @ w) ** 2 / (m.sum() * (m @ w.square()))), rel=1e-9)
    assert last.largest == pytest.approx(float(w.max()), rel=1e-9)
    again = BodyWeights(len(Z)).measure_dependence(Z, counts, w)
    assert again == pytest.approx(last.dependence, rel=1e-9)


def test_steps_are_those_of_adam_on_the_objective() -> None:
    """The same optimisation with torch.optim.Adam and autograd, on the formula as written."""
    Z = make_embeddings(30, 3)
    counts = torch.ones(30, dtype=torch.int64)
    plain = plain_standardise(Z, counts)
    t = torch.zeros(30, dtype=torch.float64, requires_grad=True)
    adam = torch.optim.Adam([t], lr=0.05)
    base = textbook_moments(plain, equal_mass(counts), 2).item()
    for _ in range(8):
        p = t.softmax(0)
        loss = textbook_moments(plain, p, 2) / base + 0.05 * (30 * p - 1).square().mean()
        (t.grad,) = torch.autograd.grad(30 * loss, t)
        adam.step()
    w = learn(Z, counts, weight_steps=8, weight_rate=0.05, restart=True).weights
    torch.testing.assert_close(w, 30 * t.detach().softmax(0), rtol=1e-7, atol=1e-9)


def test_order_of_bodies_does_not_matter() -> None:
    Z, counts = make_embeddings(), make_counts()
    order = torch.randperm(len(Z), generator=generator(4))
    w = learn(Z, counts, weight_steps=10).weights
    torch.testing.assert_close(learn(Z[order], counts[order], weight_steps=10).weights, w[order], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("size", [4, 200])  # one for each form
def test_a_body_met_m_times_is_m_bodies_met_once(size: int) -> None:
    Z, counts = make_embeddings(40, size), make_counts(40)
    once = torch.ones(int(counts.sum()), dtype=torch.int64)
    counted = learn(Z, counts, weight_steps=10)
    copied = learn(Z.repeat_interleave(counts, 0), once, weight_steps=10)
    torch.testing.assert_close(copied.weights, counted.weights.repeat_interleave(counts), rtol=1e-6, atol=1e-8)
    assert copied.steps[-1] == pytest.approx(counted.steps[-1], rel=1e-6)


def test_equal_bodies_have_equal_weights() -> None:
    Z, counts = make_embeddings(dtype=torch.float32), make_counts()
    Z[7], Z[50] = Z[3], Z[3]
    w = learn(Z, counts, weight_steps=20).weights
    assert float(w[7]) == pytest.approx(float(w[3]), rel=1e-5)
    assert float(w[50]) == pytest.approx(float(w[3]), rel=1e-5)


def test_single_precision_learns_the_same_weights() -> None:
    Z, counts = make_embeddings(200, 20), make_counts(200)
    exact = learn(Z, counts, weight_steps=10)
    single = learn(Z.float(), counts, weight_steps=10)
    assert single.weights.dtype == torch.float32
    assert single.steps[-1].dependence == pytest.approx(exact.steps[-1].dependence, rel=1e-3)
    assert float((single.weights - exact.weights).abs().max()) < 1e-2


@settings(deadline=None, max_examples=60)
@given(
    bodies=st.integers(1, 40),
    size=st.integers(1, 12),
    seed=st.integers(0, 10_000),
    scale=st.sampled_from([1e-4, 0.13, 1.0, 50.0]),
    floor=st.floats(0, 1),
    options=st.fixed_dictionaries(
        {
            "moment_order": st.integers(1, 3),
            "weight_steps": st.integers(1, 12),
            "weight_rate": st.sampled_from([0.01, 0.2, 1.0, 5.0]),
            "restart": st.booleans(),
            "features": st.sampled_from(["moments", "rff"]),
        }
    ),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_weights_are_positive_sum_to_the_samples_and_keep_the_floor(
    bodies: int, size: int, seed: int, scale: float, floor: float, options: dict[str, Any], dtype: torch.dtype
) -> None:
    g = generator(seed)
    counts = torch.randint(1, 9, (bodies,), generator=g)
    table = BodyWeights(2 * bodies, Decorrelation(share_floor=floor, **options))
    for _ in range(3):  # other company each time, so that weights carried over meet a batch they were not made for
        ids = torch.randperm(2 * bodies, generator=g)[:bodies]
        Z = (scale * torch.randn(bodies, size, generator=g, dtype=torch.float64)).to(dtype)
        w, steps = table.update(ids, Z, counts)
        precision = 1e-5 if dtype == torch.float32 else 1e-12
        assert w.isfinite().all()
        assert (w > 0).all()
        assert float((counts * w.double()).sum()) == pytest.approx(float(counts.sum()), rel=precision)
        assert compute_effective_share(w, counts) >= floor - precision
        assert all(step.share >= floor - 1e-12 for step in steps)
        assert all(math.isfinite(step.dependence) for step in steps)
        assert 1 <= len(steps) <= options["weight_steps"] + 1


def test_fresh_weights_stop_at_the_floor() -> None:
    Z, counts = make_embeddings(200, 4), make_counts(200)
    result = learn(Z, counts, weight_steps=60, restart=True, share_floor=0.9)
    assert len(result.steps) < 61
    assert all(step.share >= 0.9 for step in result.steps)
    assert compute_effective_share(result.weights, counts) == pytest.approx(result.steps[-1].share)


def test_carried_weights_at_the_floor_still_follow_the_embeddings() -> None:
    counts, ids, table = make_counts(200), torch.arange(200), BodyWeights(200, Decorrelation(share_floor=0.9))
    for _ in range(30):
        at_floor = table.update(ids, make_embeddings(200, 4, seed=0), counts).steps[-1]
    assert at_floor.share == pytest.approx(0.9, abs=1e-3)
    moved = [table.update(ids, make_embeddings(200, 4, seed=1), counts).steps[-1] for _ in range(30)]
    assert moved[-1].dependence < 0.7 * moved[0].dependence
    assert all(step.share >= 0.9 for step in moved)


def test_inputs_stay_as_they_are_and_the_weights_enter_a_loss() -> None:
    leaf = make_embeddings(dtype=torch.float32).requires_grad_()
    before, counts = leaf.detach().clone(), make_counts()
    w = learn(leaf, counts).weights
    assert torch.equal(leaf, before)
    assert not w.requires_grad
    (w[:, None] * leaf).sum().backward()  # type: ignore[no-untyped-call]
    assert leaf.grad is not None
    torch.testing.assert_close(leaf.grad, w[:, None].expand_as(leaf))


# --- Does it do what it is for


def correlation(x: Tensor, y: Tensor, w: Tensor) -> float:
    w = w / w.sum()
    x, y = x - w @ x, y - w @ y
    return float(w @ (x * y) / ((w @ (x * x)) * (w @ (y * y))).sqrt())


@pytest.mark.parametrize("options", [{"weight_steps": 10}, {"weight_steps": 200, "weight_rate": 0.01, "restart": True}])
def test_a_known_spurious_correlation_falls_by_half(options: dict[str, Any]) -> None:
    """Journalists and footballers: `style` tells nothing about the answer, but the sample has it go with `topic`."""
    g = generator(7)
    topic = torch.randn(1000, generator=g)
    style = 0.6 * topic + 0.8 * torch.randn(1000, generator=g)
    others = torch.randn(1000, 3, generator=g)
    Z, counts = torch.cat([topic[:, None], style[:, None], others], 1), make_counts(1000)
    before = correlation(topic, style, counts.float())
    result = learn(Z, counts, **options)
    after = correlation(topic, style, counts * result.weights)
    assert before > 0.5
    assert abs(after) < before / 2
    assert result.steps[-1].share > 0.5
    assert result.steps[-1].dependence < 0.3


def test_learned_weights_do_at_least_as_well_as_the_density_ratio_of_the_lemma() -> None:
    """The lemma: w = product of the marginal densities / joint density makes all dimensions independent."""
    rho, n = 0.5, 500
    a, b = torch.randn(2, n, generator=generator(8), dtype=torch.float64)
    Z = torch.stack([a, rho * a + math.sqrt(1 - rho**2) * b], 1)

    squared = Z.square().sum(1)
    inside = (squared - 2 * rho * Z.prod(1)) / (1 - rho**2)
    known = torch.exp(-squared / 2 + inside / 2) * math.sqrt(1 - rho**2)  # densities of the Gaussian itself

    width = n ** (-1 / 6)
    kernel = torch.exp(-((Z[:, None] - Z[None]) / width).square() / 2)  # (n, n, 2)
    estimated = kernel.mean(1).prod(1) / kernel.prod(2).mean(1)  # kernel density estimators, as in the lemma

    counts = torch.ones(n, dtype=torch.int64)
    result = learn(Z, counts, weight_steps=30, weight_rate=0.1)
    measure = BodyWeights(n).measure_dependence
    learned = measure(Z, counts, result.weights)
    assert measure(Z, counts, known) < 0.7  # the lemma is right
    assert learned <= measure(Z, counts, known)
    assert learned <= measure(Z, counts, estimated)
    assert result.steps[-1].share >= 0.5


def test_random_weights_of_the_same_share_do_nothing() -> None:
    Z, counts = make_embeddings(500, 10), make_counts(500)
    result = learn(Z, counts, weight_steps=10)
    table = BodyWeights(500)
    control = [
        table.measure_dependence(Z, counts, draw_random_weights(counts, result.steps[-1].share, generator(seed)))
        for seed in range(20)
    ]
    assert result.steps[-1].dependence < 0.7
    assert sum(control) / 20 > 0.9


@pytest.mark.parametrize("share", [0.2, 0.5, 0.97, 1.0])
def test_random_weights_have_the_share_asked_for(share: float) -> None:
    counts = make_counts(300)
    w = draw_random_weights(counts, share, generator(9))
    assert (w > 0).all()
    assert float((counts * w).sum()) == pytest.approx(float(counts.sum()), rel=1e-12)
    assert compute_effective_share(w, counts) == pytest.approx(share, abs=1e-6)
    assert torch.equal(w, draw_random_weights(counts, share, generator(9)))
    assert share == 1.0 or not torch.equal(w, draw_random_weights(counts, share, generator(10)))


# --- The table


def test_logits_are_carried_over_by_body() -> None:
    Z, counts = make_embeddings(40), make_counts(40)
    table = BodyWeights(100)
    ids = torch.arange(40) + 20
    first = table.update(ids, Z, counts)
    second = table.update(ids.flip(0), Z.flip(0), counts.flip(0))
    assert second.steps[0] == pytest.approx(first.steps[-1])
    assert second.steps[-1].dependence < second.steps[0].dependence
    torch.testing.assert_close(table.logits[ids].exp(), second.weights.flip(0))
    untouched = torch.cat([torch.arange(20), torch.arange(60, 100)])
    assert not table.logits[untouched].any()


def test_single_steps_arrive_where_a_hundred_fresh_ones_do() -> None:
    Z, counts = make_embeddings(300, 12), make_counts(300)
    g, table = generator(11), BodyWeights(300)
    for _ in range(30):
        ids = torch.randperm(300, generator=g)[:150]
        carried = table.update(ids, Z[ids], counts[ids])
    fresh = learn(Z[ids], counts[ids], weight_steps=100, weight_rate=0.01, restart=True)
    assert carried.steps[-1].dependence < 1.1 * fresh.steps[-1].dependence


def test_restart_and_literal_leave_the_table_alone() -> None:
    Z, counts = make_embeddings(), make_counts()
    for options in (Decorrelation(restart=True, weight_steps=5), Decorrelation(literal=True)):
        table = BodyWeights(60, options)
        before = table.copy_state()
        table.update(torch.arange(60), Z, counts)
        assert torch.equal(table.logits, before["logits"])
        assert torch.equal(table.adam, before["adam"])


@pytest.mark.parametrize("options", [{}, {"features": "rff"}, {"literal": True}])
def test_a_restored_table_goes_on_as_if_nothing_had_happened(options: dict[str, Any]) -> None:
    Z, counts, ids = make_embeddings(), make_counts(), torch.arange(60)
    whole = BodyWeights(60, Decorrelation(**options), generator=generator(12))
    whole.update(ids, Z, counts)
    saved = whole.copy_state()
    resumed = BodyWeights(60, Decorrelation(**options), generator=generator(13))
    expected = whole.update(ids, Z, counts)
    resumed.restore(saved)
    assert resumed.update(ids, Z, counts).steps == expected.steps
    assert torch.equal(resumed.logits, whole.logits)


def test_a_table_of_other_bodies_is_refused() -> None:
    with pytest.raises(InputError, match=r"'logits' of shape \(60,\), expected \(61,\)"):
        BodyWeights(61).restore(BodyWeights(60).copy_state())
    with pytest.raises(InputError, match="'adam' of shape None"):
        BodyWeights(60).restore({"logits": torch.zeros(60)})


# --- The form in print


def test_literal_steps_are_those_of_adam_on_the_printed_formula() -> None:
    Z = make_embeddings(30, 3)
    options = Decorrelation(literal=True, weight_steps=4, weight_rate=0.3)
    w = torch.rand(30, generator=generator(14), dtype=torch.float64)
    w = (w / w.mean()).requires_grad_()
    adam = torch.optim.Adam([w], lr=0.3)
    for _ in range(4):
        (w.grad,) = torch.autograd.grad(textbook_moments(Z, w / w.sum(), 2), w)  # raw Z, and weights whose mean is 1
        adam.step()
        with torch.no_grad():
            w.clamp_min_(0)
            w /= w.mean()
    result = BodyWeights(30, options, generator=generator(14)).update(torch.arange(30), Z, torch.ones(30))
    assert int((w == 0).sum()) > 0
    torch.testing.assert_close(result.weights, w.detach(), rtol=1e-4, atol=1e-6)


def test_literal_weights_start_anew_in_each_batch_and_no_floor_holds_them() -> None:
    Z, counts = make_embeddings(200, 20), make_counts(200)
    table = BodyWeights(200, Decorrelation(literal=True, weight_steps=200, weight_rate=0.05))
    result = table.update(torch.arange(200), Z, counts)
    assert float((counts * result.weights).sum()) == pytest.approx(float(counts.sum()))
    first, last = result.steps[0], result.steps[-1]
    assert last.dependence < 0.5 * first.dependence
    assert last.share < Decorrelation().share_floor < first.share
    other = table.update(torch.arange(200), Z, counts)
    assert not torch.equal(result.weights, other.weights)


# --- Nothing to do, and what can't be done


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_where_nothing_depends_the_weights_are_equal(dtype: torch.dtype) -> None:
    grid = torch.cartesian_prod(*[torch.tensor([-1.0, 0.3, 2.0])] * 3)  # all combinations: independent
    constant = torch.full((20, 4), 0.1)
    for Z in (grid, constant, make_embeddings(30, 1), make_embeddings(1, 8)):
        counts = torch.full((len(Z),), 2)
        w, steps = learn(Z.to(dtype), counts, weight_steps=5)
        assert torch.equal(w, torch.ones_like(w))
        assert steps == [(1.0, 1.0, 1.0)]
        assert BodyWeights(1).measure_dependence(Z.to(dtype), counts, torch.rand(len(Z)) + 0.5) == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"moment_order": 0}, "'moment_order' must be at least 1, got 0"),
        ({"weight_steps": 0}, "'weight_steps' must be at least 1"),
        ({"fourier_count": -1}, "'fourier_count' must be at least 1"),
        ({"weight_rate": 0.0}, "'weight_rate' must be above 0"),
        ({"weight_rate": math.nan}, "'weight_rate' must be above 0"),
        ({"weight_penalty": -0.1}, "'weight_penalty' must be 0 or more"),
        ({"share_floor": 1.5}, r"'share_floor' must be between 0 and 1, got 1.5"),
        ({"share_floor": -0.1}, r"'share_floor' must be between 0 and 1"),
        ({"share_floor": math.nan}, r"'share_floor' must be between 0 and 1"),
        ({"features": "wavelets"}, "'features' must be 'moments' or 'rff', got 'wavelets'"),
        ({"features": "rff", "literal": True}, "features='moments' only"),
    ],
)
def test_bad_options_say_what_is_wrong(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Decorrelation(**options)


def test_bad_batches_say_what_is_wrong() -> None:
    table, Z, ids = BodyWeights(10), torch.rand(3, 2), torch.arange(3)
    ones = torch.ones(3)
    broken = Z.clone()
    broken[1, 1] = math.nan
    with pytest.raises(InputError, match="1 of 3 embeddings are NaN or infinite"):
        table.update(ids, broken, ones)
    with pytest.raises(InputError, match="1 of 3 embeddings are NaN or infinite"):
        table.update(ids, Z / torch.tensor([[1.0], [0.0], [1.0]]), ones)
    with pytest.raises(InputError, match="at least one body"):
        table.update(ids[:0], Z[:0], ones[:0])
    with pytest.raises(InputError, match=r"one row for each count, got torch.float32 \(2, 2\) for 3 counts"):
        table.update(ids, Z[:2], ones)
    with pytest.raises(InputError, match="counts must be above 0"):
        table.update(ids, Z, torch.tensor([1.0, 0.0, 2.0]))
    with pytest.raises(InputError, match=r"must be in 0\.\.9, got 1\.\.10"):
        table.update(torch.tensor([1, 2, 10]), Z, ones)
    with pytest.raises(InputError, match="must be distinct"):
        table.update(torch.tensor([1, 2, 1]), Z, ones)
    with pytest.raises(InputError, match=r"must be int64 \(3,\)"):
        table.update(ones, Z, ones)
    with pytest.raises(OptionError, match="share must be above 0"):
        draw_random_weights(ones, 0.0, generator())
    with pytest.raises(OptionError, match="larger for so few bodies"):
        draw_random_weights(ones, 0.1, generator())
    assert not table.logits.any()
