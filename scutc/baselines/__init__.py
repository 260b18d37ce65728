"""The methods that uniform tensor clustering is compared with, as scikit-learn estimators with the interface of UTC.

Each is one file and follows one publication. All see the data through the same distances and return exactly as many
clusters as asked, numbered by size, so that a comparison changes the method and nothing else.
"""

from .can import CAN
from .cave import CAVE
from .ips2 import IPS2
from .pps import PPS
from .spectral import SpectralClustering

__all__ = ["CAN", "CAVE", "IPS2", "PPS", "SpectralClustering"]
