"""Party identification in seven steps by ideology, race, age, education, sex and income"""

import numpy as np
import pymc as pm


def model(data):
    age = data["age_discrete"]
    x = np.column_stack([
        data["real_ideo"], data["race_adj"], age == 2, age == 3, age == 4, data["educ1"], data["gender"],
        data["income"],
    ])
    with pm.Model() as m:
        beta = pm.Flat("beta", shape=9)
        sigma = pm.HalfFlat("sigma")
        pm.Normal("y", beta[0] + x @ beta[1:], sigma, observed=data["partyid7"])
    return m
