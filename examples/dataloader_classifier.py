"""Classify points on two spirals, in batches."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, random_split


class Spirals(Dataset):
    """Points (x, y) on two arms that wind around each other, and the number of their arm."""

    def __init__(self, points_per_arm, noise=0.03):
        turn = torch.linspace(0.25, 1.0, points_per_arm)
        angle = 2.5 * math.pi * turn
        arm = torch.stack([turn * torch.cos(angle), turn * torch.sin(angle)], dim=1)
        self.points = torch.cat([arm, -arm]) + noise * torch.randn(2 * points_per_arm, 2)
        self.labels = torch.arange(2).repeat_interleave(points_per_arm)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.points[index], self.labels[index]


class Classifier(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.hidden = nn.Linear(4, hidden)
        self.output = nn.Linear(hidden, 2)
        self.frequency = torch.tensor([3.0, 3.0])

    def forward(self, points):
        waves = torch.sin(points * self.frequency)
        return self.output(torch.tanh(self.hidden(torch.cat([points, waves], dim=1))))


def evaluate(model, loader):
    """Share of the points whose arm is recognised, and how often each arm is named."""
    model.eval()
    correct, total = 0, 0
    named = torch.zeros(2, dtype=torch.long)
    with torch.no_grad():
        for points, labels in loader:
            predicted = model(points).argmax(dim=1)
            correct += (predicted == labels).sum().item()
            total += len(labels)
            named += torch.bincount(predicted, minlength=2)
    return correct / total, named.tolist()


def main():
    torch.manual_seed(0)
    train_set, test_set = random_split(Spirals(150), [240, 60])
    train_loader = DataLoader(train_set, batch_size=40, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=60)

    model = Classifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.4, momentum=0.9)
    weight = torch.tensor([1.0, 1.0])

    for epoch in range(1, 26):
        model.train()
        total_loss = 0.0
        for points, labels in train_loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(points), labels, weight=weight)
            loss.backward()
            optimizer.step()
            total_loss += loss.item()
        if epoch % 5 == 0:
            accuracy, named = evaluate(model, test_loader)
            mean_loss = total_loss / len(train_loader)
            print(f"epoch {epoch:2d}  loss {mean_loss:.4f}  accuracy {accuracy:.3f}  named {named}")


if __name__ == "__main__":
    main()
