//! A quorum when its nodes fail: on memory stores in virtual time, and on servers that are killed.

mod described;
mod far;
mod fences;
mod forgotten;
mod hand_offs;
mod health;
mod late;
mod lessons;
mod managers;
mod nodes;
mod pace;
mod plain;
mod queues;
mod repair;
mod restarts;
mod rules;
mod same_fence;
mod timeouts;
mod votes;
