"""A run of a sampler by parts: some steps of its loop at a time, so that it can be watched, stopped and gone on with. The
draws are those of one call, to the bit."""

import hashlib
import io
import json
import os
import sys
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ptgc._files import write_all
from ptgc.runtime import run_session

SECONDS = 0.5  # about how long one part takes: Ctrl-C is answered between two
SAVED_EVERY = 60.0
FIRST_STEPS = 1


def digest(*arrays: Any) -> str:
    found = hashlib.sha256()
    for a in arrays:
        a = np.ascontiguousarray(a)
        found.update(f"{a.dtype}{a.shape}".encode() + a.tobytes())
    return found.hexdigest()


def own_name(settings: Mapping[str, Any], name: str) -> str:
    """What an input or statistic of the sampler is called in the file."""
    return settings.get("renamed", {}).get(name, name)


@dataclass
class Run:
    """``inputs``: what each part is given. ``state``: what the run is, {} before it begins and for a file that has no
    state, which is run in one part. ``parts``: the outputs of the parts that are done."""

    session: Any
    inputs: Mapping[str, np.ndarray]
    outputs: list[str]
    settings: Mapping[str, Any]
    place: Any = None
    state: dict[str, np.ndarray] = field(default_factory=dict)
    parts: list[dict[str, np.ndarray]] = field(default_factory=list)
    seconds: float = 0.0

    def __post_init__(self):
        self.held = [v.name for v in self.session.get_overridable_initializers()]

    def own(self, name: str) -> str:
        return own_name(self.settings, name)

    @property
    def done(self) -> int:
        """How many draws the chain has that has the fewest, those of tuning among them."""
        found = self.state.get(self.own("state_done"))
        return 0 if found is None or not found.size else int(found.min())

    def mean_done(self) -> float:
        found = self.state.get(self.own("state_done"))
        if found is None or not found.size:
            return float(self.total) if self.is_over() else 0.0
        return float(np.minimum(found, self.total).mean())

    @property
    def total(self) -> int:
        return self.settings["tune"] + self.settings["draws"]

    @property
    def kept_tuning(self) -> int:
        """How many draws of tuning come first."""
        return self.settings["tune"] if self.settings.get("keep_tuning") else 0

    def diverged(self) -> int:
        """How many of the draws behind tuning have diverged."""
        return int(np.concatenate([p[self.own("diverging")] for p in self.parts], axis=1)[:, self.kept_tuning :].sum())

    def is_over(self) -> bool:
        return bool(self.parts) and (not self.held or self.done >= self.total)

    def take(self, steps: int) -> None:
        """Some steps of the loop."""
        begin = time.perf_counter()
        more = self.state | {self.own("state_steps"): np.array(steps)} if self.held else {}
        names = [*self.outputs, *(f"{name}.next" for name in self.held)]
        found = dict(zip(names, run_session(self.session, names, {**self.inputs, **more}, self.place), strict=True))
        state = {name: found.pop(f"{name}.next") for name in self.held}
        # in one statement: an interrupt leaves all as it was before these steps, or none
        self.state, self.parts, self.seconds = state, [*self.parts, found], self.seconds + time.perf_counter() - begin

    def go(self, progress: "Progress | None" = None, checkpoint: "Checkpoint | None" = None) -> bool:
        """Takes all steps that are missing. False: Ctrl-C has stopped it."""
        steps, saved = FIRST_STEPS, time.monotonic()
        if progress:
            progress.begin(self)
        try:
            while not self.is_over():
                before = self.seconds
                self.take(steps)
                steps = max(1, int(steps * min(4.0, SECONDS / max(self.seconds - before, 1e-6))))
                if progress:
                    progress.show(self)
                if checkpoint and time.monotonic() - saved > SAVED_EVERY:
                    checkpoint.save(self)
                    saved = time.monotonic()
        except KeyboardInterrupt:
            return False
        finally:
            if progress:
                progress.end()
            if checkpoint and self.parts:
                checkpoint.save(self)
        return True

    def results(self) -> dict[str, np.ndarray]:
        """The outputs of all parts: draws one behind the other; what a chain has once is that of the last part."""
        if len(self.parts) == 1:
            return dict(self.parts[0])
        last, once = self.parts[-1], self.own("step_size")
        return {
            name: v if name == once else np.concatenate([p[name] for p in self.parts], axis=1) for name, v in last.items()
        }


@dataclass
class Progress:
    """A line on standard error."""

    begun: float = 0.0
    first: float = 0.0  # how many draws there were when this began
    width: int = 0

    def begin(self, run: Run) -> None:
        self.begun, self.first = time.monotonic(), run.mean_done()

    def show(self, run: Run) -> None:
        now, of = run.mean_done(), run.total
        chains = run.parts[-1][run.own("lp")].shape[0]
        step = float(np.mean(run.parts[-1][run.own("step_size")]))
        seconds = time.monotonic() - self.begun
        left = "" if now <= self.first else f", {duration(seconds * (of - now) / (now - self.first))} left"
        kind = "tuning" if run.done < run.settings["tune"] else "drawing"
        text = (
            f"{chains} chains, {kind}: {100 * now / of:3.0f} % of {of} draws, {duration(seconds)}{left}, "
            f"{run.diverged()} divergences, step size {step:.3g}"
        )
        self.write("\r" + text.ljust(self.width))
        self.width = len(text)

    def end(self) -> None:
        if self.width:
            self.write("\n")

    @staticmethod
    def write(text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


def progress_of(asked: bool | None) -> Progress | None:
    """The progress that is shown; None: where standard error is a terminal."""
    if asked is None:
        asked = sys.stderr is not None and sys.stderr.isatty()
    return Progress() if asked else None


def duration(seconds: float) -> str:
    """12 s, 3:05, 2:03:04"""
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    hours, rest = divmod(seconds, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


@dataclass
class Checkpoint:
    """The file that a run is saved in. It knows which model, seed and data the run has."""

    path: Path
    about: dict[str, str]  # name -> what it must be, or a digest of it

    @classmethod
    def of(cls, path: str | os.PathLike, model: bytes, inputs: Mapping[str, np.ndarray]) -> "Checkpoint":
        path = Path(path)
        if not path.parent.is_dir():
            raise FileNotFoundError(f"no such directory: {path.parent}")
        return cls(path, {"model": hashlib.sha256(model).hexdigest(), **{k: digest(v) for k, v in inputs.items()}})

    def save(self, run: Run) -> None:
        """All of the run, in the place of what the file had."""
        arrays = {f"state/{k}": v for k, v in run.state.items()}
        arrays |= {f"draws/{k}": v for k, v in run.results().items()}
        head = json.dumps({"about": self.about, "seconds": run.seconds})
        out = io.BytesIO()
        np.savez(out, head=np.array(head), **arrays)
        write_all([(self.path, out.getvalue())])

    def restore(self, run: Run) -> None:
        """The run as it was saved, if the file exists. ValueError: it is the file of another run."""
        if not self.path.exists():
            return
        try:
            with np.load(self.path, allow_pickle=False) as found:
                head = json.loads(str(found["head"]))
                arrays = {k: found[k] for k in found.files if k != "head"}
            about = head["about"]
        except Exception:
            raise ValueError(f"{self.path} is not a saved run, or is damaged") from None
        if other := [k for k in {**about, **self.about} if about.get(k) != self.about.get(k)]:
            raise ValueError(
                f"{self.path} belongs to a run with another {other[0]}: take another file for this run, or remove that one"
            )
        run.state = {k.removeprefix("state/"): v for k, v in arrays.items() if k.startswith("state/")}
        run.parts = [{k.removeprefix("draws/"): v for k, v in arrays.items() if k.startswith("draws/")}]
        run.seconds = head["seconds"]


def warn_of_stop(run: Run, drawn: int, checkpoint: Checkpoint | None, level: int) -> None:
    how = f": the same call with checkpoint={str(checkpoint.path)!r} continues it" if checkpoint else ""
    warnings.warn(f"stopped: these are {drawn} of {run.settings['draws']} draws of each chain{how}", stacklevel=level + 1)
