"""A digest of each of some 200 operations of the numerical libraries, as JSON: which differ by CPU?

`python operations.py numpy torch` does those of the named libraries. Under the pins it begins as
every job does.
"""

import hashlib
import json
import sys
import warnings

from frugal.core.arithmetic import begin_pinned  # before any of them is loaded

begin_pinned([])
import numpy as np  # noqa: E402

warnings.simplefilter("ignore")
RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(150, 60)), RNG.normal(size=(60, 90))
X = RNG.normal(size=4001) * 3
P, GRAM = np.abs(X) + 1e-3, A.T @ A
LABEL = (A[:, 0] + 0.5 * A[:, 1] ** 2 > 0.4).astype(int)
BATCHED = RNG.normal(size=(5, 33, 20)).astype("f4"), RNG.normal(size=(5, 20, 17)).astype("f4")
SAMPLES = RNG.normal(size=(1500, 12))
CLASSES = (SAMPLES[:, 0] + SAMPLES[:, 1] * SAMPLES[:, 2] > 0).astype(int)


def numpy_operations():
    """Products, decompositions, functions, sums, sorts and draws."""
    for kind in ("f8", "f4"):
        a, b, p = A.astype(kind), B.astype(kind), P.astype(kind)
        yield f"product {kind}", a @ b
        yield f"gram {kind}", a.T @ a
        yield f"product with a vector {kind}", a @ b[:, 0]
        for name in (
            "exp",
            "log",
            "sin",
            "cos",
            "tan",
            "arctan",
            "sqrt",
            "log1p",
            "expm1",
            "tanh",
            "sinh",
            "arcsinh",
            "exp2",
            "log2",
            "log10",
            "cbrt",
        ):
            yield f"{name} {kind}", getattr(np, name)(p)
        yield f"power {kind}", p ** p.dtype.type(1.37)
        for name in ("sum", "mean", "std", "var", "cumsum"):
            yield f"{name} {kind}", getattr(a, name)(0)
        yield f"sum of all {kind}", p.sum()
        ties = np.round(X, 1).astype(kind)
        yield f"argsort of ties {kind}", np.argsort(ties)
        yield f"argpartition of ties {kind}", np.argpartition(ties, 77)
    yield "batched product", np.matmul(*BATCHED)
    yield "einsum", np.einsum("ij,ik,i->jk", A, A, A[:, 0])
    yield "argsort of integers", np.argsort((X * 3).astype(int))
    yield "quantile", np.quantile(X, [0.1, 0.33, 0.9])
    yield "fft", np.fft.fft(X)
    yield "qr", np.linalg.qr(A)[0]
    yield "svd", np.linalg.svd(A)[0]
    yield "solve", np.linalg.solve(GRAM, B)
    yield "cholesky", np.linalg.cholesky(GRAM)
    yield "eigh", np.linalg.eigh(GRAM)[1]
    yield "lstsq", np.linalg.lstsq(A, X[:150], rcond=None)[0]
    for name, given in (
        ("gamma", (2.3,)),
        ("beta", (0.7, 2)),
        ("exponential", ()),
        ("poisson", (13,)),
        ("standard_t", (5,)),
        ("binomial", (40, 0.3)),
        ("normal", ()),
    ):
        yield f"draws, {name}", getattr(np.random.default_rng(3), name)(*given, size=500)
    yield "draws, multivariate", np.random.default_rng(3).multivariate_normal(GRAM[0], GRAM, 20)


def scipy_operations():
    """Linear algebra, special functions, optimisers."""
    from scipy import linalg, optimize, special

    yield "cholesky", linalg.cholesky(GRAM)
    yield "cho_solve", linalg.cho_solve(linalg.cho_factor(GRAM), B)
    yield "eigh", linalg.eigh(GRAM)[1]
    yield "expm", linalg.expm(GRAM / 9000)
    for name in ("expit", "ndtr", "ndtri", "gammaln", "erf", "digamma", "logit"):
        yield name, getattr(special, name)(special.expit(X))
    yield "betaincinv", special.betaincinv(P[:200], 2.0, 0.3)
    yield "stdtrit", special.stdtrit(P[:200] + 1, 0.9)
    yield "xlogy", special.xlogy(P, P)
    yield "log_softmax", special.log_softmax(A, axis=1)
    sign = np.sign(X[:150])
    loss = lambda w: np.log1p(np.exp(-(A @ w) * sign)).sum() + 0.5 * w @ w  # noqa: E731
    yield "minimize", optimize.minimize(loss, np.zeros(60), method="L-BFGS-B").x
    cost, rows = P[:30], -np.abs(A[:20, :30])
    yield "linprog", optimize.linprog(cost, A_ub=rows, b_ub=-np.ones(20)).x
    residual = lambda w: np.tanh(A[:, :10] @ w) - np.tanh(X[:150])  # noqa: E731
    yield "least_squares", optimize.least_squares(residual, np.zeros(10)).x


def pandas_operations():
    """Means by group, quantiles, correlations, and Arrow's sums."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    frame = pd.DataFrame(A[:, :6], columns=list("abcdef"))
    grouped = frame.groupby((P[:150] * 2).astype(int))
    for name in ("mean", "var"):
        yield f"{name} by group", getattr(grouped, name)().to_numpy()
    yield "std", frame.std().to_numpy()
    yield "corr", frame.corr().to_numpy()
    yield "quantile", frame.quantile([0.1, 0.7]).to_numpy()
    for name in ("sum", "mean", "stddev"):
        yield f"Arrow {name}", np.float64(getattr(pc, name)(pa.array(X)).as_py())


def sklearn_operations():
    """Small fits."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
    from sklearn.linear_model import BayesianRidge, LogisticRegression

    yield "logistic", LogisticRegression().fit(A, LABEL).coef_
    yield "ridge", BayesianRidge().fit(A, X[:150]).coef_
    forest = RandomForestClassifier(10, random_state=0).fit(A, LABEL)
    yield "forest", forest.predict_proba(A)
    yield "forest of numbers", RandomForestRegressor(5, random_state=0).fit(A, X[:150]).predict(A)


def boosting_operations():
    """Boosted trees of both libraries."""
    import lightgbm
    import xgboost

    settings = {"objective": "binary", "num_threads": 1, "deterministic": True, "verbose": -1}
    settings |= {"force_col_wise": True, "seed": 1}
    trees = lightgbm.train(settings, lightgbm.Dataset(SAMPLES, CLASSES), 20)
    yield "lightgbm", trees.predict(SAMPLES, num_threads=1)
    booster = xgboost.XGBClassifier(n_estimators=20, nthread=1, tree_method="hist")
    yield "xgboost", booster.fit(SAMPLES, CLASSES).predict_proba(SAMPLES)


def numba_operations():
    """A sum with functions, and products that a compiler might fuse."""
    import math

    import numba

    @numba.njit
    def total(a, b):
        result = 0.0
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                result += a[i, j] * b[i, j] + math.exp(-abs(a[i, j])) * math.log1p(b[i, j] ** 2)
        return result

    @numba.njit
    def fused(a, b, out):
        for i in range(a.shape[0]):
            out[i] = a[i] * b[i] + a[i] * 1.7 - b[i] * b[i]

    out = np.empty_like(X)
    fused(X, P, out)
    yield "products", out
    yield "sum", np.float64(total(A, A[::-1].copy()))


def torch_operations():
    """Products, functions, losses, draws, decompositions, and a network that learns."""
    import torch
    from torch.nn import functional

    torch.set_num_threads(1)
    for kind in ("f8", "f4"):
        a, b, p = (torch.from_numpy(part.astype(kind)) for part in (A, B, P))
        yield f"product {kind}", a @ b
        yield f"gram {kind}", a.T @ a
        yield f"product with a vector {kind}", a @ b[:, 0]
        yield f"dot {kind}", torch.dot(a[:, 0], a[:, 1])
        yield f"addmm {kind}", torch.addmm(b[0], a, b)
        for name in (
            "exp",
            "log",
            "sigmoid",
            "tanh",
            "sin",
            "cos",
            "log1p",
            "expm1",
            "rsqrt",
            "sqrt",
            "erf",
            "lgamma",
            "reciprocal",
            "digamma",
            "atan",
            "tan",
            "sinh",
            "cosh",
            "log2",
            "log10",
            "exp2",
        ):
            yield f"{name} {kind}", getattr(torch, name)(p)
        inside = torch.tanh(p)
        for name in ("erfinv", "acos", "asin"):
            yield f"{name} {kind}", getattr(torch, name)(inside)
        yield f"power {kind}", p**1.37
        for name in ("sum", "mean", "var", "cumsum"):
            yield f"{name} {kind}", getattr(a, name)(0)
        yield f"sum of all {kind}", p.sum()
        yield f"norm {kind}", torch.linalg.vector_norm(a)
        yield f"softmax {kind}", torch.softmax(a, 1)
        yield f"log_softmax {kind}", torch.log_softmax(a, 1)
        yield f"logsumexp {kind}", torch.logsumexp(a, 1)
    first, second = map(torch.from_numpy, BATCHED)
    yield "batched product", torch.bmm(first, second)
    yield "batched product, transposed", torch.bmm(first.transpose(1, 2), first)
    yield "batched product and sum", torch.baddbmm(second[:, :1], first, second)
    x = torch.from_numpy(X.astype("f4"))
    for name in ("silu", "softplus", "gelu", "logsigmoid", "elu"):
        yield name, getattr(functional, name)(x)
    yield "log-loss", functional.binary_cross_entropy_with_logits(x, (x > 0).float())
    draws = torch.Generator().manual_seed(0)
    for name in ("rand", "randn", "randperm"):
        yield f"draws, {name}", getattr(torch, name)(1000, generator=draws)
    for name in ("exponential_", "bernoulli_", "normal_"):
        yield f"draws, {name}", getattr(torch.empty(1000), name)(generator=draws)
    gram, wide = torch.from_numpy(GRAM), torch.from_numpy(B)
    yield "qr", torch.linalg.qr(torch.from_numpy(A))[0]
    yield "cholesky", torch.linalg.cholesky(gram)
    yield "solve", torch.linalg.solve(gram, wide)
    yield "eigh", torch.linalg.eigh(gram)[1]
    yield "network", trained(torch, functional)


def trained(torch, functional):
    """Weights of a small network after twenty steps of Adam."""
    torch.manual_seed(0)
    layers = torch.nn.Linear(12, 32), torch.nn.Tanh(), torch.nn.Linear(32, 2)
    network = torch.nn.Sequential(*layers)
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
    inputs, labels = torch.from_numpy(SAMPLES.astype("f4")), torch.from_numpy(CLASSES)
    for step in range(20):
        rows = slice(60 * step, 60 * step + 60)
        optimiser.zero_grad()
        functional.cross_entropy(network(inputs[rows]), labels[rows]).backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 0.5)
        optimiser.step()
    return layers[0].weight.detach()


LIBRARIES = {
    name.removesuffix("_operations"): function
    for name, function in list(globals().items())
    if name.endswith("_operations")
}

if __name__ == "__main__":
    digests = {
        f"{library}: {name}": hashlib.sha256(np.ascontiguousarray(made).tobytes()).hexdigest()[:16]
        for library in sys.argv[1:] or LIBRARIES
        for name, made in LIBRARIES[library]()
    }
    json.dump(digests, sys.stdout)
