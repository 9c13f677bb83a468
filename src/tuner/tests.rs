//! The tuner as a whole: what it sets whatever it is fed, and the actor in virtual time.

mod actor;
mod bounds;
mod trial;
