"""BSP and ASP as Python has them: the same rules, with the same reasons, as sync/'s."""

from paceline.sync import Decision, Policy


class ASP(Policy):
    spec = "asp"

    def joined(self, worker, now):
        return Decision(release=[worker], reason=f"worker {worker} joins")

    def pushed(self, push, now):
        reason = f"worker {push.worker} goes on: asp never waits"
        return Decision([[push]], release=[push.worker], reason=reason)

    def left(self, worker, now):
        return Decision(reason=f"worker {worker} left")


class BSP(Policy):
    spec = "bsp"

    def __init__(self):
        self.superstep = 1
        self.workers = set()
        self.waiting = set()
        self.buffer = []

    def joined(self, worker, now):
        self.workers.add(worker)
        return Decision(release=[worker], reason=f"worker {worker} joins superstep {self.superstep},"
                        f" whose barrier waits for {len(self.workers)}")

    def pushed(self, push, now):
        self.buffer.append(push)
        self.waiting.add(push.worker)
        return self.barrier_or(
            f"worker {push.worker} waits at the barrier of superstep {self.superstep}: "
            f"{len(self.waiting)} of {len(self.workers)} are there")

    def left(self, worker, now):
        self.workers.discard(worker)
        self.waiting.discard(worker)
        absent = len(self.workers) - len(self.waiting)
        return self.barrier_or(
            f"worker {worker} left; the barrier waits for {absent} of {len(self.workers)}")

    def barrier_or(self, reason):
        if self.buffer and self.waiting == self.workers:
            return self.make_barrier()
        return Decision(reason=reason)

    def make_barrier(self):
        decision = Decision(
            [sorted(self.buffer)], release=sorted(self.workers),
            reason=f"barrier of superstep {self.superstep}: the mean of {len(self.buffer)} pushes, "
            f"{len(self.workers)} workers go on")
        self.buffer, self.waiting = [], set()
        self.superstep += 1
        return decision
