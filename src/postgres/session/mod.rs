//! What belongs to one backend: its settings, its worker threads, and how it waits for them
//! without becoming deaf to cancel and termination.

pub mod metadata_cache;
pub mod runtime;
pub mod settings;
pub mod tables;
pub mod wait;

pub use wait::wait;
