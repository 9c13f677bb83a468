//! The wire format: keys, the arguments of each script, the scripts and their answers (`docs/wire-format.md` shows all of it).

pub(crate) mod decode;
pub(crate) mod encoder;
pub(crate) mod fields;
pub(crate) mod inspected;
pub(crate) mod keys;
pub(crate) mod record;
pub(crate) mod scripts;
pub(crate) mod thin_answer;
