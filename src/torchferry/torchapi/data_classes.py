"""Datasets, loaders and samplers: what stays on the host."""

from __future__ import annotations

_DATA = "torch.utils.data."

#: bases that make a class a dataset; its code may run in a worker process
DATASET_CLASSES = frozenset(
    _DATA + n for n in "Dataset IterableDataset TensorDataset ConcatDataset Subset".split()
)
#: functions and classes that wrap a dataset and give one with the same items
DATASET_WRAPPERS = frozenset(
    _DATA + n for n in "Subset ConcatDataset ChainDataset StackDataset random_split".split()
)
LOADERS = frozenset((_DATA + "DataLoader", _DATA + "dataloader.DataLoader"))
SAMPLERS = frozenset(
    _DATA + n
    for n in """
    RandomSampler SequentialSampler BatchSampler SubsetRandomSampler WeightedRandomSampler
    distributed.DistributedSampler Sampler
    """.split()
)
