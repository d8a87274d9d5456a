"""How lit runs the files here: `lit filecheck/`. lit defines `config`."""

import os
import shutil
import sys
from ctypes.util import find_library
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from lit_in_process import InProcess

config.name = "mlirad"
config.test_format = InProcess()
config.suffixes = [".mlir"]
config.test_source_root = str(HERE)
config.environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
config.environment["PYTHONPATH"] = str(HERE.parent)

# What is printed must parse again and print the same.
config.substitutions += [
    (
        "ROUNDTRIP",
        "mlirad-opt %s --split-input-file | mlirad-opt --split-input-file | filecheck %s",
    ),
    ("DIAGNOSTICS", "mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s"),
]

if find_library("cuda"):
    config.available_features.add("cuda")
if shutil.which("mlir-opt"):
    config.available_features.add("mlir-opt")
