//! Azurite, the emulator of Azure's blob service, which checks signatures.
//! Files are put into it by a program of its own, not by the client under test.

use std::path::Path;
use std::process::Command;

use super::{Process, free_port, program};

/// The emulator's own account and its key, which everybody knows.
const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// A running emulator with the container `lake`.
pub struct Azurite {
    port: u16,
    _process: Process,
}

impl Azurite {
    /// Starts an emulator with these directories below `wh/` in its container, or says why it cannot be had.
    pub fn start(root: &Path, directories: &[&str]) -> Result<Azurite, String> {
        let azurite = program("azurite")?;
        let port = free_port();
        let mut process = Process::start(&azurite, |directory, command| {
            command
                .args(["--inMemoryPersistence", "--disableTelemetry", "--silent"])
                .args(["--skipApiVersionCheck", "--blobHost", "127.0.0.1"])
                .args(["--blobPort", &port.to_string()])
                .current_dir(directory);
        });
        process.wait_for(port, "/");
        let upload = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/stores/azure_upload.js");
        let output = Command::new("node")
            .arg(upload)
            .args([&port.to_string(), ACCOUNT, KEY])
            .arg(root)
            .args(directories)
            .output()
            .expect("node runs");
        assert!(output.status.success(), "{output:?}");
        Ok(Azurite {
            port,
            _process: process,
        })
    }

    /// The options of a server for this store.
    pub fn options(&self) -> String {
        format!(
            "endpoint 'http://127.0.0.1:{}/{ACCOUNT}', allow_http 'true', account_name '{ACCOUNT}'",
            self.port
        )
    }

    /// The key of the account.
    pub fn key(&self) -> &'static str {
        KEY
    }
}
