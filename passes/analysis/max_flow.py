"""
Minimum cuts of networks with integer capacities, by Dinic's algorithm.

Nothing here knows of IR. No recursion: a network may be as deep as a program is long.
"""

from __future__ import annotations

from collections import deque


class Network:
    """A directed graph whose edges have capacities; nodes are the numbers below `size`."""

    def __init__(self, size: int):
        self.edges: list[list[int]] = [[] for _ in range(size)]
        """The numbers of the edges that leave each node."""
        self.heads: list[int] = []
        self.room: list[int] = []
        """What each edge can still take. Edge `e ^ 1` is edge `e` backwards."""

    def connect(self, tail: int, head: int, capacity: int) -> None:
        self.edges[tail].append(len(self.heads))
        self.edges[head].append(len(self.heads) + 1)
        self.heads += [head, tail]
        self.room += [capacity, 0]

    def saturate(self, source: int, sink: int) -> int:
        """Sends as much as possible from `source` to `sink`; returns how much that is."""
        total = 0
        while levels := self.levels(source, sink):
            following = [0] * len(self.edges)
            while sent := self.augment(source, sink, levels, following):
                total += sent
        return total

    def levels(self, source: int, sink: int) -> list[int] | None:
        """The distance of each node from `source`, -1 if unknown; None if `sink` is cut off."""
        found = [-1] * len(self.edges)
        found[source] = 0
        queue = deque([source])
        while queue:
            node = queue.popleft()
            for edge in self.edges[node]:
                head = self.heads[edge]
                if self.room[edge] and found[head] < 0:
                    found[head] = found[node] + 1
                    if head == sink:
                        return found
                    queue.append(head)
        return None

    def augment(self, source: int, sink: int, levels: list[int], following: list[int]) -> int:
        """Fills one shortest path; `following` remembers which edges lead nowhere."""
        path: list[int] = []
        node = source
        while node != sink:
            edges = self.edges[node]
            while following[node] < len(edges):
                edge = edges[following[node]]
                head = self.heads[edge]
                if self.room[edge] and levels[head] == levels[node] + 1:
                    break
                following[node] += 1
            else:
                if not path:
                    return 0
                node = self.heads[path.pop() ^ 1]
                following[node] += 1
                continue
            path.append(edge)
            node = head
        amount = min(self.room[edge] for edge in path)
        for edge in path:
            self.room[edge] -= amount
            self.room[edge ^ 1] += amount
        return amount

    def reaching(self, sink: int) -> list[bool]:
        """
        The nodes from which `sink` can still be reached, once the network is saturated.

        The edges that lead into them are the minimum cut that is nearest to the sink.
        """
        found = [False] * len(self.edges)
        found[sink] = True
        stack = [sink]
        while stack:
            for edge in self.edges[stack.pop()]:
                tail = self.heads[edge]
                if self.room[edge ^ 1] and not found[tail]:
                    found[tail] = True
                    stack.append(tail)
        return found
