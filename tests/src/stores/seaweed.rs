//! SeaweedFS as an S3 store that checks signatures and what each key may do.
//! Files are put into it through its own file interface, not through the protocol under test.

use std::path::Path;
use std::process::Command;

use super::{Process, SECOND_PORT, free_port, program};

/// Whose key a request is signed with.
#[derive(Clone, Copy, Debug)]
pub enum Identity {
    /// May read every bucket.
    Reader,
    /// May read another bucket only.
    Other,
}

impl Identity {
    /// Access key and secret.
    pub fn keys(self) -> (&'static str, &'static str) {
        match self {
            Identity::Reader => ("AKIAREADERKEY", "reader/secret+of=40characters"),
            Identity::Other => ("AKIAOTHERKEY", "other/secret+of=40characters"),
        }
    }

    /// The options of a user mapping.
    pub fn options(self) -> String {
        let (id, secret) = self.keys();
        format!("access_key_id '{id}', secret_access_key '{secret}'")
    }
}

/// A running store. Everybody may read the bucket `public`.
pub struct Seaweed {
    port: u16,
    filer: u16,
    weed: std::path::PathBuf,
    _process: Process,
}

impl Seaweed {
    /// Starts a store, or says why it cannot be had.
    pub fn start() -> Result<Seaweed, String> {
        let weed = program("weed")?;
        let [port, filer, master, volume]: [u16; 4] = std::array::from_fn(|_| free_port());
        let identity = |name: &str, identity: Identity, actions: &str| {
            let (id, secret) = identity.keys();
            format!(
                r#"{{"name":"{name}","credentials":[{{"accessKey":"{id}","secretKey":"{secret}"}}],"actions":{actions}}}"#
            )
        };
        let identities = format!(
            r#"{{"identities":[{},{},{{"name":"anonymous","actions":["Read:public","List:public"]}}]}}"#,
            identity("reader", Identity::Reader, r#"["Read","List"]"#),
            identity(
                "other",
                Identity::Other,
                r#"["Read:elsewhere","List:elsewhere"]"#
            ),
        );
        let mut process = Process::start(&weed, |directory, command| {
            let config = directory.join("identities.json");
            std::fs::write(&config, identities).expect("written");
            let data = directory.join("data");
            std::fs::create_dir(&data).expect("a directory");
            command
                .arg("server")
                .arg(format!("-dir={}", data.display()))
                .args(["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3"])
                .args([
                    "-metricsPort=0",
                    "-master.telemetry=false",
                    "-s3.port.iceberg=0",
                ])
                .args(["-volume.max=8", "-master.volumeSizeLimitMB=64"])
                .arg(format!("-s3.port={port}"))
                .arg(format!("-filer.port={filer}"))
                .arg(format!("-master.port={master}"))
                .arg(format!("-volume.port={volume}"))
                .arg(format!("-s3.config={}", config.display()));
        });
        process.wait_for(port, "/");
        process.wait_for(filer, "/");
        process.wait_for_port(filer + SECOND_PORT);
        Ok(Seaweed {
            port,
            filer,
            weed,
            _process: process,
        })
    }

    /// The options of a server for this store.
    pub fn options(&self) -> String {
        format!("endpoint '{}', allow_http 'true'", self.endpoint())
    }

    /// Where it answers.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The port that it answers at.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Copies a directory into a bucket, which is made if need be, under the directory's own name.
    pub fn copy(&self, directory: &Path, bucket: &str) {
        let target = format!("http://127.0.0.1:{}/buckets/{bucket}/", self.filer);
        let output = Command::new(&self.weed)
            .arg("filer.copy")
            .arg(directory)
            .arg(target)
            .output()
            .expect("weed runs");
        assert!(output.status.success(), "{output:?}");
    }
}
