"""One DADI learner in straightforward batched PyTorch: two modules, no sharing between passes.

Every state of a rollout is encoded from one-hot tokens without a graph, and all states of the
window once more for the update. One agent is one row of a batch.
"""

import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

from tests.studies.dadi.plain_set_encoder import PlainSetEncoder


def _head(width: int, hidden: int, out: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(width, hidden),
        nn.ReLU(),
        nn.Linear(hidden, hidden),
        nn.ReLU(),
        nn.Linear(hidden, out),
    )


class PlainNetworks(nn.Module):
    """Encoder, classifier and policy; encoder and adversary of its own.

    An adversary of `reads_label` has the label as one more input; the classifier has a 0 there.
    """

    def __init__(self, columns, panels, hidden, width, steps, head, *, reads_label=False):
        super().__init__()
        self.encoder = PlainSetEncoder(columns, hidden, width, steps)
        self.other_encoder = PlainSetEncoder(columns, hidden, width, steps)
        self.reads_label = reads_label
        self.classifier, self.adversary = (_head(width + reads_label, head, 1) for _ in range(2))
        self.policy = _head(width, head, panels + 1)

    def forward(self, values, member, label):
        """Q (m, a + 1), log-odds of the label (m,), log-odds of the sensitive attribute (m,)."""
        encoding, other = self.encoder(values, member), self.other_encoder(values, member)
        q = self.policy(encoding)
        if self.reads_label:
            encoding = torch.cat((encoding, torch.zeros_like(label)[:, None]), dim=1)
            other = torch.cat((other, label[:, None]), dim=1)
        return q, self.classifier(encoding).squeeze(1), self.adversary(other).squeeze(1)


class PlainDadi:
    """Joint training of one learner.

    `weights` and `reads_label`, whether the adversary reads the label, define the objective;
    `prices` are what each decision costs in nats, "stop" last.
    """

    def __init__(
        self,
        values,
        panel_of_column,
        label,
        sensitive,
        weights,
        gamma,
        *,
        reads_label=False,
        reward="difference",
        prices=None,
        **settings,
    ):
        self.values, self.panel = torch.from_numpy(values), torch.from_numpy(panel_of_column)
        self.label, self.sensitive = label.float(), sensitive.float()
        self.label_weight, self.adversary_weight = weights
        self.gamma, self.settings = gamma, settings
        self.panels = int(self.panel.max()) + 1
        shape = (
            values.shape[1],
            self.panels,
            settings["hidden"],
            settings["width"],
            settings["processing_steps"],
            settings["head"],
        )
        self.networks, self.target = (
            PlainNetworks(*shape, reads_label=reads_label) for _ in range(2)
        )
        self.reward = reward
        self.prices = torch.zeros(self.panels + 1) if prices is None else prices
        self.target.load_state_dict(self.networks.state_dict())
        self.adam = torch.optim.Adam(
            self.networks.parameters(), lr=settings["learning_rate"], fused=True
        )
        agents = settings["agents"]
        self.row = torch.randint(len(values), (agents,))
        self.acquired = torch.zeros(agents, self.panels, dtype=torch.bool)
        self.iteration = 0

    def start(self):
        """Copy the networks into the target, once they hold the weights they should start with."""
        self.target.load_state_dict(self.networks.state_dict())

    def losses(self, label_logit, adversary_logit, row):
        """Weighted cross-entropies of classifier and adversary. (m,) each"""
        of_label = binary_cross_entropy_with_logits(label_logit, self.label[row], reduction="none")
        of_adversary = binary_cross_entropy_with_logits(
            adversary_logit, self.sensitive[row], reduction="none"
        )
        return self.label_weight[row] * of_label, self.adversary_weight[row] * of_adversary

    def iterate(self, explore, scores, new_row):
        """One iteration with the given draws: (t, n) bool, (t, n, a + 1), (n,)."""
        states, actions, rewards, goes_on, live, earlier = [], [], [], [], [], []
        exploratory, values = [], []
        row, acquired = self.row, self.acquired
        alive = torch.ones(len(row), dtype=torch.bool)
        with torch.no_grad():
            for t in range(self.settings["window"] + 1):
                member = acquired[:, self.panel]
                q, label_logit, adversary_logit = self.networks(
                    self.values[row], member, self.label[row]
                )
                of_label, of_adversary = self.losses(label_logit, adversary_logit, row)
                gain = -self.gamma * of_label + (1 - self.gamma) * of_adversary
                if earlier:
                    gain_before, first = earlier[-1]
                    paid = torch.where(first, gain, gain - gain_before)
                    if self.reward == "terminal":
                        paid = torch.where(goes_on[-1], torch.zeros_like(gain), gain)
                    rewards.append(paid - self.prices[actions[-1]])
                closed = torch.cat((acquired, torch.zeros(len(row), 1, dtype=torch.bool)), dim=1)
                best = q.masked_fill(closed, -torch.inf).argmax(dim=1)
                if t == self.settings["window"] or self.settings["returns"] == "watkins":
                    value = self.target(self.values[row], member, self.label[row])[0]
                    values.append(value.gather(1, best[:, None]).squeeze(1))
                if t == self.settings["window"]:
                    break
                drawn = scores[t].masked_fill(closed, -1).argmax(dim=1)
                action = torch.where(explore[t], drawn, best)
                exploratory.append(action != best)
                stop = action == self.panels
                earlier.append((gain, ~acquired.any(dim=1)))
                states.append(acquired)
                actions.append(action)
                live.append(alive)
                goes_on.append(~stop)
                alive = alive & ~stop
                acquired = acquired.clone()
                acquired[~stop, action[~stop]] = True
            following, targets = values[-1], []
            for t in reversed(range(self.settings["window"])):
                targets.insert(0, rewards[t] + goes_on[t] * following)
                following = targets[0]
                if self.settings["returns"] == "watkins":
                    following = torch.where(exploratory[t], values[t], following)
        self._update(row, states, actions, targets, live)
        self.iteration += 1
        if self.iteration % self.settings["target_every"] == 0:
            self.target.load_state_dict(self.networks.state_dict())
        self.row = torch.where(alive, row, new_row)
        self.acquired = acquired & alive[:, None]

    def _update(self, row, states, actions, targets, live):
        t = len(states)
        rows, mask = row.repeat(t), torch.cat(live)
        member = torch.cat(states)[:, self.panel]
        q, label_logit, adversary_logit = self.networks(self.values[rows], member, self.label[rows])
        of_label, of_adversary = self.losses(label_logit, adversary_logit, rows)
        chosen = q.gather(1, torch.cat(actions)[:, None]).squeeze(1)
        squared_error = (chosen - torch.cat(targets)).square()
        loss = (squared_error + of_label + of_adversary)[mask].mean()
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
