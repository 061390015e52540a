"""What the snapshots of the repositories lack.

Where data is made anew, its shapes are right and its values synthetic.
"""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

EMPTY_FOLDERS = {  # git keeps no empty folder
    "benmoseley/harmonic-oscillator-pinn": "plots",
    "jmtomczak/intro_dgm": "results",
}

BORROWED = {  # what the programs of a repository have downloaded
    "lorenlugosch/pytorch_HMM": ("lorenlugosch/pytorch_HMM", "data/train/training.txt"),
    "karpathy/nn-zero-to-hero": ("karpathy/makemore", "names.txt"),
}


def _mnist_files(folder: Path) -> None:
    import numpy

    target = folder / "datasets" / "mnist"
    target.mkdir(parents=True, exist_ok=True)
    random = numpy.random.RandomState(0)
    patterns = random.randint(0, 256, size=(10, 784)).astype("uint8")
    for name, count in (("train", 60000), ("t10k", 10000)):
        labels = random.randint(0, 10, size=count).astype("uint8")
        images = patterns[labels] // 2 + random.randint(0, 128, size=(count, 784)).astype("uint8")
        for suffix, header, data in (
            ("images-idx3", 16, images.astype("uint8")),
            ("labels-idx1", 8, labels),
        ):
            with gzip.open(target / f"{name}-{suffix}-ubyte.gz", "wb", 1) as stream:
                stream.write(bytes(header) + data.tobytes())


def _cora(folder: Path) -> None:
    import numpy

    random = numpy.random.RandomState(0)
    cites = (folder / "data/cora/cora.cites").read_text().split()
    names = list(dict.fromkeys(cites))
    lines = []
    for name in names:
        label = random.randint(7)
        words = random.rand(1433) < numpy.where(numpy.arange(1433) % 7 == label, 0.05, 0.005)
        lines.append("\t".join([name, *map(str, words.astype(int)), f"class_{label}"]))
    (folder / "data/cora/cora.content").write_text("\n".join(lines) + "\n")


def _sine_waves(folder: Path) -> None:
    cwd = folder / "time_sequence_prediction"
    source = (cwd / "generate_sine_wave.py").read_text()
    source = source.replace("L = 1000", "L = 100").replace("N = 100", "N = 10")
    subprocess.run([sys.executable, "-c", source], cwd=cwd, check=True)


SYNTHETIC: dict[str, Callable[[Path], None]] = {
    "minitut-2-logistic-regression": _mnist_files,
    "minitut-4-modern-neural-net": _mnist_files,
    "minitut-5-convolutional-net": _mnist_files,
    "minitut-6-lstm": _mnist_files,
    "pygcn-train": _cora,
    "ptex-time-sequence-prediction-train": _sine_waves,
}
