//! An emulator of Google Cloud Storage, which takes every request for authorised.

use std::path::Path;

use super::{Process, encoded, files_below, free_port, program, send};

/// A running emulator with the bucket `lake`.
pub struct Google {
    port: u16,
    _process: Process,
}

impl Google {
    /// Starts an emulator, or says why it cannot be had.
    pub fn start() -> Result<Google, String> {
        let gcs = program("gcs")?;
        let port = free_port();
        let mut process = Process::start(&gcs, |_, command| {
            command
                .args(["start", "--host", "127.0.0.1", "--in-memory"])
                .args(["--default-bucket", "lake", "--port", &port.to_string()]);
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

    /// Copies a directory into the bucket under a prefix.
    pub fn copy(&self, directory: &Path, prefix: &str) {
        for file in files_below(directory) {
            let name = encoded(&format!("{prefix}/{file}"));
            let bytes = std::fs::read(directory.join(&file)).expect("a file");
            let answer = send(
                self.port,
                "POST",
                &format!("/upload/storage/v1/b/lake/o?uploadType=media&name={name}"),
                "Content-Type: application/octet-stream\r\n",
                &bytes,
            );
            let answer = answer.expect("an answer");
            assert!(
                answer.starts_with("HTTP/1.1 200") || answer.starts_with("HTTP/1.0 200"),
                "{answer}"
            );
        }
    }
}
