//! Tests of the Redis store on real servers: its scripts and plain commands, its connections, its clients beside others.

mod redis;
