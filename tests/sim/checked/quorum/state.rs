//! What clients and nodes do.

use std::time::Duration;

use leasehold::{
    Fence,
    rules::{Report, granted_fence, is_known, lessons, majority},
};

use super::{
    CLIENTS, MAX_TTL, NODES, Rules, World, ages,
    client::{Client, Said, Stage, Verb},
    node::{Node, bit},
};

/// All that is the case at a moment.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub struct State {
    pub(super) nodes: [Node; NODES],
    pub(super) clients: [Client; CLIENTS],
    pub(super) restarts: u8,
    pub(super) steps: u8,
    pub(super) next_token: u8,
    /// The nodes that may have forgotten, as the first client has met them.
    pub(super) sightings: ages::Known,
    /// The largest fence that was given out, and to whom.
    pub(super) largest: (u64, usize),
    pub(super) went_back: bool,
}

impl State {
    pub(super) fn ask(&mut self, which: usize) {
        let (token, floor) = (self.next_token, self.largest);
        self.next_token += 1;
        let client = &mut self.clients[which];
        client.asks -= 1;
        client.stage = Stage::Voting { token, floor, said: [None; NODES] };
        client.send(&Verb::Acquire(token));
    }

    pub(super) fn execute(&mut self, which: usize, node: usize, rules: Rules) {
        let client = &mut self.clients[which];
        let Some(verb) = client.sent[node].pop_front() else { return };
        let it = &mut self.nodes[node];
        match verb {
            Verb::Acquire(token) => {
                let answer = match it.acquire(node, which, token) {
                    Some(fence) if it.covers(node, rules, fence) => Said::Yes(fence),
                    Some(_) => Said::Abstains,
                    None => Said::No,
                };
                let (holds, wants) = (client.holds(token), client.wants(token));
                match (&mut client.stage, client.granted) {
                    (Stage::Voting { token: asked, said, .. }, _) if *asked == token => {
                        said[node] = Some(answer)
                    }
                    (_, Some((granted, fence))) if granted == token && (rules.lowers || holds) => {
                        client.sent[node].push_back(Verb::Raise(token, fence));
                    }
                    _ if wants => {}
                    _ => client.sent[node].push_back(Verb::Release(token)),
                }
            }
            Verb::Raise(token, fence) => {
                let raised = it.raise(token, fence, rules.lowers);
                if let Stage::Raising { token: asked, fence: wanted, acks, .. } = &mut client.stage {
                    *acks |= u8::from(raised && *asked == token && *wanted == fence) << node;
                }
            }
            Verb::Release(token) => it.release(bit(token)),
            Verb::Teach(incarnation, fence) => it.teach(incarnation, fence, rules),
        }
    }

    /// A client counts; whether there is something to count is known.
    pub(super) fn decide(&mut self, which: usize) -> bool {
        match self.clients[which].stage.clone() {
            Stage::Voting { token, floor, said } => {
                let fences: Vec<Fence> = said
                    .iter()
                    .filter_map(|said| {
                        if let Some(Said::Yes(fence)) = said { Some(Fence::new(*fence)) } else { None }
                    })
                    .collect();
                if fences.len() < majority(NODES) {
                    return false;
                }
                let expected = None;
                let Some(fence) = granted_fence(
                    expected,
                    |fence| is_known(fence, fences.iter().copied(), NODES),
                    fences.iter().copied(),
                ) else {
                    return false;
                };
                if is_known(fence, fences.iter().copied(), NODES) {
                    self.grant(which, token, fence.get(), floor);
                } else {
                    let client = &mut self.clients[which];
                    client.stage = Stage::Raising { token, floor, fence: fence.get(), acks: 0 };
                    client.send(&Verb::Raise(token, fence.get()));
                }
                true
            }
            Stage::Raising { token, floor, fence, acks } if acks.count_ones() as usize >= majority(NODES) => {
                self.grant(which, token, fence, floor);
                true
            }
            _ => false,
        }
    }

    pub(super) fn grant(&mut self, which: usize, token: u8, fence: u64, (floor, _): (u64, usize)) {
        self.went_back |= fence <= floor;
        if fence > self.largest.0 {
            self.largest = (fence, which);
        }
        let client = &mut self.clients[which];
        client.stage = Stage::Holding { token };
        client.granted = Some((token, fence));
    }

    /// Nobody believes any more in what this client had, or wanted.
    pub(super) fn idle(&mut self, which: usize) {
        self.clients[which].stage = Stage::Idle;
        ages::ends(&mut self.sightings, which);
        for node in &mut self.nodes {
            node.forgot[which] = false;
            ages::ends(&mut node.known, which);
        }
    }

    /// A lease ends by itself, on all nodes that have it by now.
    pub(super) fn end(&mut self, which: usize) {
        if let Stage::Holding { token } = self.clients[which].stage {
            self.nodes.iter_mut().for_each(|node| node.release(bit(token)));
        }
        self.idle(which);
    }

    pub(super) fn release(&mut self, which: usize) {
        let client = &mut self.clients[which];
        if let Stage::Voting { token, .. } | Stage::Raising { token, .. } | Stage::Holding { token } =
            client.stage
        {
            client.granted = None;
            client.send(&Verb::Release(token));
        }
        self.idle(which);
    }

    pub(super) fn holders(&self) -> usize {
        self.clients.iter().filter(|client| matches!(client.stage, Stage::Holding { .. })).count()
    }

    /// The tokens on a node that nobody believes in.
    pub(super) fn over(&self, node: usize) -> u8 {
        let Some(hold) = &self.nodes[node].hold else { return 0 };
        let client = &self.clients[hold.client];
        (0..8).filter(|token| hold.tokens & bit(*token) != 0 && !client.wants(*token)).map(bit).sum()
    }

    /// Whose leases may be valid, or become so.
    pub(super) fn wanting(&self) -> [bool; CLIENTS] {
        self.clients.each_ref().map(|client| client.stage != Stage::Idle)
    }

    pub(super) fn restart(&mut self, node: usize) {
        let forgot = self.wanting();
        let incarnation = self.nodes[node].incarnation + 1;
        self.nodes[node] = Node {
            incarnation,
            recovered: None,
            last: 0,
            hold: None,
            forgot,
            stepped: false,
            known: [None; NODES],
        };
        self.restarts -= 1;
    }

    pub(super) fn recover(&mut self, which: usize, silent: Option<usize>, world: &World) -> bool {
        let reports: Vec<Option<Report>> = (0..NODES)
            .map(|node| {
                let report = (Some(node) != silent).then(|| self.nodes[node].report(node, world.rules))?;
                Some(if world.observes { self.aged(node, report) } else { report })
            })
            .collect();
        let lessons = lessons(&reports, Duration::ZERO, MAX_TTL, false).unwrap_or_default();
        for (node, lesson) in &lessons {
            let incarnation = self.nodes[*node].incarnation;
            let way = &mut self.clients[which].sent[*node];
            if !way.iter().any(|verb| matches!(verb, Verb::Teach(..))) {
                way.push_back(Verb::Teach(incarnation, lesson.fence.get()));
            }
        }
        !lessons.is_empty()
    }
}
