//! The fair run: what follows from a state if nothing bad happens any more, but that one node falls silent.
//!
//! At first all nodes answer. All calls on their way are executed, those that ask are granted or give up, those that hold release,
//! what nobody believes in ends, and nodes that have forgotten are taught. Then a node falls silent, whichever it is, and each client
//! asks once and is granted.

use super::{CLIENTS, NODES, State, World, client::Stage};

/// The rounds of calls and answers after which nothing is on its way: an acquisition, a raise, a release, and what follows a late one.
const ROUNDS: usize = 8;

/// Returns true if both clients are served in turn, whichever node is silent.
pub(super) fn serves_all(world: &World, state: &State) -> bool {
    let mut state = state.clone();
    state.settle(world)
        && (0..NODES).all(|silent| {
            let mut state = state.clone();
            (0..CLIENTS).all(|which| state.serve(world, which, silent))
        })
}

impl State {
    /// Lets all come to an end that has begun, and nodes recover. Returns false if that does not end.
    fn settle(&mut self, world: &World) -> bool {
        for _ in 0..ROUNDS {
            self.deliver(world, None);
            for which in 0..CLIENTS {
                match self.clients[which].stage {
                    Stage::Idle => {}
                    Stage::Holding { .. } => self.release(which),
                    Stage::Voting { .. } | Stage::Raising { .. } => {
                        if !self.decide(which) {
                            self.release(which);
                        }
                    }
                }
            }
            for node in 0..NODES {
                let over = self.over(node);
                self.nodes[node].release(over);
            }
            let is_idle = self.clients.iter().all(|client| client.stage == Stage::Idle);
            let is_quiet = self.clients.iter().all(|client| client.sent.iter().all(|way| way.is_empty()));
            if is_idle && is_quiet && !self.recover_all(world) {
                return true;
            }
        }
        false
    }

    /// Has a client ask who has recovered, if that is of use. Returns true if something is taught.
    fn recover_all(&mut self, world: &World) -> bool {
        let has_recovered = |node: usize| {
            let report = self.nodes[node].report(node, world.rules);
            report.incarnation.has_recovered(report.recovered.as_ref())
        };
        world.rules.teaches && !(0..NODES).all(has_recovered) && self.recover(0, None, world)
    }

    /// Executes all that is on its way to nodes that are not silent.
    fn deliver(&mut self, world: &World, silent: Option<usize>) {
        for which in 0..CLIENTS {
            for node in (0..NODES).filter(|node| Some(*node) != silent) {
                for _ in 0..self.clients[which].sent[node].len() {
                    self.execute(which, node, world.rules);
                }
            }
        }
    }

    /// Has a client ask, and release what it is granted. Returns false if it is not granted.
    fn serve(&mut self, world: &World, which: usize, silent: usize) -> bool {
        self.clients[which].asks += 1;
        self.ask(which);
        // An acquisition, and a raise.
        for _ in 0..2 {
            self.deliver(world, Some(silent));
            self.decide(which);
        }
        let holds = matches!(self.clients[which].stage, Stage::Holding { .. });
        self.release(which);
        self.deliver(world, Some(silent));
        holds
    }
}
