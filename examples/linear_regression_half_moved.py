"""Fit a straight line to five points, on a GPU where there is one.

This program has a mistake that a CPU never shows: for the last lines the model goes back to the
CPU, but the data that it is called on stays where it was.
"""

import torch
import torch.nn as nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)

x_train = torch.tensor([[1.0], [2.0], [3.0], [4.0], [5.0]])
y_train = 2 * x_train
x_train = x_train.to(device)
y_train = y_train.to(device)

model = nn.Linear(in_features=1, out_features=1).to(device)
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

epochs = 100
for epoch in range(1, epochs + 1):
    prediction = model(x_train)
    loss = criterion(prediction, y_train)

    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

    if epoch % 10 == 0:
        print(f"epoch {epoch:3d}/{epochs}  loss {loss.item():.6f}")

model.to(torch.device("cpu"))
with torch.no_grad():
    predicted = model(x_train).numpy()
print("predictions:", predicted.ravel())
