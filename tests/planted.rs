//! A check of the tests: they notice bugs that are planted on purpose.

mod planted_bugs;
