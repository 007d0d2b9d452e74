"""The forward algorithm, which hidden Markov models of this folder share"""

import pytensor
import pytensor.tensor as pt


def forward(log_transitions, log_seen):
    """The log probability of what was seen, [times, states] given each state, if all first states have the weight 1"""
    last = pytensor.scan(
        lambda seen, before, log_transitions: pt.logsumexp(before[:, None] + log_transitions, axis=0) + seen,
        sequences=[log_seen[1:]], outputs_info=[log_seen[0]], non_sequences=[log_transitions], return_updates=False,
    )  # fmt: skip
    return pt.logsumexp(last[-1])
