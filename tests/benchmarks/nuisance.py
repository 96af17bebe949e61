"""CPU time and accuracy of probability models: 50,000 rows × 20 inputs with a known law.

Run: OMP_NUM_THREADS=1 python tests/benchmarks/nuisance.py
Times are CPU seconds, one thread, side by side in one run. Accuracy is the excess of the expected
log-loss over the true law's, in nats, on 20,000 fresh rows: 0 is perfect.
"""

import time
import warnings

import numpy as np
from frugal.models.networks import fit_networks
from frugal.models.nuisance import Head, cross_fit
from sklearn.neural_network import MLPClassifier

N, D, FRESH = 50_000, 20, 20_000
NETWORK = {
    "hidden": 64,
    "layers": 2,
    "epochs": 5,
    "batch": 1024,
    "learning_rate": 0.008,
    "weight_decay": 1e-4,
}
DEFAULT = {  # as in the default configuration
    "hidden": 32,
    "layers": 2,
    "epochs": 20,
    "batch": 512,
    "learning_rate": 0.005,
    "weight_decay": 1e-4,
}
REPEATS = 2


def draw(rng, n):
    """Inputs, true probability, outcome."""
    x = rng.normal(size=(n, D))
    log_odds = x[:, :5] @ [1, -0.8, 0.6, 0.4, -0.5] + 0.7 * x[:, 0] * x[:, 1] - 0.4
    p = 1 / (1 + np.exp(-log_odds))
    return x, p, rng.random(n) < p


def excess(truth, predicted):
    """Kullback-Leibler divergence from the true law: expected log-loss above the best possible."""
    q = np.clip(predicted, 1e-6, 1 - 1e-6)
    return float((truth * np.log(truth / q) + (1 - truth) * np.log((1 - truth) / (1 - q))).mean())


def timed(work):
    """(least CPU seconds of some repeats, result)."""
    seconds = []
    for _ in range(REPEATS):
        start = time.process_time()
        result = work()
        seconds.append(time.process_time() - start)
    return min(seconds), result


def ours(x, target, settings, networks=1):
    """Probabilities of fresh rows by the first of some networks in lock-step."""
    fitted = fit_networks(
        [x],
        [target[:, None].astype(np.float64)],
        [0] * networks,
        np.ones((networks, len(x))),
        loss="binary",
        rngs=np.random.default_rng(1).spawn(networks),
        **settings,
    )
    return lambda fresh: fitted.predict(0, fresh)[:, 0]


def theirs(x, target, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = MLPClassifier((64, 64), random_state=0, early_stopping=True, **settings)
        fitted.fit(x, target)
    return lambda fresh: np.asarray(fitted.predict_proba(fresh))[:, 1]


def main():
    rng = np.random.default_rng(0)
    x, _, target = draw(rng, N)
    fresh, truth, _ = draw(rng, FRESH)
    ours(x[:2000], target[:2000], NETWORK)  # warm up
    larger = {"batch_size": 2048, "learning_rate_init": 3e-3}
    runs = {
        "scikit-learn MLP, early stopping": lambda: theirs(x, target),
        "scikit-learn MLP, early stopping, batch 2,048": lambda: theirs(x, target, **larger),
        "ours, 64-64, 5 epochs of 1,024": lambda: ours(x, target, NETWORK),
        "ours, default configuration": lambda: ours(x, target, DEFAULT),
    }
    results = {name: timed(work) for name, work in runs.items()}
    scores = {name: (s, excess(truth, model(fresh))) for name, (s, model) in results.items()}
    own, loss = scores["ours, 64-64, 5 epochs of 1,024"]
    print(f"{'one model':50s} CPU s      ×  excess log-loss")
    for name, (seconds, its_loss) in scores.items():
        print(f"  {name:46s} {seconds:7.2f} {seconds / own:6.1f}  {its_loss:.5f}")
    best = min((s, e) for name, (s, e) in scores.items() if name.startswith("scikit"))
    met = best[0] >= 5 * own and loss <= best[1]
    print(
        "goal: ≥ 5 × the faster early-stopped one at no worse log-loss:", "met" if met else "MISSED"
    )

    print("K networks in lock-step with the default configuration, CPU ms a network")
    for n in (N, 600):
        for k in (1, 4, 16):
            seconds, _ = timed(lambda k=k, n=n: ours(x[:n], target[:n], DEFAULT, k))
            print(f"  {n:6,} rows, K = {k:2}: {seconds / k * 1e3:7.1f}")

    heads = [Head(x, target, np.ones(N, dtype=bool))] * 8
    seconds, _ = timed(
        lambda: cross_fit(heads, fold=np.arange(N) % 2, method="network", settings=NETWORK, rng=rng)
    )
    print(f"8 heads × 2 folds of {N // 2:,} rows, with predictions: {seconds:.2f} s")


if __name__ == "__main__":
    main()
