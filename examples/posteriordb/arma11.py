"""An autoregression with a moving average, each of one step"""

import pymc as pm
import pytensor
import pytensor.tensor as pt


def model(data):
    y = pt.as_tensor(data["y"])
    with pm.Model() as m:
        mu = pm.Normal("mu", 0, 10)
        phi = pm.Normal("phi", 0, 2)
        theta = pm.Normal("theta", 0, 2)
        sigma = pm.HalfCauchy("sigma", 2.5)
        first = y[0] - mu - phi * mu
        rest = pytensor.scan(
            lambda now, before, error, mu, phi, theta: now - mu - phi * before - theta * error,
            sequences=[y[1:], y[:-1]], outputs_info=[first], non_sequences=[mu, phi, theta], return_updates=False,
        )  # fmt: skip
        errors = pt.concatenate([first[None], rest])
        pm.Potential("y", pm.logp(pm.Normal.dist(0, sigma), errors).sum())
    return m
