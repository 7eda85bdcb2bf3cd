//! fake-gcs-server, an emulator of Google Cloud Storage, which takes every request for authorised.

use std::path::Path;

use super::{Process, free_port, program};

/// A running emulator with the bucket `lake`.
pub struct Google {
    port: u16,
    _process: Process,
}

impl Google {
    /// Starts an emulator with these directories below `wh/` in its bucket, or says why it cannot be had.
    pub fn start(root: &Path, directories: &[&str]) -> Result<Google, String> {
        let gcs = program("gcs")?;
        let port = free_port();
        let mut process = Process::start(&gcs, |directory, command| {
            let data = directory.join("data");
            for below in directories {
                let target = data.join("lake/wh").join(below);
                std::fs::create_dir_all(&target).expect("a directory");
                copy(&root.join(below), &target);
            }
            command
                .args([
                    "-scheme",
                    "http",
                    "-host",
                    "127.0.0.1",
                    "-backend",
                    "memory",
                ])
                .args(["-port", &port.to_string(), "-public-host"])
                .arg(format!("127.0.0.1:{port}"))
                .arg("-data")
                .arg(data);
        });
        process.wait_for(port, "/storage/v1/b/lake");
        Ok(Google {
            port,
            _process: process,
        })
    }

    /// The options of a server for this store.
    pub fn options(&self) -> String {
        format!(
            "endpoint 'http://127.0.0.1:{}', allow_http 'true'",
            self.port
        )
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            std::fs::create_dir_all(&target).expect("a directory");
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("copied");
        }
    }
}
