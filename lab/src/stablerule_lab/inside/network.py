"""The library's network and its training loop, for methods and experiments that change or watch parts of them."""

from stablerule.learning.batches import Batch, Pool
from stablerule.learning.decorrelation import BodyWeights, random_weights
from stablerule.learning.network import RuleNetwork, Selector, Tables, head_probabilities
from stablerule.learning.training import TRAINING_SHARE, check_torch_device, compute_training_loss, train_network

__all__ = [
    "TRAINING_SHARE",
    "Batch",
    "BodyWeights",
    "Pool",
    "RuleNetwork",
    "Selector",
    "Tables",
    "check_torch_device",
    "compute_training_loss",
    "head_probabilities",
    "random_weights",
    "train_network",
]
