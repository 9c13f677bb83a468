//! Locks outside of actix: in a runtime with many threads, on threads that block, and in code deep below.

mod blips;
mod blocking;
mod held;
mod thread;

use std::{
    cell::OnceCell,
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
};

use leasehold::{LockManager, ManagerThread, MemoryStore, start_anywhere};

/// A manager of the locks in this memory.
fn in_memory(store: &MemoryStore) -> ManagerThread {
    let store = store.clone();
    start_anywhere(move || LockManager::builder(Arc::new(store)).start_here()).unwrap()
}

/// Tells that its thread has ended.
struct EndOfThread(Sender<()>);

impl Drop for EndOfThread {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

/// A manager, and news of the end of its thread.
fn watched(store: &MemoryStore) -> (ManagerThread, Receiver<()>) {
    thread_local!(static END: OnceCell<EndOfThread> = const { OnceCell::new() });
    let (store, (tell, told)) = (store.clone(), channel());
    let start = move || {
        END.with(|end| drop(end.set(EndOfThread(tell))));
        LockManager::builder(Arc::new(store)).start_here()
    };
    (start_anywhere(start).unwrap(), told)
}
