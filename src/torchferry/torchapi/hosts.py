"""Host libraries: a device tensor that meets one of their calls must come to the host first."""

from __future__ import annotations

#: top-level packages whose functions read tensors through numpy or Python
HOST_LIBRARIES = frozenset(
    """
    numpy scipy sklearn pandas matplotlib seaborn PIL cv2 skimage imageio plotly bokeh altair
    gym gymnasium pickle joblib h5py nltk networkx statsmodels xgboost lightgbm mlxtend
    pylab librosa soundfile wandb csv autograd jax tensorflow numba sympy cvxpy hmmlearn
    d2l mnist1d
    """.split()
)
#: of these, the ones whose functions plot and whose classes are built on torch
MIXED_LIBRARIES = frozenset(("d2l",))
#: packages that take device tensors as they are
DEVICE_LIBRARIES = frozenset(
    """
    torch torchvision torchaudio torchtext torchmetrics einops transformers timm kornia
    torch_geometric accelerate lightning pytorch_lightning fastai ignite tensorboardX
    torch_scatter torch_sparse gpytorch pyro functorch apex monai diffusers
    """.split()
)
#: builtins that take tensors as they are, on any device
BUILTINS_FINE = frozenset(
    """
    print len float int bool str repr isinstance type id hasattr getattr setattr format hash
    callable super issubclass vars dir input open exit quit help range slice ord chr hex bin
    object property staticmethod classmethod globals locals memoryview bytes bytearray complex
    """.split()
)
