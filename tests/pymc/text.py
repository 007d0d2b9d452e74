import numpy as np
import pymc as pm
import ptgc

def schools(sigma):
    with pm.Model(coords={"school": list("ABCDEFGH")}) as model:
        y = pm.Data("y", [28.0, 8, -3, 7, -1, 1, 18, 12], dims="school")
        mu = pm.Normal("mu", 0, sigma)
        tau = pm.HalfNormal("tau", 5)
        z = pm.Normal("z", 0, 1, dims="school")
        theta = pm.Deterministic("theta", mu + tau * z, dims="school")
        pm.Normal("obs", theta, [15, 10, 16, 11, 9, 11, 10, 18], observed=y, dims="school")
    return model

text = ptgc.to_ptg(schools(5), name="schools")  # printed below
edited = text.replace("Normal_logp(mu, 0, 5)", "Normal_logp(mu, 0, 10)")  # another prior
with open("schools.onnx", "wb") as file:
    file.write(ptgc.compile(edited))

logp = ptgc.load("schools.onnx")
at = {"mu": 1.0, "tau_log__": 0.5, "z": np.linspace(-1, 1, 8)}
y = [28.0, 8, -3, 7, -1, 1, 18, 12]
np.testing.assert_allclose(logp(**at, y=y), schools(10).compile_logp()(at), rtol=1e-12)
