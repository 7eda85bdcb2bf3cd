//! What a backend process holds, seen from /proc: threads, open files and memory.

use std::path::Path;

/// Counts of a backend at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Holdings {
    pub threads: usize,
    pub open_files: usize,
    /// Resident memory in bytes.
    pub resident: u64,
}

/// The holdings of the process, or None where /proc does not show them to us.
pub fn holdings(pid: i32) -> Option<Holdings> {
    let entries = |name: &str| {
        std::fs::read_dir(format!("/proc/{pid}/{name}"))
            .ok()
            .map(Iterator::count)
    };
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let resident = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = resident.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Holdings {
        threads: entries("task")?,
        open_files: entries("fd")?,
        resident: kilobytes * 1024,
    })
}

/// Whether /proc shows processes of other users to us.
pub fn is_visible() -> bool {
    Path::new("/proc/self/fd").exists() && std::fs::read_dir("/proc/1/fd").is_ok()
}
