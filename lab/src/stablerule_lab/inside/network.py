"""The library's network and training loop, for methods and experiments that change or observe them."""

from stablerule.learning.batches import Batch, SamplePool
from stablerule.learning.decorrelation import BodyWeights, draw_random_weights
from stablerule.learning.network import RuleNetwork, Selector, Tables, predict_head_probabilities
from stablerule.learning.training import TRAINING_SHARE, check_torch_device, compute_training_loss, train_network

__all__ = [
    "TRAINING_SHARE",
    "Batch",
    "BodyWeights",
    "RuleNetwork",
    "SamplePool",
    "Selector",
    "Tables",
    "check_torch_device",
    "compute_training_loss",
    "draw_random_weights",
    "predict_head_probabilities",
    "train_network",
]
