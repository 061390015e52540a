"""Tag the words of a few sentences with an LSTM that carries its hidden state along."""

import torch
import torch.nn as nn
import torch.optim as optim

SENTENCES = [
    ("the cat sees a bird", "DET NOUN VERB DET NOUN"),
    ("a small bird sings", "DET ADJ NOUN VERB"),
    ("the old cat sleeps", "DET ADJ NOUN VERB"),
    ("birds see the small cat", "NOUN VERB DET ADJ NOUN"),
]
TAGS = ["DET", "NOUN", "VERB", "ADJ"]


class Tagger(nn.Module):
    def __init__(self, vocabulary_size, embedding_size=12, hidden_size=16):
        super().__init__()
        self.hidden_size = hidden_size
        self.embedding = nn.Embedding(vocabulary_size, embedding_size)
        self.lstm = nn.LSTM(embedding_size, hidden_size)
        self.to_tags = nn.Linear(hidden_size, len(TAGS))
        self.hidden = self.init_hidden()

    def init_hidden(self):
        return (torch.zeros(1, 1, self.hidden_size), torch.zeros(1, 1, self.hidden_size))

    def forward(self, words):
        embedded = self.embedding(words).view(len(words), 1, -1)
        output, self.hidden = self.lstm(embedded, self.hidden)
        return self.to_tags(output.view(len(words), -1))


def encode(items, numbers):
    return torch.tensor([numbers[item] for item in items], dtype=torch.long)


torch.manual_seed(1)
data = [(words.split(), tags.split()) for words, tags in SENTENCES]
word_numbers = {}
for words, _ in data:
    for word in words:
        word_numbers.setdefault(word, len(word_numbers))
tag_numbers = {tag: number for number, tag in enumerate(TAGS)}

model = Tagger(len(word_numbers))
loss_function = nn.CrossEntropyLoss()
optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.5)

for epoch in range(1, 61):
    total = 0.0
    for words, tags in data:
        model.zero_grad()
        model.hidden = model.init_hidden()
        scores = model(encode(words, word_numbers))
        loss = loss_function(scores, encode(tags, tag_numbers))
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 15 == 0:
        print("epoch", epoch, "loss", round(total / len(data), 4))

with torch.no_grad():
    for words, tags in data:
        model.hidden = model.init_hidden()
        best = model(encode(words, word_numbers)).argmax(dim=1)
        guessed = [TAGS[number] for number in best]
        print(" ".join(f"{word}/{tag}" for word, tag in zip(words, guessed)), guessed == tags)
