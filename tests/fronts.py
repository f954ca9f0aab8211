"""True fronts by trying all weight vectors, and how near another front comes."""

import itertools

import numpy as np

import oracles
from dnip.method.scales import WeightScale


def true_front(p, labels, scale):
    """Accuracy and COBias of the points that no weight vector beats, most accurate first."""
    met = set()
    levels = WeightScale.of(scale).levels
    for weights in itertools.product(levels, repeat=p.shape[1]):
        confusion = oracles.confusion_at(p, labels, weights)
        met.add((int(np.trace(confusion)), round(oracles.cobias(confusion), 12)))
    front, lowest = [], np.inf
    for correct, cobias in sorted(met, key=lambda point: (-point[0], point[1])):
        if cobias < lowest:
            front.append((correct / len(labels), cobias))
            lowest = cobias
    return np.array(front)


def measures(points):
    """Accuracy and COBias of points, as `true_front` gives them."""
    return np.array([(point.accuracy, point.cobias) for point in points])


def indices_of(front):
    """The weight indices of every point of a front."""
    return [point.weight_indices.tolist() for point in front.points]


def hypervolume(front, corner):
    """The area that a front beats, down to a corner of low accuracy and high COBias."""
    area, highest = 0.0, corner[1]
    for accuracy, cobias in sorted(map(tuple, front), reverse=True):
        if accuracy > corner[0] and cobias < highest:
            area += (accuracy - corner[0]) * (highest - cobias)
            highest = cobias
    return area
