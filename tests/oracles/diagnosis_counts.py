"""Scores of diagnoses unit by unit, and fronts point by point, written from their definitions."""

from collections.abc import Sequence


def counted_scores(
    label: Sequence[int], diagnosis: Sequence[int], probability: Sequence[float]
) -> dict[str, float]:
    """F1, AM, sensitivity, specificity, precision and AUROC from plain counts; all defined."""
    tp = fp = fn = tn = 0
    for truth, said in zip(label, diagnosis, strict=True):
        if truth and said:
            tp += 1
        elif said:
            fp += 1
        elif truth:
            fn += 1
        else:
            tn += 1
    recall, precision = tp / (tp + fn), tp / (tp + fp)
    won = pairs = 0.0
    for i, sick in enumerate(label):
        for j, other in enumerate(label):
            if sick and not other:
                pairs += 1
                won += (probability[i] > probability[j]) + 0.5 * (probability[i] == probability[j])
    return {
        "true_positive": tp,
        "false_positive": fp,
        "false_negative": fn,
        "true_negative": tn,
        "f1": 2 * precision * recall / (precision + recall) if tp else 0.0,
        "am": (recall + tn / (tn + fp)) / 2,
        "sensitivity": recall,
        "specificity": tn / (tn + fp),
        "precision": precision,
        "auroc": won / pairs,
    }


def undominated(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Points (cost, score) that no other beats, by trying every pair."""
    return [
        not any(c <= cost and s >= score and (c < cost or s > score) for c, s in points)
        for cost, score in points
    ]


def area_by_columns(
    points: Sequence[tuple[int, float]], reference_cost: int, reference_score: float
) -> float:
    """Dominated area of points with whole costs: one column of width 1 after the other."""
    area = 0.0
    for left in range(reference_cost):
        heights = [score - reference_score for cost, score in points if cost <= left]
        area += max([0.0, *heights])
    return area
