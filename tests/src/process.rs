//! What a backend process holds, seen from /proc: threads, open files and memory.

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

/// The processor time that a process has used, in ticks of the kernel's clock (100 a second).
pub fn cpu_ticks(pid: i32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold spaces: fields are counted after it. User and system time are the 14th and 15th.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}
