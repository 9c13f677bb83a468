//! What only a real server shows of the Redis store: its scripts and plain commands, its connections, its clients beside others.

mod redis;
