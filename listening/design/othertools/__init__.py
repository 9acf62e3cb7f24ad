"""Studies of other tools read into study folders; what is not taken over is named, line by line."""

from listening.design.othertools.conversion import CannotTake, Conversion
from listening.design.othertools.p808 import P808Files, p808_study
from listening.design.othertools.webmushra import read_config, webmushra_study
