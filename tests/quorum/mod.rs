//! A quorum when its nodes fail: on memory stores in virtual time, and on servers that are killed.

mod far;
mod fences;
mod forgotten;
mod health;
mod late;
mod managers;
mod nodes;
mod pace;
mod plain;
mod queues;
mod repair;
mod restarts;
mod same_fence;
mod timeouts;
mod votes;
