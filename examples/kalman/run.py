"""Runs kalman.onnx over the volume of the Nile, 1871 to 1970, on ONNX Runtime and compares with NumPy.

Usage: run.py [kalman.onnx]. Needs numpy and onnxruntime. The data are public domain (Cobb, 1978), the
variances and the log likelihood are those of Durbin and Koopman, Time Series Analysis, section 2.
"""
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort

here = Path(__file__).parent
NOISE, DRIFT = 15099.0, 1469.1
NILE = """
1120 1160 963 1210 1160 1160 813 1230 1370 1140 995 935 1110 994 1020 960 1180 799 958 1140 1100 1210
1150 1250 1260 1220 1030 1100 774 840 874 694 940 833 701 916 692 1020 1050 969 831 726 456 824 702
1120 1100 832 764 821 768 845 864 862 698 845 744 796 1040 759 781 865 845 944 984 897 822 1010 771
676 649 846 812 742 801 1040 860 874 848 890 744 749 838 1050 918 986 797 923 975 815 1020 906 901
1170 912 746 919 718 714 740"""


def reference(y):
    a, p, logs, level = 0.0, 1e7, 0.0, []
    for i, v in enumerate(y):
        if not np.isnan(v):
            f = p + NOISE
            if i:
                logs -= 0.5 * (np.log(2 * np.pi * f) + (v - a) ** 2 / f)
            a, p = a + p / f * (v - a), p * (1 - p / f)
        level.append(a)
        p += DRIFT
    return np.array(level), logs


def main(path):
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    y = np.array(NILE.split(), dtype=np.float64)

    def run(volume):
        return session.run(None, {"volume": volume, "noise": np.array(NOISE), "drift": np.array(DRIFT)})

    level, variance, loglik = run(y)
    want, logs = reference(y)
    np.testing.assert_allclose(level, want, rtol=1e-12)
    np.testing.assert_allclose(loglik, logs, rtol=1e-12)
    for year in range(1880, 1971, 10):
        k = year - 1871
        bar = "." * int(level[k] / 25) + "*"
        print(f"{year}  measured {y[k]:5.0f}  level {level[k]:6.1f} +- {variance[k] ** 0.5:4.1f}  {bar}")
    print(f"log likelihood {loglik:.2f} (Durbin and Koopman: -632.54)")

    holes = y.copy()
    holes[20:40] = np.nan
    np.testing.assert_allclose(run(holes)[0], reference(holes)[0], rtol=1e-12)
    assert run(y[:0])[0].shape == (0,)
    return bool(abs(loglik + 632.54) > 0.1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else here / "kalman.onnx"))
