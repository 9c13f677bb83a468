//! What only real servers, real time and the end of a process show.

mod anywhere;
mod deployments;
mod end_of_main;
mod givers_up;
mod histories;
mod real_redis;
mod without_tls;
