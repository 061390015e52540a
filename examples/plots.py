"""Fit a curve with a small network, and plot the data, the fit and the loss."""

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
np.random.seed(0)

x_values = np.linspace(-2, 2, 80, dtype=np.float32).reshape(-1, 1)
y_values = np.sin(2 * x_values) + 0.1 * np.random.randn(80, 1).astype(np.float32)
x = torch.from_numpy(x_values)
y = torch.from_numpy(y_values)

model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)

losses = []
for step in range(201):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 50 == 0:
        print("step", step, "loss", round(losses[-1], 5))

fit = model(x).detach()
residuals = np.abs(fit.numpy() - y_values)
print("largest residual:", residuals.max())

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5))
left.scatter(x_values, y.numpy(), s=10, label="data")
left.plot(x, fit, color="tab:orange", label="fit")
left.legend()
right.plot(losses)
right.set_xlabel("step")
right.set_ylabel("loss")
figure.savefig("plots.png")
print("saved plots.png")
