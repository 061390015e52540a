"""A variational autoencoder of small pictures: one bright bar on a dark square."""

import argparse

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

SIDE = 8


def bars(count):
    """`count` pictures of SIDE x SIDE pixels, each with a row or a column that is bright."""
    pictures = torch.zeros(count, SIDE, SIDE)
    for picture in pictures:
        place = int(torch.randint(SIDE, ()))
        if torch.rand(()) < 0.5:
            picture[place] = 1
        else:
            picture[:, place] = 1
    return pictures.view(count, -1)


class VAE(nn.Module):
    def __init__(self, latent_size):
        super().__init__()
        self.latent_size = latent_size
        self.encoder = nn.Sequential(nn.Linear(SIDE * SIDE, 64), nn.ReLU())
        self.to_mean = nn.Linear(64, latent_size)
        self.to_log_variance = nn.Linear(64, latent_size)
        self.decoder = nn.Sequential(
            nn.Linear(latent_size, 64), nn.ReLU(), nn.Linear(64, SIDE * SIDE)
        )

    def forward(self, pictures):
        encoded = self.encoder(pictures)
        mean, log_variance = self.to_mean(encoded), self.to_log_variance(encoded)
        noise = torch.randn(mean.size())
        latent = mean + noise * torch.exp(0.5 * log_variance)
        return self.decoder(latent), mean, log_variance

    def sample(self, count):
        latent = torch.randn(count, self.latent_size)
        return torch.sigmoid(self.decoder(latent))


def loss_of(model, pictures):
    logits, mean, log_variance = model(pictures)
    likeness = F.binary_cross_entropy_with_logits(logits, pictures, reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    return (likeness + divergence) / len(pictures)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--latent-size", type=int, default=6)
    args = parser.parse_args()

    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(bars(512)), batch_size=32, shuffle=True)
    model = VAE(args.latent_size)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    for epoch in range(args.epochs):
        losses = []
        for (pictures,) in loader:
            loss = loss_of(model, pictures)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: loss {sum(losses) / len(losses):.3f}")

    with torch.no_grad():
        picture = model.sample(1).view(SIDE, SIDE).numpy()
    print("a sample, brightness of each row:", picture.mean(axis=1).round(3))


if __name__ == "__main__":
    main()
