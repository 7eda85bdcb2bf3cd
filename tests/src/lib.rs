//! Shared pieces of the outside tests.
